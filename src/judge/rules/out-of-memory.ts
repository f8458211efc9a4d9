import { count, listed, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { cgroupTable, processEndTable, processTable, vmstatTable } from '../../sources/tables.ts';
import type { Evidence, Facts, FailedStep, NodeReport, ProcessReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { fill, fullestOf, NEAR_LIMIT, ownPeaks, TACHO_BYTES, tachoEvidence } from './shared/job-memory.ts';
import { memoryRequest, roundedUp } from './shared/request.ts';
import { type FindingText, hit, named, ruleOfCases } from './shared/rule.ts';
import { stepList } from './shared/steps.ts';

const thresholds = {
  /** Share of the job’s memory limit, below which this limit is not the reason of a kill. */
  far_below: 0.8,
  /** Share of the limit that the job reached together with Tacho’s own memory. */
  near: NEAR_LIMIT,
  /** Share of the limit from which SIGKILL counts as the kernel’s, where nobody counted kills. */
  full: 0.95,
};
type Limits = typeof thresholds;

interface Kills {
  /** Nodes on which the kernel killed something. */
  killed: NodeReport[];
  /** Steps that the scheduler says memory ended. */
  steps: FailedStep[];
  /** The scheduler says that memory ended the job or a step. */
  isReported: boolean;
  /** Killed when no agent was left to see it. */
  unseen: number;
}

/** The steps that the scheduler says memory ended. */
const endedSteps = ({ job }: Facts): FailedStep[] =>
  (job.failed_steps ?? []).filter(({ state }) => state === 'out_of_memory');

const hasEnded = (facts: Facts): boolean => facts.job.state === 'out_of_memory' || endedSteps(facts).length > 0;

function killsOf(facts: Facts): Kills {
  const { memory_kills: counted } = facts.job;
  const killed = facts.nodes.filter((n) => (n.oom_kills ?? 0) > 0);
  const unseen = killed.length > 0 || counted === undefined ? 0 : counted.kills - counted.own;
  return { killed, steps: endedSteps(facts), isReported: hasEnded(facts), unseen };
}

const isNothing = ({ killed, unseen, isReported }: Kills): boolean =>
  killed.length === 0 && unseen === 0 && !isReported;

export default ruleOfCases({
  id: 'out-of-memory',
  title: 'processes killed because memory ran out',
  help: 'The kernel killed processes of the job because memory ran out, or the scheduler says so of the job or of a step. Where only the node’s counter tells, a kill is the job’s if one of its processes got signal 9 in that second; it is not the job’s if all of them are known to have ended otherwise. If the peak that the kernel counted is below 80 % of the job’s limit, a lower limit ended it: of a step, a container or a cgroup. Then the advice is not to ask for more. Where its own processes stayed below 80 % of the limit and came near it only with what Tacho took, the finding says so. A kill of Tacho itself, which the kernel kills first, is reported as that, after a kill of the job’s own.',
  kind: 'trouble',
  // of findings that are equally grave the first is the headline: memory is the reason of a failure
  order: 100,
  isExact: true,
  needs: [
    {
      what: 'counted kills and how the processes ended, or the states of the job and its steps',
      columns: [cgroupTable.col.oom_kills, vmstatTable.col.oom_kill],
      has: (facts) =>
        facts.nodes.some((n) => n.oom_kills !== undefined) ||
        facts.job.memory_kills !== undefined ||
        !isNothing(killsOf(facts)),
      otherwise: ({ nodes }) => ({
        unmeasurable: nodes.some((n) => n.swapped_in_bytes !== undefined)
          ? 'a cgroup of the job was gone before its counter was read, and the node counted a kill'
          : 'neither the job’s cgroup nor the node’s vmstat was recorded',
      }),
    },
  ],
  thresholds,
  when(facts, limits) {
    const kills = killsOf(facts);
    const full = isNothing(kills) ? fullAtKill(facts, limits) : undefined;
    if (full !== undefined) return [hit(killedWhenFull, full)];
    const { memory_kills: counted } = facts.job;
    if (counted === undefined || counted.own === 0) return isNothing(kills) ? [] : [hit(jobKilled, kills)];
    const isAlone = isNothing(kills) || isTachoAlone(facts, kills.killed);
    const tacho = hit(tachoKilled, { isAlone, kills: killEvidence(counted) });
    return isAlone ? [tacho] : [hit(jobKilled, kills), tacho];
  },
});

/** The node whose limit was reached when signal 9 ended the job, where nobody counted kills to the end. */
function fullAtKill({ job, nodes }: Facts, { full }: Limits): NodeReport | undefined {
  const isKilled = job.signal === 'SIGKILL' || job.exit_code === KILLED_BY_SHELL;
  if (!isKilled || job.memory_kills !== undefined) return undefined;
  return nodes.find((n) => n.status !== 'recorded' && n.memory_limit_source !== 'machine' && fill(n) >= full);
}

/** As shells pass signal 9 on. */
const KILLED_BY_SHELL = 128 + 9;

/**
 * Whether Tacho's own were all that the kernel is known to have killed: of other nodes only the scheduler knows, and what
 * steps other than the script's own had counted has gone with them.
 */
function isTachoAlone(facts: Facts, killed: readonly NodeReport[]): boolean {
  const { kills, own } = facts.job.memory_kills!;
  const others = endedSteps(facts).some(({ id }) => id !== 'batch');
  const isOwn = (n: NodeReport): boolean => n.oom_source !== 'records' && n.oom_kills! <= own;
  return kills === own && !others && facts.job.nodes.length === 1 && killed.every(isOwn);
}

/** Whether what was killed was the job's, not perhaps somebody else's on the node. */
const isOfJob = ({ killed, isReported }: Kills): boolean => isReported || killed.every((n) => n.oom_scope === 'job');

const KILLS_FROM = {
  cgroup: named(cgroupTable.col.oom_kills),
  records: named(processEndTable.col.exitsignal, vmstatTable.col.oom_kill),
  vmstat: named(vmstatTable.col.oom_kill),
};

const STATE: Evidence = { text: 'state OUT_OF_MEMORY', from: 'scheduler' };

const killEvidence = ({ kills, own }: NonNullable<Facts['job']['memory_kills']>): Evidence => ({
  // what steps had counted that are over is not in it
  text:
    own === 0
      ? `${count(kills, 'kill')} in the job’s cgroup`
      : `${count(own, 'kill')} of Tacho’s own processes${kills > own ? `, of ${kills} in the job’s cgroup` : ''}`,
  from: named(cgroupTable.col.oom_kills),
  value: own === 0 ? kills : own,
});

const isFarBelow = (n: NodeReport, { far_below }: Limits): boolean =>
  n.memory_peak_bytes !== undefined && n.memory_limit_bytes !== undefined && fill(n) < far_below;

const jobKilled: FindingText<Kills, Limits> = {
  severity: (kills) => (isOfJob(kills) ? 'critical' : 'warning'),
  say(shortage, facts) {
    const { killed, steps, unseen } = shortage;
    const kills = killed.reduce((sum, n) => sum + n.oom_kills!, unseen);
    if (kills > 0) {
      const where = unseen > 0 ? '' : ` on ${listed(killed.map((n) => n.node))}`;
      const [victim] = victimsOf(shortage, facts);
      const who =
        victim?.rss_max_bytes === undefined ? '' : `, ${kills > 1 ? 'the largest ' : ''}${victimWords(victim)}`;
      return `Memory ran out: ${count(kills, 'process', 'processes')} killed${where}${isOfJob(shortage) ? who : ', perhaps not of the job'}`;
    }
    if (steps.length === 0) return 'Memory ran out: the scheduler ended the job for it';
    return `Memory ran out: ${stepList(steps)} ${steps.length === 1 ? 'was' : 'were'} killed`;
  },
  evidence(shortage, facts, limits) {
    const { killed, steps, unseen } = shortage;
    const evidence: Evidence[] = shown(killed).map((n) => {
      const peak = n.memory_peak_bytes === undefined ? 'unknown' : formatBytes(n.memory_peak_bytes);
      const note = isFarBelow(n, limits) ? `, ${percent(fill(n))} of the job’s limit` : '';
      return {
        text: `${n.node}: ${count(n.oom_kills!, 'kill')}, peak ${peak}${note}`,
        from: KILLS_FROM[n.oom_source ?? 'vmstat'],
        node: n.node,
        value: n.oom_kills!,
      };
    });
    for (const victim of shown(victimsOf(shortage, facts), 4))
      evidence.push({
        text: `${victim.node}: ${victimWords(victim)} (pid ${victim.pid}) was ended by signal 9`,
        from: named(processEndTable.col.exitsignal, processEndTable.col.rssmax),
        node: victim.node,
        ...(victim.rss_max_bytes === undefined ? {} : { value: victim.rss_max_bytes }),
      });
    if (unseen > 0) evidence.push(killEvidence(facts.job.memory_kills!));
    if (facts.job.state === 'out_of_memory') evidence.push(STATE);
    for (const step of shown(steps)) evidence.push({ ...STATE, text: `${stepList([step])}: ${STATE.text}` });
    const byTacho = filledByTacho(shortage, facts, limits);
    if (byTacho !== undefined) evidence.push(tachoEvidence(byTacho.node, chargedTacho(byTacho)));
    return evidence;
  },
  advise(shortage, facts, limits) {
    const advice = adviceOf(shortage, facts, limits);
    return isOfJob(shortage) ? advice : `If it was the job’s: ${advice[0]!.toLowerCase()}${advice.slice(1)}`;
  },
  confidence(shortage) {
    if (shortage.isReported) return high('said by the scheduler');
    if (!isOfJob(shortage)) return medium('counted for the whole node: the process may be another’s');
    return high(
      shortage.killed.every((n) => n.oom_source === 'records')
        ? 'a process of the job got signal 9 when the kernel of the node counted a kill'
        : 'counted by the kernel',
    );
  },
};

/** Of a job that was killed after its agent had given way. */
const killedWhenFull: FindingText<NodeReport, Limits> = {
  severity: 'critical',
  say: (n) =>
    `Memory ran out: the job was killed with ${formatBytes(n.memory_peak_bytes!)} of ${formatBytes(n.memory_limit_bytes!)} in use on ${n.node}`,
  evidence(n, { processes }, { full }) {
    const [largest] = processes.toSorted((a, b) => (b.rss_max_bytes ?? 0) - (a.rss_max_bytes ?? 0));
    const evidence: Evidence[] = [
      {
        text: `${n.node}: ended by signal 9 at ${percent(fill(n))} of the limit`,
        from: 'wait4',
        node: n.node,
        value: n.memory_peak_bytes!,
        threshold: full * n.memory_limit_bytes!,
      },
    ];
    if (largest?.rss_max_bytes !== undefined)
      evidence.push({
        text: `largest process: ${victimWords(largest)} in its last sample`,
        from: named(processTable.col.rss_bytes),
        node: largest.node,
        value: largest.rss_max_bytes,
      });
    return evidence;
  },
  advise: (n, facts) =>
    `Ask for more, e.g. ${memoryRequest(facts, roundedUp(n.memory_limit_bytes! * 1.5))}; how much is needed is not known, because the job did not get that far.`,
  confidence: medium('nobody was left to count the kill: its memory was full when signal 9 came'),
};

/** Processes that signal 9 ended where the kernel killed some, the largest first. */
function victimsOf(kills: Kills, { processes }: Facts): ProcessReport[] {
  if (!isOfJob(kills)) return [];
  const nodes = new Set(kills.killed.map((n) => n.node));
  const ended = processes.filter((p) => p.signal === 9 && (nodes.size === 0 || nodes.has(p.node)));
  return ended.sort((a, b) => (b.rss_max_bytes ?? 0) - (a.rss_max_bytes ?? 0));
}

const victimWords = ({ command = 'a process', rss_max_bytes: bytes }: ProcessReport): string =>
  bytes === undefined ? command : `${command} with ${formatBytes(bytes)}`;

/** What to do about kills: a limit that was never reached need not be raised. */
function adviceOf(kills: Kills, facts: Facts, limits: Limits): string {
  const { killed } = kills;
  const limit = facts.summary.memory_limit_bytes;
  if (limit === undefined) return 'Ask for more memory, or use more nodes.';
  const byTacho = filledByTacho(kills, facts, limits);
  if (byTacho !== undefined) {
    const enough = memoryRequest(facts, roundedUp(limit + TACHO_BYTES));
    return `Tacho itself took up to ${formatBytes(chargedTacho(byTacho))} of ${formatBytes(byTacho.memory_limit_bytes!)} there: without it the job may have had enough. Ask for as much more as Tacho needs (${formatBytes(TACHO_BYTES)}), e.g. ${enough}, before anything else.`;
  }
  const more = `sk for more than ${formatBytes(limit)}, e.g. ${memoryRequest(facts, roundedUp(limit * 1.5))}`;
  const unknown = 'how much is needed is not known, because the job did not get that far.';
  const nodes = killed.length > 0 ? killed : facts.nodes;
  if (nodes.length === 0 || !nodes.every((n) => isFarBelow(n, limits))) return `A${more}; ${unknown}`;
  const fullest = fullestOf(nodes);
  const peak = `${formatBytes(fullest.memory_peak_bytes!)} of ${formatBytes(fullest.memory_limit_bytes!)}`;
  const isMachine = fullest.memory_limit_source === 'machine';
  // counter and mark are read at the same tick: what was killed is in the peak
  const isExact =
    killed.length > 0 &&
    facts.job.memory_kills === undefined &&
    killed.every((n) => n.oom_source === 'cgroup' && n.memory_source === 'cgroup');
  if (!isExact) {
    const others = isMachine ? 'if others had filled the node, run where they do not; ' : '';
    return `At most ${peak} were measured. If a step or task was given less than the job (srun --mem), give it more; ${others}if memory filled up between two samples, a${more}: ${unknown}`;
  }
  const others = isMachine ? ', unless others had filled the node' : '';
  return `The job took at most ${peak}: a lower limit did it${others}. Look for that of a step or task, of a container or of a cgroup within the job, and raise it; more memory for the job would not help.`;
}

/** The node on which the job's own processes stayed well below its limit, and only with what Tacho took came near it. */
function filledByTacho(kills: Kills, facts: Facts, { far_below, near }: Limits): NodeReport | undefined {
  if (!isOfJob(kills)) return undefined;
  const { memory, memory_peak_node } = facts.summary;
  const nodes = kills.killed.length > 0 ? kills.killed : facts.nodes;
  const fullest = nodes.find(({ node }) => node === memory_peak_node);
  if (fullest === undefined) return undefined;
  const own = Math.max(ownPeaks(facts) ?? Number.NaN, memory?.process_peak_max ?? 0);
  const { memory_limit_bytes: limit = Number.NaN } = fullest;
  return own < limit * far_below && own + chargedTacho(fullest) > limit * near ? fullest : undefined;
}

/** Resident memory has pages of programs that are in no process' own account. */
const chargedTacho = (n: NodeReport): number => Math.min(n.memory_own_bytes ?? 0, TACHO_BYTES);

/** Of a job in which Tacho itself was too much. */
const tachoKilled: FindingText<{ isAlone: boolean; kills: Evidence }> = {
  severity: 'warning',
  say({ isAlone }, facts) {
    // to the scheduler a kill of Tacho's in the script's own step is the job's
    const who = !isAlone
      ? 'Tacho, too'
      : hasEnded(facts)
        ? 'Tacho itself; whether also a process of the job is not known'
        : 'Tacho itself; the job went on';
    return `Memory ran out, and the kernel killed ${who}`;
  },
  evidence: ({ kills }, { job }) => [kills, ...(job.state === 'out_of_memory' ? [STATE] : [])],
  advise(_, facts) {
    const { memory_limit_bytes: limit } = facts.summary;
    const enough = limit === undefined ? '' : `, e.g. ${memoryRequest(facts, roundedUp(limit + TACHO_BYTES))}`;
    return `Tacho needs up to ${formatBytes(TACHO_BYTES)} in the job’s cgroup: ask for that much more than the job needs${enough}. What the job did afterwards is not recorded.`;
  },
  confidence: high('counted by the kernel, and Tacho’s process ended without a message'),
};
