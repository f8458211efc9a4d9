import { counter, defineTable, gauge } from '../../table/table.ts';

/** What recording costs. The agent fills it itself: only it knows. */
export const agentTable = defineTable({
  name: 'agent',
  help: 'What the agent itself costs and how punctual it is.',
  scope: 'node',
  keys: [],
  columns: [
    counter('cpu_us', 'microseconds', 'CPU time the agent has used, all its threads.'),
    gauge('rss_bytes', 'bytes', 'Resident memory of the agent.'),
    counter('written_bytes', 'bytes', 'Bytes written to the recording.'),
    counter('written_rows', 'count', 'Samples written to the recording.'),
    gauge('tick_us', 'microseconds', 'How long the tick before this one took.'),
    gauge('late_us', 'microseconds', 'How long after its due time this tick began.'),
    counter('late_ticks', 'count', 'Ticks that began late by more than a tenth of the interval.'),
    counter('missed_ticks', 'count', 'Ticks that did not happen because the one before was too late.'),
    counter('skipped_reads', 'count', 'Reads that were left out because a slow source was still busy.'),
    gauge('waiting_rows', 'count', 'Samples kept in memory because the disk refuses them.'),
  ],
});
