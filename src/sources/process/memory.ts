import { defineTable, gauge } from '../../table/table.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const processMemoryTable = defineTable({
  name: 'process_memory',
  help: 'Memory of all processes of a job together, what they share counted once, as of the last time that process.pss_bytes was read.',
  scope: 'job',
  keys: [],
  columns: [
    gauge(
      'pss_bytes',
      'bytes',
      'Memory in RAM: pss_bytes of the large processes and rss_bytes of the others, added up.',
    ),
    gauge('shared_bytes', 'bytes', 'What rss_bytes of all of them, added up, counts more than once.'),
  ],
});

/** Whoever reads the job's processes adds up (src/sources/process/process.ts). */
export const processMemory: SourceKind = {
  table: processMemoryTable,
  open(_host, { memory }) {
    if (memory === undefined) throw new Unavailable('absent', 'nobody adds up');
    return {
      table: processMemoryTable,
      read(frame) {
        if (Number.isNaN(memory.pss_bytes)) return;
        const at = frame.row() * frame.numberWidth;
        frame.numbers[at + processMemoryTable.at.pss_bytes] = memory.pss_bytes;
        frame.numbers[at + processMemoryTable.at.shared_bytes] = memory.shared_bytes;
      },
      rest: () => (Number.isNaN(memory.pss_bytes) ? {} : undefined),
      close() {},
    };
  },
};
