import { counter, gauge, type Table } from '../table/table.ts';
import { type SourceKind, Unavailable } from './source.ts';

const processTotalTable: Table = {
  name: 'process_total',
  help: 'What all processes of a job without a cgroup have used together, as a node’s agent has seen or heard of them.',
  scope: 'job',
  keys: [],
  columns: [
    counter('cpu_us', 'microseconds', 'CPU time of all processes, also of those that have ended, however short.'),
    gauge('peak_bytes', 'bytes', 'The most that the peaks of processes which lived at the same time have added up to.'),
  ],
};

/** Whoever reads the job's processes adds up (src/agent/process-totals.ts); a store has no series of short processes. */
export const processTotal: SourceKind = {
  table: processTotalTable,
  open(_host, { totals, cgroup }) {
    if (totals === undefined) throw new Unavailable('absent', 'nobody adds up');
    if (cgroup !== undefined) throw new Unavailable('absent', 'the kernel adds up');
    return {
      table: processTotalTable,
      read(frame) {
        const at = frame.row() * frame.numberWidth;
        const { cpu_us, peak_bytes } = totals.now(frame.time);
        frame.numbers[at] = cpu_us;
        if (peak_bytes > 0) frame.numbers[at + 1] = peak_bytes;
      },
      close() {},
    };
  },
};
