import { count, listed, percent } from '../../base/words.ts';
import { cpusIn } from '../../query/use/process-work.ts';
import { cpuTable, processTable } from '../../sources/tables.ts';
import type { NodeReport } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { isGpuJob, isSerial, SERIAL } from './shared/cpu-waiting.ts';
import { shown } from './shared/evidence.ts';
import { usedCpus } from './shared/needs.ts';
import { named, type RuleContext, rule, together } from './shared/rule.ts';

const thresholds = {
  ...SERIAL,
  /** A CPU is idle that was busy for less than this share of the time, with anybody’s work. */
  idle: 0.02,
  /** … while another one of the job was busy for this share. */
  busy: 0.5,
};

const { busy_ms } = cpuTable.col;

export default rule({
  id: 'core-idle',
  title: 'single CPUs on which nothing ever ran',
  help: 'Of the CPUs that the job was given, some were idle all the time (less than 2 %) while others of them were busy: threads are bound so that they cannot run there, or there are fewer threads than CPUs. A serial program is said apart.',
  kind: 'waste',
  order: 433,
  needs: [
    ...usedCpus,
    {
      what: 'which CPUs these are, and how busy each was',
      columns: [processTable.col.allowed_cpus, busy_ms],
      has: (facts) => facts.nodes.some((n) => jobCpus(facts, n) !== undefined),
      otherwise: { skipped: 'which CPUs of the nodes were the job’s is not known' },
    },
  ],
  thresholds,
  when(facts, limits) {
    if (isSerial(facts, limits) || isGpuJob(facts)) return { skipped: 'a serial program and GPU jobs are said apart' };
    const found = facts.nodes.flatMap((n) => {
      const cpus = jobCpus(facts, n);
      const seconds = n.recorded_seconds ?? 0;
      if (cpus === undefined || seconds <= 0) return [];
      const shares = cpus.flatMap((cpu) =>
        facts
          .statistics(busy_ms, { cpu: String(cpu) })
          .filter(({ node }) => node === n.node)
          .map(({ statistics }) => ({ cpu, share: (statistics.increase ?? 0) / 1000 / seconds })),
      );
      const idle = shares.filter(({ share }) => share < limits.idle).map(({ cpu }) => cpu);
      const busiest = Math.max(0, ...shares.map(({ share }) => share));
      return idle.length > 0 && busiest >= limits.busy ? [{ node: n.node, idle, cpus: cpus.length, busiest }] : [];
    });
    return together(found);
  },
  severity: 'info',
  say: (found) =>
    `Nothing ran on ${count(
      found.reduce((sum, { idle }) => sum + idle.length, 0),
      'CPU',
    )} of the job: ${listed(found.map(({ node, idle }) => `${listed(idle.map(String), 6)} on ${node}`))}`,
  evidence: (found, _, limits) =>
    shown(found).map(({ node, idle, cpus, busiest }) => ({
      text: `${node}: ${idle.length} of ${count(cpus, 'CPU')} idle (less than ${percent(limits.idle)} of the time), the busiest ${percent(busiest)} busy`,
      from: named(busy_ms),
      node,
      value: idle.length,
    })),
  advise:
    'See where the program’s threads may run (taskset -p, --cpu-bind, OMP_PLACES), and whether there are as many of them as CPUs; otherwise ask for fewer CPUs.',
  confidence: medium('only whole CPUs are seen, not which process ran on them'),
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
  const found = allowed.get(facts);
  if (found !== undefined) return found;
  const made = new Map<string, Set<number>>();
  allowed.set(facts, made);
  const lists = Map.groupBy(facts.texts(processTable.col.allowed_cpus), ({ node }) => node);
  for (const [node, all] of lists) {
    const cpus = new Set<number>();
    for (const text of new Set(all.map((one) => one.text))) for (const cpu of cpusIn(text)) cpus.add(cpu);
    made.set(node, cpus);
  }
  return made;
}
