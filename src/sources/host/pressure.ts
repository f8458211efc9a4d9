import { code } from '../../base/fault.ts';
import { counter, defineTable, gauge } from '../../table/table.ts';
import { decimal, lineEnd, number, scan } from '../digits.ts';
import { formOf } from '../form.ts';
import type { KeptFile } from '../host.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const pressureTable = defineTable({
  name: 'pressure',
  help: 'How much work was held up because a resource was short (pressure stall information), from /proc/pressure.',
  scope: 'node',
  keys: [{ name: 'resource', help: 'cpu, memory, io or irq.' }],
  columns: [
    gauge('some_avg10_percent', 'percent', 'Share of the last 10 s in which some threads were held up.', 'float', 2),
    gauge('some_avg60_percent', 'percent', 'The same of the last minute.', 'float', 2),
    counter('some_total_us', 'microseconds', 'Time in which some threads were held up.'),
    gauge(
      'full_avg10_percent',
      'percent',
      'Share of the last 10 s in which all threads were held up at once.',
      'float',
      2,
    ),
    gauge('full_avg60_percent', 'percent', 'The same of the last minute.', 'float', 2),
    counter('full_total_us', 'microseconds', 'Time in which all threads were held up at once.'),
  ],
});

const { at: AT } = pressureTable;
const SOME = [AT.some_avg10_percent, AT.some_avg60_percent, AT.some_total_us] as const;
const FULL = [AT.full_avg10_percent, AT.full_avg60_percent, AT.full_total_us] as const;
const RESOURCES = ['cpu', 'memory', 'io', 'irq'];
const LETTER_S = 115;
const EQUALS = 61;

export const pressure: SourceKind = {
  table: pressureTable,
  open(host) {
    const files: { resource: string; file: KeptFile }[] = [];
    let refused = false;
    for (const resource of RESOURCES) {
      const file = host.tryKeep(`/proc/pressure/${resource}`, true);
      if (file === undefined) continue;
      try {
        file.read();
        files.push({ resource, file });
      } catch (error) {
        file.close();
        if (code(error) !== 'EOPNOTSUPP') throw error;
        refused = true;
      }
    }
    if (files.length === 0) {
      if (!refused && !host.exists('/proc/pressure'))
        throw new Unavailable('absent', 'the kernel has no pressure information');
      throw new Unavailable('denied', 'pressure information is switched off', 'boot the kernel with psi=1');
    }
    return {
      table: pressureTable,
      read(frame) {
        for (const { resource, file } of files) {
          const end = file.read();
          if (end <= 0) continue;
          const row = frame.row();
          frame.texts[row * frame.textWidth + AT.resource] = resource;
          const { numbers } = frame;
          const { bytes } = file;
          for (let p = 0; p < end; ) {
            const stop = lineEnd(bytes, p, end);
            if (stop >= end) break;
            // some avg10=0.12 avg60=0.05 avg300=0.01 total=123456
            const at = row * frame.numberWidth;
            const [avg10, avg60, total] = bytes[p] === LETTER_S ? SOME : FULL;
            numbers[at + avg10] = decimal(bytes, bytes.indexOf(EQUALS, p), stop);
            numbers[at + avg60] = decimal(bytes, bytes.indexOf(EQUALS, scan.at), stop);
            decimal(bytes, bytes.indexOf(EQUALS, scan.at), stop);
            numbers[at + total] = number(bytes, bytes.indexOf(EQUALS, scan.at), stop);
            p = stop + 1;
          }
        }
      },
      forms(frame) {
        if (frame.rows !== files.length) return undefined;
        return files.map(({ file }, row) => {
          const end = file.read();
          // some avg10=0.12 avg60=0.05 avg300=0.01 total=123456: the names have numbers, too
          const form = formOf(file.bytes.toString('latin1', 0, Math.max(0, end)), ({ line, index }) => {
            const [avg10, avg60, total] = line.startsWith('some') ? SOME : FULL;
            const at = row * frame.numberWidth;
            if (index === 1 || index === 2) return { column: at + avg10, ...(index === 2 && { divisor: 100 }) };
            if (index === 4 || index === 5) return { column: at + avg60, ...(index === 5 && { divisor: 100 }) };
            return index === 9 ? { column: at + total } : undefined;
          });
          return { fd: file.fd, single: true, form };
        });
      },
      close: () => {
        for (const { file } of files) file.close();
      },
    };
  },
};
