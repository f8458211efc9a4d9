import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { nodeList } from '../../base/node-list.ts';
import { count, figure, listed, percent } from '../../base/words.ts';
import { undivided } from '../facts/gpus.ts';
import { isIdle } from '../facts/stragglers.ts';
import type { Confidence, Facts, GpuReport } from '../report-schema.ts';
import { gpuMean, weightedMean } from '../use/seen.ts';
import { hasNoIo } from './cpu.ts';
import { type Answer, type Check, sampled } from './finding.ts';

/** Below this mean a GPU is mostly waiting: a smaller card, or part of one, would do the same work. */
export const LOW_UTILIZATION = 0.15;

/** Below this it is worth asking why; healthy training and simulation codes run well above one half. */
export const MODEST_UTILIZATION = 0.25;

/** The CPUs are the bottleneck when the job keeps this much of them busy while its GPUs wait. */
export const CPUS_BUSY = 0.85;

/** GPUs that wait more than half of the time, while the host is at its limit, are starved. */
export const STARVED_UTILIZATION = 0.5;

/** Some task waited for a disk in this share of the time: enough to hold up a data loader. */
export const PRESSURE_IO = 0.2;

const name = (g: GpuReport): string => `${g.node} GPU ${g.gpu}`;
const own = (facts: Facts): GpuReport[] => undivided(facts.gpus).filter((g) => g.own !== false);

function without(facts: Facts): Answer | undefined {
  const { asked } = facts.job;
  if (facts.gpus.length === 0) {
    if ((asked.gpus ?? 0) === 0) return { skipped: 'no GPUs in this job' };
    return {
      unmeasurable: 'GPUs were asked for, but none could be read',
      hint: 'tacho check says what the node lacks',
    };
  }
  if (own(facts).length === 0) return { skipped: 'none of the GPUs on these nodes is the job’s' };
  if (own(facts).every((g) => g.utilization_mean === undefined)) {
    return { unmeasurable: 'the cards do not report their utilisation' };
  }
  return undefined;
}

export const gpuUnused: Check = {
  id: 'gpu-unused',
  title: 'GPUs that did nothing',
  help: 'A GPU of the job stayed below 1 % utilisation, also in its busiest twentieth of the time.',
  needs: 'gpu.utilization_percent',
  kind: 'waste',
  look(facts) {
    const missing = without(facts);
    if (missing !== undefined) return missing;
    const cards = own(facts);
    const idle = cards.filter(isIdle);
    const busy = cards.length - idle.length;
    const asked = facts.job.asked.gpus;
    // a node may show more cards than the job was given: only those that it must have had are held against it
    const certain = asked === undefined ? idle.length : Math.min(idle.length, Math.max(0, asked - busy));
    if (certain === 0) return [];
    const all = asked ?? cards.length;
    const named = certain === idle.length;
    const seen = idle.reduce((seconds, g) => seconds + g.recorded_seconds, 0);
    const hours = (certain * seen) / idle.length / 3600;
    const sure = sampled(facts, smallest(idle.map((g) => g.samples)));
    const told = asked !== undefined || idle.every((g) => g.own === true);
    const which = named ? `: ${listed(idle.map(name))}` : '';
    return [
      {
        id: 'gpu-unused',
        severity: 'warning',
        text:
          all === certain
            ? `${certain === 1 ? 'The GPU was' : `All ${certain} GPUs were`} never used`
            : `${certain} of ${all} GPUs ${certain === 1 ? 'was' : 'were'} never used${which}`,
        evidence: [
          ...idle.slice(0, 8).map((g) => ({
            text: `${name(g)}: mean ${percent(g.utilization_mean)}, at most ${percent(g.utilization_max)} busy`,
            from: 'gpu.utilization_percent',
            node: g.node,
            gpu: g.gpu,
            value: g.utilization_mean!,
            threshold: 0.01,
          })),
          { text: `${figure(hours)} GPU hours unused`, from: 'job.json' },
        ],
        advice:
          all === certain
            ? 'Ask for no GPU, or check that the program was built for GPUs and finds them (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES).'
            : `Ask for ${count(all - certain, 'GPU')}, or start one process for each (srun --ntasks=${all}) and check which card each one takes.`,
        confidence: told ? sure.confidence : 'medium',
        confidence_reason: told ? sure.confidence_reason : 'nobody says which of the cards were the job’s',
      },
    ];
  },
};

export const gpuLow: Check = {
  id: 'gpu-low',
  title: 'GPUs that were hardly used',
  help: 'The GPUs that did work were busy for less than a quarter of the time, on average.',
  needs: 'gpu.utilization_percent',
  kind: 'waste',
  look(facts) {
    const missing = without(facts);
    if (missing !== undefined) return missing;
    const working = own(facts).filter((g) => !isIdle(g));
    const used = gpuMean(working, 'utilization_mean');
    if (used === undefined || used >= MODEST_UTILIZATION) return [];
    const sure = sampled(facts, smallest(working.map((g) => g.samples)));
    return [
      {
        id: 'gpu-low',
        severity: used < LOW_UTILIZATION ? 'warning' : 'advice',
        text: `${working.length === 1 ? 'The GPU was' : `The ${working.length} GPUs in use were`} busy ${percent(used)} of the time`,
        evidence: [
          {
            text: `mean utilisation ${percent(used)}`,
            from: 'gpu.utilization_percent',
            value: used,
            threshold: MODEST_UTILIZATION,
          },
        ],
        advice:
          'Give the card more to do at once (larger batches, several processes on one card), feed it faster (data loading, transfers), or ask for fewer or smaller cards (a MIG slice).',
        ...sure,
      },
    ];
  },
};

export const gpuStarved: Check = {
  id: 'gpu-starved',
  title: 'GPUs that waited for the host',
  help: 'GPUs were busy less than half of the time while the job’s CPUs were nearly all busy or tasks waited for disks.',
  needs: 'gpu.utilization_percent and the job’s CPU time or pressure.some_total_us (io)',
  kind: 'waste',
  look(facts) {
    const missing = without(facts);
    if (missing !== undefined) return missing;
    const working = own(facts).filter((g) => !isIdle(g));
    const used = gpuMean(working, 'utilization_mean');
    if (used === undefined) return { skipped: 'no GPU did any work' };
    const cpu = facts.summary.cpu_utilization;
    const io = weightedMean(facts.nodes.map((n) => [hasNoIo(n) ? 0 : n.pressure_io, n.recorded_seconds]));
    if (cpu === undefined && io === undefined) return { unmeasurable: 'neither CPU use nor I/O pressure is known' };
    if (used >= STARVED_UTILIZATION) return [];
    const byCpu = cpu !== undefined && cpu >= CPUS_BUSY;
    const byDisk = io !== undefined && io >= PRESSURE_IO;
    if (!byCpu && !byDisk) return [];
    const sure = sampled(facts, smallest(working.map((g) => g.samples)));
    const confidence: Confidence = byCpu ? sure.confidence : 'medium';
    return [
      {
        id: 'gpu-starved',
        severity: 'warning',
        text: `GPUs busy ${percent(used)} of the time while ${byCpu ? `the CPUs were ${percent(cpu)} busy` : 'tasks waited for files'}: they wait for data`,
        evidence: [
          {
            text: `mean GPU utilisation ${percent(used)}`,
            from: 'gpu.utilization_percent',
            value: used,
            threshold: STARVED_UTILIZATION,
          },
          ...(byCpu
            ? [
                {
                  text: `CPU utilisation ${percent(cpu)} of the allocation`,
                  from: 'cgroup.usage_us',
                  value: cpu,
                  threshold: CPUS_BUSY,
                },
              ]
            : []),
          ...(byDisk
            ? [
                {
                  text: `tasks waited for I/O ${percent(io)} of the time`,
                  from: 'pressure.some_total_us',
                  value: io,
                  threshold: PRESSURE_IO,
                },
              ]
            : []),
        ],
        advice: byCpu
          ? 'Ask for more CPUs per GPU, use more data-loading workers, or do the preparation once and store it.'
          : 'Copy the data to a local disk first, read larger pieces, or read ahead in the background.',
        confidence,
        confidence_reason: byCpu ? sure.confidence_reason : 'I/O waits are the whole node’s, also those of others',
      },
    ];
  },
};

/** Slowed down in more than this share of the samples. */
export const THROTTLED = 0.05;

export const gpuThrottled: Check = {
  id: 'gpu-throttled',
  title: 'GPUs slowed down by heat or power',
  help: 'A GPU lowered its clock because of its temperature or its power limit in more than 5 % of the samples.',
  needs: 'the throttle columns of gpu',
  kind: 'trouble',
  look(facts) {
    const missing = without(facts);
    if (missing !== undefined && !('unmeasurable' in missing && facts.gpus.length > 0)) return missing;
    const cards = own(facts);
    if (cards.every((g) => g.throttled_thermal === undefined && g.throttled_power === undefined)) {
      return { unmeasurable: 'the cards do not say why they slow down' };
    }
    // of a part between two samples nobody looked
    const seen = cards.filter((g) => g.samples > 0);
    if (seen.length === 0) return { unmeasurable: 'no sample of the cards lies in this part of the job' };
    const hot = seen.filter((g) => (g.throttled_thermal ?? 0) > THROTTLED);
    const starved = seen.filter((g) => (g.throttled_power ?? 0) > THROTTLED && !hot.includes(g));
    const one = (found: GpuReport[], why: 'heat' | 'power'): Answer => {
      if (found.length === 0) return [];
      const worst = greatest(found.map((g) => (why === 'heat' ? g.throttled_thermal : g.throttled_power)!));
      return [
        {
          id: 'gpu-throttled',
          severity: why === 'heat' ? 'warning' : 'info',
          text:
            why === 'heat'
              ? `Heat slowed down ${count(found.length, 'GPU')}: ${cardList(facts, found)}`
              : `${count(found.length, 'GPU')} ran at the power limit: ${cardList(facts, found)}`,
          evidence: found.slice(0, 8).map((g) => ({
            text: `${name(g)}: in ${percent(why === 'heat' ? g.throttled_thermal : g.throttled_power)} of the samples${
              g.temperature_max_celsius === undefined ? '' : `, up to ${figure(g.temperature_max_celsius)} °C`
            }${g.straggler === undefined ? '' : `, ${g.straggler.at(-1)}`}`,
            from: 'gpu.throttle',
            node: g.node,
            gpu: g.gpu,
            value: (why === 'heat' ? g.throttled_thermal : g.throttled_power)!,
            threshold: THROTTLED,
          })),
          advice:
            why === 'heat'
              ? `Tell the administrators: cooling needs a look. Until then leave out ${nodeList([...new Set(found.map((g) => g.node))])} (--exclude).`
              : 'Usual for dense arithmetic at full load; clocks vary with it, so compare timings with care.',
          ...sampled(facts, found[0]!.samples),
          ...(worst < THROTTLED * 2
            ? { confidence: 'medium' as const, confidence_reason: 'only just above the threshold' }
            : {}),
        },
      ];
    };
    return [...(one(hot, 'heat') as []), ...(one(starved, 'power') as [])];
  },
};

export const gpuLost: Check = {
  id: 'gpu-lost',
  title: 'GPUs that failed',
  help: 'A GPU stopped answering while the job ran, or counted memory errors that could not be corrected.',
  needs: 'gpu',
  kind: 'trouble',
  look(facts) {
    if (facts.gpus.length === 0) return without(facts)!;
    const lost = facts.gpus.filter((g) => g.lost !== undefined);
    const broken = facts.gpus.filter((g) => (g.uncorrected_errors ?? 0) > 0);
    const bad = [...new Set([...lost, ...broken])];
    if (bad.length === 0) return [];
    const start = facts.job.start;
    return [
      {
        id: 'gpu-lost',
        severity: 'critical',
        text: `${count(bad.length, 'GPU')} failed while the job ran: ${listed(bad.map(name))}`,
        evidence: bad.slice(0, 8).map((g) => ({
          text:
            g.lost !== undefined
              ? `${name(g)}: no values after ${formatDuration((g.lost - start) / 1e6)}`
              : `${name(g)}: ${count(g.uncorrected_errors!, 'uncorrected memory error')}`,
          from: 'gpu',
          node: g.node,
          gpu: g.gpu,
        })),
        advice: 'Tell the administrators, and run again without this node (--exclude).',
        confidence: lost.length > 0 && broken.length === 0 ? 'medium' : 'high',
        confidence_reason:
          broken.length > 0 ? 'counted by the card itself' : 'the driver may have stopped answering, not the card',
      },
    ];
  },
};

/** "all of node03", or the cards by name. */
function cardList(facts: Facts, found: readonly GpuReport[]): string {
  const nodes = [...new Set(found.map((g) => g.node))];
  const whole = nodes.every((node) => own(facts).every((g) => g.node !== node || found.includes(g)));
  return whole && found.length > nodes.length ? `all of ${nodeList(nodes)}` : listed(found.map(name));
}
