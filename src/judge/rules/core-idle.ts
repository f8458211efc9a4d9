import { count, listed, percent } from '../../base/readable.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { cpusIn } from '../../query/use/process-work.ts';
import { cpuTable, processEndTable, processTable } from '../../sources/tables.ts';
import type { NodeReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { HELD_UP, isGpuJob, isSerial, SERIAL } from './shared/cpu-waiting.ts';
import { shown } from './shared/evidence.ts';
import { usedCpus } from './shared/needs.ts';
import { named, type RuleContext, rule, together } from './shared/rule.ts';

const thresholds = {
  ...SERIAL,
  /** Share of the time below which a CPU was idle, whoever used it. */
  idle: 0.02,
  /** Share of the time that another CPU of the job was busy. */
  busy: 0.5,
  /** Share of the job’s CPU time on the node, below which a process did no work there. */
  works: 0.02,
};

const { busy_ms } = cpuTable.col;
const { allowed_cpus } = processTable.col;

export default rule({
  id: 'core-idle',
  title: 'single CPUs on which nothing ever ran',
  help: 'Some of the job’s CPUs were idle all the time (less than 2 %), or closed to the processes that worked, while its other CPUs were busy: threads are bound, or there are fewer threads than CPUs. A serial program is reported separately.',
  kind: 'waste',
  order: 433,
  needs: [
    ...usedCpus,
    {
      what: 'which CPUs these are, and how busy each was',
      columns: [allowed_cpus, busy_ms],
      has: (facts) => facts.nodes.some((n) => jobCpus(facts, n) !== undefined),
      otherwise: { skipped: 'which CPUs of the nodes were the job’s is not known' },
    },
  ],
  thresholds,
  when(facts, limits) {
    if (isSerial(facts, limits) || isGpuJob(facts))
      return { skipped: 'serial programs and GPU jobs have rules of their own' };
    const idleNodes = facts.nodes.flatMap((n) => {
      const cpus = jobCpus(facts, n);
      const seconds = n.recorded_seconds ?? 0;
      if (cpus === undefined || seconds <= 0) return [];
      const shares = cpus.flatMap((cpu) =>
        facts
          .statistics(busy_ms, { cpu: String(cpu) })
          .filter(({ node }) => node === n.node)
          .map(({ statistics }) => ({ cpu, share: (statistics.increase ?? 0) / 1000 / seconds })),
      );
      const worked = workedOn(facts, n.node, limits.works);
      const isBarred = (cpu: number): boolean => worked !== undefined && !worked.has(cpu);
      const idle = shares.filter(({ cpu, share }) => share < limits.idle || isBarred(cpu)).map(({ cpu }) => cpu);
      const barred = idle.filter(isBarred).length;
      const busiest = Math.max(0, ...shares.map(({ share }) => share));
      return idle.length > 0 && busiest >= limits.busy
        ? [{ node: n.node, idle, barred, cpus: cpus.length, busiest }]
        : [];
    });
    return together(idleNodes);
  },
  severity: 'info',
  say(idleNodes) {
    const cpus = count(
      idleNodes.reduce((sum, { idle }) => sum + idle.length, 0),
      'CPU',
    );
    const which = listed(idleNodes.map(({ node, idle }) => `${listed(idle.map(String), 6)} on ${node}`));
    return idleNodes.some(({ barred }) => barred > 0)
      ? `The job did not use ${cpus} of its own: ${which}`
      : `Nothing ran on ${cpus} of the job: ${which}`;
  },
  evidence: (idleNodes, _, limits) =>
    shown(idleNodes).map(({ node, idle, barred, cpus, busiest }) => ({
      text: `${node}: ${idle.length} of ${count(cpus, 'CPU')} ${
        barred === idle.length
          ? 'barred to all processes that worked'
          : `idle (less than ${percent(limits.idle)} of the time)`
      }, the busiest ${percent(busiest)} busy`,
      from: named(barred === idle.length ? allowed_cpus : busy_ms),
      node,
      value: idle.length,
    })),
  advise:
    'See where the program’s threads may run (taskset -p, --cpu-bind, OMP_PLACES), and whether there are as many of them as CPUs; otherwise ask for fewer CPUs.',
  confidence: (idleNodes) =>
    idleNodes.every(({ idle, barred }) => barred === idle.length)
      ? high('the kernel says where processes may run')
      : medium('only whole CPUs are measured, not which process ran on them'),
});

/** The CPUs that the job’s processes may use together, where these are as many as it was given. */
function jobCpus(facts: RuleContext, { node, cpus }: NodeReport): number[] | undefined {
  const all = allowedOn(facts).get(node);
  return all !== undefined && all.size > 1 && all.size === cpus ? [...all].sort((a, b) => a - b) : undefined;
}

/** Found once for all nodes. */
const allowed = new WeakMap<RuleContext, Map<string, Set<number>>>();

/** The CPUs that any process of a node may use, by node. Most processes have the same list, which is taken apart once. */
function allowedOn(facts: RuleContext): ReadonlyMap<string, Set<number>> {
  const allowedCores = allowed.get(facts);
  if (allowedCores !== undefined) return allowedCores;
  const made = new Map<string, Set<number>>();
  allowed.set(facts, made);
  const lists = Map.groupBy(facts.texts(allowed_cpus), ({ node }) => node);
  for (const [node, all] of lists) {
    const cpus = new Set<number>();
    for (const text of new Set(all.map((one) => one.text))) for (const cpu of cpusIn(text)) cpus.add(cpu);
    made.set(node, cpus);
  }
  return made;
}

/** The CPUs on which the processes of a node that worked may run; undefined where that is not known of one of them. */
function workedOn(facts: RuleContext, node: string, works: number): Set<number> | undefined {
  const set = facts.allProcesses();
  if (set === undefined) return undefined;
  const own = processesOn(set, node);
  const all = own.reduce((sum, i) => sum + (set.cpu_time[i]! || 0), 0);
  const lists = new Map<string, string>();
  for (const { node: where, keys, text } of facts.texts(allowed_cpus)) if (where === node) lists.set(keys.pid!, text);
  const cpus = new Set<number>();
  for (const i of own) {
    if (!(set.cpu_time[i]! >= works * all)) continue;
    const list = lists.get(String(set.pid[i]));
    const ofProcess = list === undefined ? [] : [...cpusIn(list)];
    if (ofProcess.length === 0 || !isOfAllThreads(set, i, ofProcess.length)) return undefined;
    for (const cpu of ofProcess) cpus.add(cpu);
  }
  return cpus.size === 0 ? undefined : cpus;
}

/** Where the main thread may run is known: the others are there, too, if all of them had no more than these CPUs and waited for them. */
function isOfAllThreads(set: ProcessSet, i: number, cpus: number): boolean {
  if (set.threads[i] === 1) return true;
  const [ran, life] = [set.cpu_time[i]!, set.end[i]! - set.start[i]!];
  const waited = (set.metrics.get(processEndTable.col.time_waiting.name)?.[i] ?? Number.NaN) / 1e3;
  return ran <= 1.05 * cpus * life && waited >= HELD_UP.pressure * ran;
}

function processesOn(set: ProcessSet, node: string): number[] {
  return Array.from({ length: set.length }, (_, i) => i).filter((i) => set.node[i] === node);
}
