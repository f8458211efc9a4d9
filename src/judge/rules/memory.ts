import { formatDuration } from '../../base/duration.ts';
import { nodeList } from '../../base/node-list.ts';
import { formatBytes } from '../../base/size.ts';
import { count, listed, percent } from '../../base/words.ts';
import type { Evidence, Facts, FailedStep, Finding, NodeReport } from '../report-schema.ts';
import { stepWords } from './ended.ts';
import { type Answer, type Check, sampled } from './finding.ts';

/** Less than this share of what was asked for leaves memory that others wait for. */
export const UNUSED_BELOW = 0.5;

/** Nobody waits for less than this. */
export const WORTH_SAVING_BYTES = 2 * 2 ** 30;

/** Above this a slightly larger input ends the job. */
export const NEAR_LIMIT = 0.9;

/** From this share of what was used on, file cache explains it. */
const MUCH = 0.1;

/** Less than this share of the limit explains nothing. */
const WORTH_NAMING = 0.02;

/** Margin of the memory that is proposed over the highest use. */
export const MARGIN = 1.2;

/** Swapping more than this is more than a few forgotten pages. */
export const SWAP_BYTES = 64 * 2 ** 20;

const GIB = 2 ** 30;

/** Bytes rounded up to what people write into a job script: steps of 1, 4, 16 and 64 GiB. */
export function roundedUp(bytes: number): number {
  const gib = bytes / GIB;
  if (gib < 2) return Math.ceil(gib * 4) * 256 * 2 ** 20;
  const step = gib <= 32 ? 1 : gib <= 128 ? 4 : gib <= 1024 ? 16 : 64;
  return Math.ceil(gib / step) * step * GIB;
}

/** The line for the job script, in the scheduler's own words. */
export function memoryRequest(facts: Facts, bytes: number): string {
  const whole = bytes % GIB === 0;
  const size = whole ? `${bytes / GIB}G` : `${bytes / 2 ** 20}M`;
  if (facts.job.scheduler === 'slurm') return `#SBATCH --mem=${size} (for each node)`;
  if (facts.job.scheduler === 'pbs')
    return `mem=${whole ? `${bytes / GIB}gb` : `${bytes / 2 ** 20}mb`} in each chunk of -l select`;
  return `${formatBytes(bytes)} on each node`;
}

function measured(facts: Facts): NodeReport[] | Answer {
  const nodes = facts.nodes.filter((n) => n.memory_peak_bytes !== undefined && n.memory_limit_bytes !== undefined);
  if (nodes.length > 0) return nodes;
  return {
    unmeasurable: 'the job’s memory could not be told from that of others',
    hint: 'a cgroup of its own, or the process table, is needed',
  };
}

const WHERE = {
  cgroup: 'cgroup.memory_peak_bytes',
  processes: 'process.rss_bytes',
  pss: 'process.pss_bytes',
  process: 'process.rss_bytes',
  node: 'meminfo.MemAvailable_bytes',
};

const fill = (n: NodeReport): number => n.memory_peak_bytes! / n.memory_limit_bytes!;

/** With files in memory that may be the job's. */
const most = (n: NodeReport): number => n.memory_peak_bytes! + (n.memory_shm_bytes ?? 0);
const mostFill = (n: NodeReport): number => most(n) / n.memory_limit_bytes!;

/** Of the others a peak between two samples may have been higher. */
const isBound = ({ memory_source }: NodeReport): boolean => memory_source !== 'pss' && memory_source !== 'process';

/** What was used at least: peaks of processes that are added up count pages that they share several times. */
function least({ summary }: Facts, n: NodeReport): number {
  if (n.memory_source !== 'processes' && n.memory_source !== 'pss') return n.memory_peak_bytes!;
  const memory = summary.memory_peak_node === n.node ? summary.memory : undefined;
  return Math.max(memory?.process_peak_max ?? 0, (n.memory_source === 'pss' && memory?.process_pss_max) || 0);
}

export const memoryUnused: Check = {
  id: 'memory-unused',
  title: 'memory that was asked for and not used',
  help: 'The fullest node used less than half of its memory, and at least 2 GiB could be given back. The proposal has a margin of 20 %.',
  needs: 'the job’s memory (cgroup or process) and the memory it was given',
  kind: 'waste',
  look(facts) {
    const nodes = measured(facts);
    if (!Array.isArray(nodes)) return nodes;
    const asked = (nodes as NodeReport[]).filter((n) => n.memory_limit_source !== 'machine');
    if (asked.length === 0) return { skipped: 'no memory was asked for: the job had the machine’s' };
    const fullest = asked.reduce((a, b) => (mostFill(b) > mostFill(a) ? b : a));
    const proposal = roundedUp(most(fullest) * MARGIN);
    if (mostFill(fullest) >= UNUSED_BELOW || fullest.memory_limit_bytes! - proposal < WORTH_SAVING_BYTES) return [];
    const sure = sampled(facts, fullest.samples);
    const exact = fullest.memory_source === 'cgroup';
    return [
      {
        id: 'memory-unused',
        severity: 'advice',
        text: `${formatBytes(most(fullest))} of ${formatBytes(fullest.memory_limit_bytes!)} memory were ${isBound(fullest) ? 'used at most' : 'seen in use'} (${percent(mostFill(fullest))})`,
        evidence: [
          {
            text: `${fullest.node}: peak ${formatBytes(fullest.memory_peak_bytes!)} (${words(fullest)})`,
            from: WHERE[fullest.memory_source!],
            node: fullest.node,
            value: fullest.memory_peak_bytes!,
            threshold: fullest.memory_limit_bytes! * UNUSED_BELOW,
          },
          ...(fullest.memory_shm_bytes === undefined
            ? []
            : [
                {
                  text: `perhaps ${formatBytes(fullest.memory_shm_bytes)} more in files in memory (/dev/shm)`,
                  from: 'meminfo.Shmem_bytes',
                  node: fullest.node,
                  value: fullest.memory_shm_bytes,
                },
              ]),
        ],
        advice: `Ask for ${memoryRequest(facts, proposal)}: the highest use and 20 %.`,
        confidence: exact ? sure.confidence : 'medium',
        confidence_reason: !exact
          ? 'added up from sampled processes: short peaks may be missed'
          : sure.confidence === 'high'
            ? 'peak counted by the kernel'
            : sure.confidence_reason,
      },
    ];
  },
};

export const memoryNearLimit: Check = {
  id: 'memory-near-limit',
  title: 'memory close to its limit',
  help: 'A node used more than 90 % of the memory the job may have there. Where only the peaks of its processes added up come so far, it is advice: pages that processes share count several times in them.',
  needs: 'the job’s memory and its limit',
  kind: 'trouble',
  look(facts) {
    const nodes = measured(facts);
    if (!Array.isArray(nodes)) return nodes;
    const full = (nodes as NodeReport[]).filter((n) => fill(n) > NEAR_LIMIT);
    const sure = full.filter((n) => least(facts, n) > NEAR_LIMIT * n.memory_limit_bytes!);
    if (sure.length === 0) return full.length === 0 ? [] : [perhapsFull(facts, full)];
    const fullest = sure.reduce((a, b) => (fill(b) > fill(a) ? b : a));
    const used = least(facts, fullest);
    // page cache fills what is free and is given back when it is needed
    const anon = facts.summary.memory_peak_node === fullest.node ? facts.summary.memory?.cgroup_anon_max : undefined;
    const cache = anon !== undefined && anon < fullest.memory_limit_bytes! * NEAR_LIMIT && used - anon > used * MUCH;
    // programs need what is left without Tacho: with a small limit that matters
    const own = Math.min(used, fullest.memory_own_bytes ?? 0);
    const peaks = facts.summary.memory_peak_node === fullest.node ? ownPeaks(facts) : undefined;
    const theirs = peaks ?? Math.min(used, anon ?? used) - own;
    const byTacho = !cache && own > 0 && theirs < fullest.memory_limit_bytes! * NEAR_LIMIT;
    const more = roundedUp(fullest.memory_peak_bytes! * MARGIN);
    const exact = fullest.memory_source === 'cgroup' || fullest.memory_source === 'node';
    return [
      {
        id: 'memory-near-limit',
        severity: cache || byTacho ? 'info' : 'warning',
        text: `Memory reached ${exact ? '' : 'at least '}${percent(used / fullest.memory_limit_bytes!)} of its limit on ${listed(sure.map((n) => n.node))}${cache ? ', much of it file cache' : byTacho ? ', with what Tacho itself took' : ''}`,
        evidence: [
          ...sure.slice(0, 8).map((n) => ({
            text: `${n.node}: ${formatBytes(least(facts, n))} of ${formatBytes(n.memory_limit_bytes!)} (${n.memory_source === 'processes' ? 'largest process' : words(n)})`,
            from: WHERE[n.memory_source!],
            node: n.node,
            value: least(facts, n),
            threshold: n.memory_limit_bytes! * NEAR_LIMIT,
          })),
          ...(anon === undefined
            ? []
            : [
                {
                  text: `programs’ own memory at most ${formatBytes(anon)}`,
                  from: 'cgroup.memory_anon_bytes',
                  node: fullest.node,
                  value: anon,
                },
              ]),
          ...(own < fullest.memory_limit_bytes! * WORTH_NAMING ? [] : [ownEvidence(fullest.node, own)]),
        ],
        advice: cache
          ? 'No danger by itself: the kernel gives file cache back when programs need memory.'
          : byTacho
            ? `${peaks === undefined ? '' : `The job’s own processes took at most ${formatBytes(peaks)}. `}Tacho needs up to ${formatBytes(TACHO_BYTES)} in the job’s cgroup: leave it that much above what they need.`
            : fullest.memory_limit_source === 'machine'
              ? 'Run on a machine with more memory, or on more nodes.'
              : `Ask for more, e.g. ${memoryRequest(facts, more)}, or use more nodes.`,
        confidence: fullest.memory_source === 'cgroup' ? 'high' : 'medium',
        confidence_reason: sureBecause(fullest),
      },
    ];
  },
};

/** What the job's own processes took at most; an agent that was killed has not seen all of it. */
const ownPeaks = ({ job, summary }: Facts): number | undefined =>
  job.memory_kills === undefined ? summary.memory?.process_peaks_sum : undefined;

const ownEvidence = (node: string, value: number): Evidence => ({
  text: 'Tacho’s own is in it: its agent and its commands in the job',
  from: 'agent.rss_bytes',
  node,
  value,
});

function sureBecause({ memory_source }: NodeReport): string {
  if (memory_source === 'cgroup') return 'peak counted by the kernel';
  if (memory_source === 'pss') return 'its processes had so much when what they share was read';
  return memory_source === 'node' ? 'counted for the whole node, also for others on it' : 'one process had so much';
}

/** Of nodes of which only an upper bound lies near the limit. */
function perhapsFull(facts: Facts, full: readonly NodeReport[]): Finding {
  const fullest = full.reduce((a, b) => (fill(b) > fill(a) ? b : a));
  const largest = least(facts, fullest);
  const evidence = (n: NodeReport, text: string, value: number) => ({
    text: `${n.node}: ${text}`,
    from: WHERE.processes,
    node: n.node,
    value,
    threshold: n.memory_limit_bytes! * NEAR_LIMIT,
  });
  return {
    id: 'memory-near-limit',
    severity: 'advice',
    text: `Memory may have come near its limit on ${listed(full.map((n) => n.node))}: ${fullest.memory_source === 'pss' ? 'its processes took perhaps' : 'the peaks of all processes add up to'} ${percent(fill(fullest))}`,
    evidence: [
      ...full
        .slice(0, 8)
        .map((n) =>
          evidence(
            n,
            `${n.memory_source === 'processes' ? 'at most ' : ''}${formatBytes(n.memory_peak_bytes!)} of ${formatBytes(n.memory_limit_bytes!)} (${words(n)})`,
            n.memory_peak_bytes!,
          ),
        ),
      ...(largest > 0
        ? [evidence(fullest, `at least ${formatBytes(largest)} (largest process of the fullest node)`, largest)]
        : []),
    ],
    advice:
      'Nothing to do where processes share their memory, as forked ones do; where each has its own, ask for more. In a cgroup of its own a job’s memory is counted exactly.',
    confidence: 'low',
    confidence_reason: 'an upper bound: pages that processes share count once for each of them',
  };
}

/** Below this share of its limit the job's own limit did not end anything. */
export const FAR_BELOW = 0.8;

const isFarBelow = (n: NodeReport): boolean =>
  n.memory_peak_bytes !== undefined && n.memory_limit_bytes !== undefined && fill(n) < FAR_BELOW;

/** What to do about kills: a limit that was never reached need not be raised. */
function killAdvice(facts: Facts, killed: readonly NodeReport[], byTacho: NodeReport | undefined): string {
  const limit = facts.summary.memory_limit_bytes;
  if (limit === undefined) return 'Ask for more memory, or use more nodes.';
  if (byTacho !== undefined) {
    const enough = memoryRequest(facts, roundedUp(limit + TACHO_BYTES));
    return `Tacho itself took up to ${formatBytes(chargedOwn(byTacho))} of ${formatBytes(byTacho.memory_limit_bytes!)} there: without it the job may have had enough. Ask for as much more as Tacho needs (${formatBytes(TACHO_BYTES)}), e.g. ${enough}, before anything else.`;
  }
  const more = `sk for more than ${formatBytes(limit)}, e.g. ${memoryRequest(facts, roundedUp(limit * 1.5))}`;
  const unknown = 'how much is needed is not known, because the job did not get that far.';
  const seen = killed.length > 0 ? killed : facts.nodes;
  if (seen.length === 0 || !seen.every(isFarBelow)) return `A${more}; ${unknown}`;
  const fullest = seen.reduce((a, b) => (fill(b) > fill(a) ? b : a));
  const peak = `${formatBytes(fullest.memory_peak_bytes!)} of ${formatBytes(fullest.memory_limit_bytes!)}`;
  const isMachine = fullest.memory_limit_source === 'machine';
  // counter and mark are read at the same tick: what was killed is in the peak
  const exact =
    killed.length > 0 &&
    facts.job.memory_kills === undefined &&
    killed.every((n) => n.oom_source === 'cgroup' && n.memory_source === 'cgroup');
  if (!exact) {
    const others = isMachine ? 'if others had filled the node, run where they do not; ' : '';
    return `At most ${peak} were seen. If a step or task was given less than the job (srun --mem), give it more; ${others}if memory filled up between two samples, a${more}: ${unknown}`;
  }
  const others = isMachine ? ', unless others had filled the node' : '';
  return `The job took at most ${peak}: a lower limit did it${others}. Look for that of a step or task, of a container or of a cgroup within the job, and raise it; more memory for the job would not help.`;
}

/** The node on which the job's own processes stayed well below its limit, and only with what Tacho took came near it. */
function filledByTacho(facts: Facts, killed: readonly NodeReport[]): NodeReport | undefined {
  const { memory, memory_peak_node } = facts.summary;
  const fullest = (killed.length > 0 ? killed : facts.nodes).find(({ node }) => node === memory_peak_node);
  if (fullest === undefined) return undefined;
  const theirs = Math.max(ownPeaks(facts) ?? Number.NaN, memory?.process_peak_max ?? 0);
  const { memory_limit_bytes: limit = Number.NaN } = fullest;
  return theirs < limit * FAR_BELOW && theirs + chargedOwn(fullest) > limit * NEAR_LIMIT ? fullest : undefined;
}

/** Resident memory has pages of programs that are in no process' own account. */
const chargedOwn = (n: NodeReport): number => Math.min(n.memory_own_bytes ?? 0, TACHO_BYTES);

const KILLS_FROM = {
  cgroup: 'cgroup.oom_kills',
  records: 'process_end.exitsignal, vmstat.oom_kill',
  vmstat: 'vmstat.oom_kill',
};

export const outOfMemory: Check = {
  id: 'out-of-memory',
  title: 'processes killed because memory ran out',
  help: 'The kernel killed processes of the job because memory ran out, or the scheduler says so of the job or of a step. Where only the node’s counter tells, a kill is the job’s if one of its processes got signal 9 in that second; it is not the job’s if all of them are known to have ended otherwise. A job whose peak, as the kernel counted it, stayed below 80 % of its limit was ended by a lower one, of a step, a container or a cgroup within it, and is not told to ask for more. Where its own processes stayed below 80 % of the limit and only with what Tacho took came near it, that is said. A kill of Tacho itself, which the kernel kills first, is reported as that, after a kill of the job’s own.',
  needs: 'cgroup.oom_kills, vmstat.oom_kill and how the processes ended, or the states of the job and its steps',
  kind: 'trouble',
  look(facts) {
    const killed = facts.nodes.filter((n) => (n.oom_kills ?? 0) > 0);
    const steps = endedSteps(facts);
    const told = facts.job.state === 'out_of_memory' || steps.length > 0;
    const { memory_kills: counted } = facts.job;
    // what the kernel killed when no agent was left to see it
    const unseen = killed.length > 0 || counted === undefined ? 0 : counted.kills - counted.own;
    const none = killed.length === 0 && unseen === 0 && !told;
    const alone = counted !== undefined && (none || isTachoAlone(facts, killed));
    if (alone) return [tachoKilled(facts, alone)];
    if (none) {
      if (facts.nodes.some((n) => n.oom_kills !== undefined)) return [];
      if (facts.nodes.some((n) => n.swapped_in_bytes !== undefined))
        return {
          unmeasurable: 'a cgroup of the job was gone before its counter was read, and the node counted a kill',
        };
      return { unmeasurable: 'neither the job’s cgroup nor the node’s vmstat was recorded' };
    }
    const own = told || killed.every((n) => n.oom_scope === 'job');
    const kills = killed.reduce((a, n) => a + n.oom_kills!, unseen);
    const byTacho = own ? filledByTacho(facts, killed) : undefined;
    const advice = killAdvice(facts, killed, byTacho);
    return [
      {
        id: 'out-of-memory',
        severity: own ? 'critical' : 'warning',
        text:
          kills > 0
            ? `Memory ran out: ${count(kills, 'process', 'processes')} killed${unseen > 0 ? '' : ` on ${listed(killed.map((n) => n.node))}`}${own ? '' : ', perhaps not of the job'}`
            : steps.length === 0
              ? 'Memory ran out: the scheduler ended the job for it'
              : `Memory ran out: ${stepWords(steps)} ${steps.length === 1 ? 'was' : 'were'} killed`,
        evidence: [
          ...killed.slice(0, 8).map((n) => ({
            text: `${n.node}: ${count(n.oom_kills!, 'kill')}, peak ${n.memory_peak_bytes === undefined ? 'unknown' : formatBytes(n.memory_peak_bytes)}${isFarBelow(n) ? `, ${percent(fill(n))} of the job’s limit` : ''}`,
            from: KILLS_FROM[n.oom_source ?? 'vmstat'],
            node: n.node,
            value: n.oom_kills!,
          })),
          ...(unseen > 0 ? [killsEvidence(counted!)] : []),
          ...(facts.job.state === 'out_of_memory' ? [{ text: 'state OUT_OF_MEMORY', from: 'scheduler' }] : []),
          ...steps
            .slice(0, 8)
            .map((step) => ({ text: `${stepWords([step])}: state OUT_OF_MEMORY`, from: 'scheduler' })),
          ...(byTacho === undefined ? [] : [ownEvidence(byTacho.node, chargedOwn(byTacho))]),
        ],
        advice: own ? advice : `If it was the job’s: ${advice[0]!.toLowerCase()}${advice.slice(1)}`,
        confidence: own ? 'high' : 'medium',
        confidence_reason: told
          ? 'said by the scheduler'
          : own
            ? killed.every((n) => n.oom_source === 'records')
              ? 'a process of the job got signal 9 when the kernel of the node counted a kill'
              : 'counted by the kernel'
            : 'counted for the whole node: the process may be another’s',
      },
      ...(counted === undefined ? [] : [tachoKilled(facts, alone)]),
    ];
  },
};

/** What Tacho takes of a job's memory at most, with what the kernel needs for it (docs/decisions/memory-inside-a-job.md). */
const TACHO_BYTES = 50 * 2 ** 20;

/** The steps that the scheduler says memory ended. */
const endedSteps = ({ job }: Facts): FailedStep[] =>
  (job.failed_steps ?? []).filter(({ state }) => state === 'out_of_memory');

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

const killsEvidence = ({ kills, own }: NonNullable<Facts['job']['memory_kills']>): Evidence => ({
  // what steps had counted that are over is not in it
  text: `${count(own, 'kill')} of Tacho’s own processes${kills > own ? `, of ${kills} in the job’s cgroup` : ''}`,
  from: 'cgroup.oom_kills',
  value: own,
});

/** Of a job in which Tacho itself was too much. `alone`: no other kill is told of. */
function tachoKilled(facts: Facts, alone: boolean): Finding {
  const { memory_kills, state } = facts.job;
  // to the scheduler a kill of Tacho's in the script's own step is the job's
  const told = state === 'out_of_memory' || endedSteps(facts).length > 0;
  const { memory_limit_bytes: limit } = facts.summary;
  const enough = limit === undefined ? undefined : memoryRequest(facts, roundedUp(limit + TACHO_BYTES));
  return {
    id: 'out-of-memory',
    severity: 'warning',
    text: `Memory ran out, and the kernel killed ${!alone ? 'Tacho, too' : told ? 'Tacho itself; whether also a process of the job is not known' : 'Tacho itself; the job went on'}`,
    evidence: [
      killsEvidence(memory_kills!),
      ...(state === 'out_of_memory' ? [{ text: 'state OUT_OF_MEMORY', from: 'scheduler' }] : []),
    ],
    advice: `Tacho needs up to ${formatBytes(TACHO_BYTES)} in the job’s cgroup: ask for that much more than the job needs${enough === undefined ? '' : `, e.g. ${enough}`}. What the job did afterwards is not recorded.`,
    confidence: 'high',
    confidence_reason: 'counted by the kernel, and Tacho’s process was gone without a word',
  };
}

/** Smaller processes, and shorter jobs, may grow without anybody minding. */
export const GROWING_BYTES = 2 ** 30;
export const GROWING_SECONDS = 600;

export const memoryGrowing: Check = {
  id: 'memory-growing',
  title: 'memory that only grows',
  help: 'The memory of a process of more than 1 GiB grew like a straight line for ten minutes or more, and was highest at the end.',
  needs: 'process.rss_bytes',
  kind: 'trouble',
  look(facts) {
    if (facts.summary.wall_seconds < GROWING_SECONDS)
      return { skipped: 'the job was too short to tell growth from filling' };
    if (facts.processes.length === 0) return { unmeasurable: 'no processes of the job were seen' };
    const growing = facts.processes.filter(
      (p) => p.rss_growth !== undefined && (p.rss_max_bytes ?? 0) >= GROWING_BYTES && p.seconds >= GROWING_SECONDS,
    );
    if (growing.length === 0) return [];
    const nodes = [...new Set(growing.map((p) => p.node))];
    const [worst] = growing.sort((a, b) => b.rss_growth! - a.rss_growth!);
    const node = facts.nodes.find((n) => n.node === worst!.node);
    const together = growing.filter((p) => p.node === worst!.node).reduce((total, p) => total + p.rss_growth!, 0);
    const left = (node?.memory_limit_bytes ?? Number.NaN) - (node?.memory_peak_bytes ?? Number.NaN);
    const time = left > 0 ? left / together : Number.POSITIVE_INFINITY;
    const soon = time < 2 * facts.summary.wall_seconds ? time : undefined;
    return [
      {
        id: 'memory-growing',
        severity: 'warning',
        text: `Memory of ${count(growing.length, 'process', 'processes')} on ${nodeList(nodes)} grew until the end${soon === undefined ? '' : `, and would have filled the node after ${formatDuration(soon)} more`}`,
        evidence: growing.slice(0, 8).map((p) => ({
          text: `${p.node} pid ${p.pid}: ${formatBytes(p.rss_growth! * 3600)} an hour, up to ${formatBytes(p.rss_max_bytes!)}`,
          from: 'process.rss_bytes',
          node: p.node,
          value: p.rss_growth!,
        })),
        advice:
          'Look for what is kept for ever: lists of results, caches without a limit, tensors that hold their history. If it has to grow, ask for more memory for longer runs.',
        confidence: 'medium',
        confidence_reason: 'a program that fills a data structure on purpose looks the same',
      },
    ];
  },
};

export const swap: Check = {
  id: 'swap',
  title: 'swapping',
  help: 'More than 64 MiB of the job lay in swap. Where neither its cgroup nor its processes tell: more than that was read back from swap on the node.',
  needs: 'cgroup.swap_current_bytes, process.swap_bytes or vmstat.pswpin',
  kind: 'trouble',
  look(facts) {
    const nodes = facts.nodes.filter((n) => n.swap_peak_bytes !== undefined || n.swapped_in_bytes !== undefined);
    if (nodes.length === 0) return { unmeasurable: 'swap use was not recorded' };
    const own = nodes.filter((n) => (n.swap_peak_bytes ?? 0) > SWAP_BYTES);
    // where the job is known to have had nothing there, it was that of others
    const perhaps = nodes.filter((n) => n.swap_peak_bytes === undefined && n.swapped_in_bytes! > SWAP_BYTES);
    const swapping = own.length > 0 ? own : perhaps;
    if (swapping.length === 0) return [];
    return [
      {
        id: 'swap',
        severity: 'warning',
        text: `${own.length > 0 ? 'The job' : 'The node'} swapped on ${listed(swapping.map((n) => n.node))}: memory was too small${own.length > 0 ? '' : ' for all that ran there'}`,
        evidence: swapping.slice(0, 8).flatMap((n) => [
          ...(n.swap_peak_bytes === undefined
            ? []
            : [
                {
                  text: `${n.node}: ${formatBytes(n.swap_peak_bytes)} in swap at most${n.swap_source === 'process' ? ' (largest process)' : ''}`,
                  from: n.swap_source === 'process' ? 'process.swap_bytes' : 'cgroup.swap_current_bytes',
                  node: n.node,
                  value: n.swap_peak_bytes,
                  threshold: SWAP_BYTES,
                },
              ]),
          ...(n.swapped_in_bytes === undefined
            ? []
            : [
                {
                  text: `${n.node}: ${formatBytes(n.swapped_in_bytes)} read back`,
                  from: 'vmstat.pswpin',
                  node: n.node,
                  value: n.swapped_in_bytes,
                  threshold: SWAP_BYTES,
                },
              ]),
        ]),
        advice: `${own.length > 0 ? 'A' : 'If it was the job’s memory: a'}sk for more memory, or run fewer processes on each node.`,
        confidence: own.length > 0 ? 'high' : 'medium',
        confidence_reason:
          own.length === 0
            ? 'swapping is the whole node’s, also that of others'
            : own.every((n) => n.swap_source === 'process')
              ? 'read from the job’s own processes'
              : 'counted in the job’s own cgroup',
      },
    ];
  },
};

function words(n: NodeReport): string {
  const said = {
    cgroup: 'cgroup, file cache included',
    processes: 'peaks of all processes added up',
    pss: 'all processes, shared memory once',
    process: 'largest process',
    node: 'whole node',
  };
  return said[n.memory_source!];
}
