import { smallest } from '../../base/extremes.ts';
import { percent } from '../../base/readable.ts';
import { cgroupTable, gpuTable, pressureTable } from '../../sources/tables.ts';
import { IDLE_UTILIZATION } from '../facts/stragglers.ts';
import type { Evidence, Facts } from '../report-schema.ts';
import { gpuMean, weightedMean } from '../use/recorded-time.ts';
import { cardEvidence, workingCards } from './shared/cards.ts';
import { medium, sampled } from './shared/confidence.ts';
import { FILE_WORK, hasNoIo } from './shared/file-work.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

/** Of the job's own doing, as far as that is known. */
const ioPressure = ({ nodes }: Facts, limits = FILE_WORK): number | undefined =>
  weightedMean(nodes.map((n) => [hasNoIo(n, limits) ? 0 : n.pressure_io, n.recorded_seconds]));

export default rule({
  id: 'gpu-starved',
  title: 'GPUs that waited for the host',
  help: 'GPUs were busy less than half of the time while the job’s CPUs were nearly all busy or tasks waited for disks.',
  kind: 'waste',
  order: 230,
  needs: [
    ...gpuUtilization,
    {
      what: 'a GPU that did some work',
      has: (facts) => gpuMean(workingCards(facts), 'utilization_mean') !== undefined,
      otherwise: { skipped: 'no GPU did any work' },
    },
    {
      what: 'the job’s CPU time or I/O pressure',
      columns: [pressureTable.col.some_total_us],
      has: (facts) => (facts.summary.cpu_utilization ?? ioPressure(facts)) !== undefined,
      otherwise: { unmeasurable: 'neither CPU use nor I/O pressure is known' },
    },
  ],
  thresholds: {
    /** Mean utilisation (0 to 1) below which the GPUs waited. */
    utilization: 0.5,
    /** Share of the job’s CPUs that were busy, from which the GPUs waited for them. */
    cpus_busy: 0.85,
    /** Utilisation (0 to 1) below which a GPU did nothing. */
    idle: IDLE_UTILIZATION,
    ...FILE_WORK,
  },
  when(facts, limits) {
    const { utilization, cpus_busy, pressure_io, idle } = limits;
    const cards = workingCards(facts, idle);
    const used = gpuMean(cards, 'utilization_mean')!;
    const cpu = facts.summary.cpu_utilization;
    const io = ioPressure(facts, limits);
    const byCpu = cpu !== undefined && cpu >= cpus_busy ? cpu : undefined;
    const byDisk = io !== undefined && io >= pressure_io ? io : undefined;
    return used >= utilization || (byCpu ?? byDisk) === undefined ? [] : [{ cards, used, byCpu, byDisk }];
  },
  severity: 'warning',
  say: ({ used, byCpu }) =>
    `GPUs busy ${percent(used)} of the time while ${byCpu === undefined ? 'tasks waited for I/O' : `the CPUs were ${percent(byCpu)} busy`}: they wait for data`,
  evidence({ cards, used, byCpu, byDisk }, _, { utilization, cpus_busy, pressure_io }) {
    const evidence: Evidence[] = [
      {
        text: `mean GPU utilisation ${percent(used)}`,
        from: named(gpuTable.col.utilization_percent),
        value: used,
        threshold: utilization,
      },
    ];
    if (byCpu !== undefined)
      evidence.push({
        text: `CPU utilisation ${percent(byCpu)} of the allocation`,
        from: named(cgroupTable.col.usage_us),
        value: byCpu,
        threshold: cpus_busy,
      });
    if (byDisk !== undefined)
      evidence.push({
        text: `tasks waited for I/O ${percent(byDisk)} of the time`,
        from: named(pressureTable.col.some_total_us),
        value: byDisk,
        threshold: pressure_io,
      });
    return [...evidence, ...cardEvidence(cards)];
  },
  advise: ({ byCpu }) =>
    byCpu === undefined
      ? 'Copy the data to a local disk first, read larger pieces, or read ahead in the background.'
      : 'Ask for more CPUs per GPU, use more data-loading workers, or do the preparation once and store it.',
  confidence: ({ cards, byCpu }) =>
    byCpu === undefined
      ? medium('I/O waits are the whole node’s, also those of others')
      : sampled(smallest(cards.map((g) => g.samples))),
});
