import { defineTable, gauge } from '../../table/table.ts';
import { decimal, number, scan } from '../digits.ts';
import { formOf } from '../form.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const loadavgTable = defineTable({
  name: 'loadavg',
  help: 'How many threads wanted to run, from /proc/loadavg.',
  scope: 'node',
  keys: [],
  columns: [
    gauge('load1', 'count', 'Runnable and uninterruptible threads, mean of the last minute.', 'float', 2),
    gauge('load5', 'count', 'The same, mean of five minutes.', 'float', 2),
    gauge('load15', 'count', 'The same, mean of fifteen minutes.', 'float', 2),
    gauge('runnable', 'count', 'Threads that are running or ready to run now.'),
    gauge('threads', 'count', 'Threads that exist on the node.'),
  ],
});

const { load1: LOAD1, load5: LOAD5, load15: LOAD15, runnable: RUNNABLE, threads: THREADS } = loadavgTable.at;

export const loadavg: SourceKind = {
  table: loadavgTable,
  open(host) {
    const file = host.tryKeep('/proc/loadavg', true);
    if (file === undefined) throw new Unavailable('denied', '/proc/loadavg cannot be read');
    return {
      table: loadavgTable,
      read(frame) {
        const end = file.read();
        if (end < 0) return;
        const at = frame.row() * frame.numberWidth;
        const { numbers } = frame;
        const { bytes } = file;
        numbers[at + LOAD1] = decimal(bytes, 0, end);
        numbers[at + LOAD5] = decimal(bytes, scan.at, end);
        numbers[at + LOAD15] = decimal(bytes, scan.at, end);
        numbers[at + RUNNABLE] = number(bytes, scan.at, end);
        numbers[at + THREADS] = number(bytes, scan.at, end);
      },
      forms() {
        const end = file.read();
        if (end < 0) return undefined;
        // 0.52 0.58 0.59 1/389 1234
        const wholes = [LOAD1, undefined, LOAD5, undefined, LOAD15, undefined, RUNNABLE, THREADS];
        const form = formOf(file.bytes.toString('latin1', 0, end), ({ index }) => {
          const columnIndex = wholes[index] ?? wholes[index - 1];
          if (columnIndex === undefined || index >= wholes.length) return undefined;
          return wholes[index] === undefined ? { column: columnIndex, divisor: 100 } : { column: columnIndex };
        });
        return [{ fd: file.fd, single: true, form }];
      },
      close: () => file.close(),
    };
  },
};
