import { counter, defineTable, gauge } from '../../table/table.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const processTotalTable = defineTable({
  name: 'process_total',
  help: 'What all processes of a job have used together, as a node’s agent has seen or heard of them.',
  scope: 'job',
  keys: [],
  columns: [
    counter('cpu_us', 'microseconds', 'CPU time of all processes, also of those that have ended, however short.'),
    gauge(
      'peak_bytes',
      'bytes',
      'The most that the peaks of processes which lived at the same time have added up to; not with a cgroup of its own.',
    ),
    gauge(
      'told_peak_bytes',
      'bytes',
      'Highest peak of the processes that ended since the last tick, where it is above all their samples.',
    ),
  ],
});

const { cpu_us: CPU, peak_bytes: PEAK, told_peak_bytes: TOLD_PEAK } = processTotalTable.at;

/** Whoever reads the job's processes adds up (src/agent/service/process-totals.ts); a store has no series of short processes. */
export const processTotal: SourceKind = {
  table: processTotalTable,
  open(_host, { totals, cgroup }) {
    if (totals === undefined) throw new Unavailable('absent', 'nobody adds up');
    // memory the kernel adds up; but a cgroup is gone with its last process, before the last sample
    const together = cgroup === undefined || cgroup.shared;
    return {
      table: processTotalTable,
      read(frame) {
        const at = frame.row() * frame.numberWidth;
        const { cpu_us, peak_bytes, told_peak_bytes } = totals.now(frame.time, together);
        frame.numbers[at + CPU] = cpu_us;
        if (peak_bytes > 0) frame.numbers[at + PEAK] = peak_bytes;
        if (told_peak_bytes > 0) frame.numbers[at + TOLD_PEAK] = told_peak_bytes;
      },
      close() {},
    };
  },
};
