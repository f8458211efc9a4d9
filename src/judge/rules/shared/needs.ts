import { cgroupTable, gpuTable, processTable } from '../../../sources/tables.ts';
import { ownCards } from './cards.ts';
import type { Fact } from './rule.ts';

/* What several rules need. A fact of one rule only stands in its file. */

export const severalNodes: Fact = {
  what: 'at least two nodes',
  has: ({ summary }) => summary.nodes > 1,
  otherwise: { skipped: 'the job has one node' },
};

const ofOthers = (what: string) => ({
  unmeasurable: `the job’s ${what} could not be separated from that of others`,
  hint: 'a cgroup of its own, or the process table, is needed',
});

/** How much of the CPUs that it was given the job used. */
export const usedCpus: readonly Fact[] = [
  {
    what: 'the job’s CPU time (wait4, cgroup or process)',
    has: ({ summary }) => summary.cpu_utilization !== undefined && summary.cpus !== undefined,
    otherwise: ofOthers('CPU time'),
  },
  {
    what: 'the CPUs it was given',
    has: ({ summary }) => summary.cpus_source !== 'machine',
    otherwise: { skipped: 'no CPUs were asked for: the job had the machine’s' },
  },
];

export const usedMemory: Fact = {
  what: 'the job’s memory and the memory it was given',
  columns: [cgroupTable.col.memory_peak_bytes, processTable.col.rss_bytes],
  has: ({ nodes }) => nodes.some((n) => n.memory_peak_bytes !== undefined && n.memory_limit_bytes !== undefined),
  otherwise: ofOthers('memory'),
};

export const gpus: Fact = {
  what: 'GPUs that can be read',
  has: ({ gpus }) => gpus.length > 0,
  otherwise: ({ job }) =>
    (job.asked.gpus ?? 0) === 0
      ? { skipped: 'no GPUs in this job' }
      : { unmeasurable: 'GPUs were asked for, but none could be read', hint: 'tacho check says what the node lacks' },
};

export const ownGpus: Fact = {
  what: 'that some are the job’s',
  has: (facts) => ownCards(facts).length > 0,
  otherwise: { skipped: 'none of the GPUs on these nodes is the job’s' },
};

export const gpuUtilization: readonly Fact[] = [
  gpus,
  ownGpus,
  {
    what: 'how busy they were',
    columns: [gpuTable.col.utilization_percent],
    has: (facts) => ownCards(facts).some((g) => g.utilization_mean !== undefined),
    otherwise: { unmeasurable: 'the cards do not report their utilisation' },
  },
];

/** How much the whole job used over time. */
export const figuresOfUse: Fact = {
  what: 'the job’s CPU time or GPU utilisation over time',
  has: ({ confined, summary, nodes }) =>
    confined === undefined &&
    (summary.cpu_utilization !== undefined || summary.gpu_utilization !== undefined) &&
    nodes.some(({ samples }) => (samples ?? 0) >= 10),
  otherwise: { skipped: 'how much the job used over time is not known' },
};
