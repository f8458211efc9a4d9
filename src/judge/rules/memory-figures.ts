import { formatBytes } from '../../base/size.ts';
import { cgroupTable, meminfoTable, processMemoryTable, processTable } from '../../sources/tables.ts';
import type { Evidence, Facts } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { named, rule } from './shared/rule.ts';

type Memory = NonNullable<Facts['summary']['memory']>;

const thresholds = {
  /** Bytes of memory from which the figures are compared. */
  bytes: 2 ** 30,
  /** The largest figure, as a multiple of the smallest one of the whole job. */
  times: 2,
};

export default rule({
  id: 'memory-figures',
  title: 'figures of memory that differ',
  help: 'What different tools call “the memory of the job” differs by a factor of two or more, from 1 GiB on: resident sets added up count shared pages several times, the cgroup counts file cache, a scheduler that samples (MaxRSS of Slurm is the largest sampled task) misses peaks. All of them are listed, with which one counts against the limit.',
  kind: 'trouble',
  order: 515,
  needs: [
    {
      what: 'two figures for the memory of the whole job',
      columns: [cgroupTable.col.memory_peak_bytes, processMemoryTable.col.pss_bytes],
      has: ({ summary, job }) =>
        wholeFigures(summary.memory ?? {}).length > (job.slurm_max_rss_bytes === undefined ? 1 : 0),
      otherwise: { skipped: 'there is one figure for the memory of the job' },
    },
  ],
  thresholds,
  when({ summary, job }, { bytes, times }) {
    const memory = summary.memory!;
    const { slurm_max_rss_bytes: reported } = job;
    const { cgroup_peak, cgroup_anon_max: anon, process_peaks_sum: added, process_pss_max: once } = memory;
    // processes that were not seen make a sum smaller: only what must be more than the other is told
    const pairs: [number | undefined, number | undefined][] = [
      [cgroup_peak, anon],
      [added, once ?? anon],
      [once ?? anon ?? added, reported],
    ];
    const apart = pairs.flatMap(([more = 0, less]) =>
      less !== undefined && more >= bytes && more >= times * less ? [more, less] : [],
    );
    if (apart.length === 0) return [];
    const [smallest, largest] = [Math.min(...apart), Math.max(...apart)];
    return [{ memory, figures: wholeFigures(memory), largest, smallest, reported }];
  },
  severity: 'info',
  say({ memory, largest, smallest }, { summary }) {
    const counts = memory.cgroup_peak ?? summary.memory_peak_bytes!;
    const node = summary.memory_peak_node === undefined ? '' : ` on ${summary.memory_peak_node}`;
    return `Figures of the job’s memory${node} differ (${formatBytes(smallest)} to ${formatBytes(largest)}): ${formatBytes(counts)} count against the limit`;
  },
  evidence({ memory, figures, reported }, { summary }): Evidence[] {
    const node = summary.memory_peak_node;
    const line = (text: string, from: string, value: number): Evidence => ({
      text: `${text}: ${formatBytes(value)}`,
      from,
      value,
      ...(node === undefined ? {} : { node }),
    });
    const evidence = figures.map(({ text, from, value }) => line(text, from, value));
    if (memory.cgroup_file_max !== undefined)
      evidence.push(line('of it file cache and files in memory, at most', CGROUP_FILE, memory.cgroup_file_max));
    if (memory.process_shared_max !== undefined)
      evidence.push(line('counted more than once by adding resident sets up', SHARED, memory.process_shared_max));
    if (memory.process_peak_max !== undefined)
      evidence.push(line('largest single process (what MaxRSS and GNU time tell)', RSS, memory.process_peak_max));
    if (reported !== undefined) evidence.push(line('MaxRSS of Slurm, the largest of all steps', 'sacct', reported));
    if (memory.node_used_max !== undefined)
      evidence.push(
        line('used on the node by everybody', named(meminfoTable.col.MemAvailable_bytes), memory.node_used_max),
      );
    return evidence;
  },
  advise({ memory }) {
    if (memory.cgroup_peak === undefined)
      return 'Ask for what all processes have with shared memory counted once. In a cgroup of its own the kernel counts a job’s memory exactly.';
    const programs =
      memory.cgroup_anon_max === undefined
        ? ''
        : ` Programs need ${formatBytes(memory.cgroup_anon_max)} of it: the kernel gives file cache back when they need more.`;
    return `The cgroup’s figure is the one that limits are held against.${programs}`;
  },
  confidence: ({ memory }) =>
    memory.cgroup_peak === undefined ? medium('shared memory is sampled') : high('each figure is what its source says'),
});

const CGROUP_FILE = named(cgroupTable.col.memory_file_bytes);
const SHARED = named(processMemoryTable.col.shared_bytes);
const RSS = named(processTable.col.rss_bytes);

/** Those that claim to be of all the job. */
function wholeFigures(memory: Memory): { text: string; from: string; value: number }[] {
  const all: [string, string, number | undefined][] = [
    ['cgroup peak, file cache included', named(cgroupTable.col.memory_peak_bytes), memory.cgroup_peak],
    ['programs’ own memory in the cgroup, at most', named(cgroupTable.col.memory_anon_bytes), memory.cgroup_anon_max],
    ['resident sets of all processes, added up', RSS, memory.process_peaks_sum],
    ['all processes, shared memory once (PSS)', named(processMemoryTable.col.pss_bytes), memory.process_pss_max],
  ];
  return all.flatMap(([text, from, value]) => (value === undefined ? [] : [{ text, from, value }]));
}
