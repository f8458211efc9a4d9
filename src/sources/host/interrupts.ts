import { counter, defineTable, text } from '../../table/table.ts';
import { lineEnd, spells } from '../digits.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const interruptsTable = defineTable({
  name: 'interrupts',
  help: 'Interrupts that have fired since the node booted, summed over CPUs, from /proc/interrupts.',
  scope: 'node',
  keys: [{ name: 'interrupt', help: 'Number of the interrupt, or the kernel’s short name (`LOC`, `TLB`).' }],
  columns: [
    text('device', 'The driver that asked for the interrupt, or what the short name means.'),
    counter('count', 'count', 'How often it fired, on all CPUs together.'),
  ],
});

const { interrupt: INTERRUPT, device: DEVICE, count: COUNT } = interruptsTable.at;

/** A line that was seen before: what stands before and behind its counts. */
interface Line {
  readonly label: Buffer;
  readonly tail: Buffer;
  readonly name: string;
  readonly device: string;
}

const [SPACE, COLON] = [32, 58];

/** `IO-APIC   5-edge      ttyS0` is about ttyS0; a line that ends in blanks has a chip but no driver. */
function deviceOf(name: string, tail: string): string {
  if (!/^\d+$/.test(name)) return tail.trim();
  if (/\s$/.test(tail)) return '';
  return tail.slice(tail.lastIndexOf('  ') + 1).trim();
}

export const interrupts: SourceKind = {
  table: interruptsTable,
  every: 10,
  open(host) {
    const file = host.tryKeep('/proc/interrupts');
    if (file === undefined) throw new Unavailable('absent', '/proc/interrupts cannot be read');
    const lines: Line[] = [];

    const learn = (bytes: Buffer, label: number, colon: number, tail: number, stop: number): Line => {
      const name = bytes.toString('latin1', label, colon);
      const behind = bytes.toString('latin1', tail, stop);
      return {
        label: Buffer.from(bytes.subarray(label, colon + 1)),
        tail: Buffer.from(bytes.subarray(tail, stop)),
        name,
        device: deviceOf(name, behind),
      };
    };

    return {
      table: interruptsTable,
      read(frame) {
        const end = file.read();
        const { bytes } = file;
        let n = 0;
        // the first line names the CPUs
        for (let p = lineEnd(bytes, 0, Math.max(0, end)) + 1; p < end; n++) {
          const stop = lineEnd(bytes, p, end);
          if (stop >= end) break;
          while (bytes[p] === SPACE) p++;
          const label = p;
          let line: Line | undefined = lines[n];
          let colon: number;
          if (line !== undefined && spells(bytes, label, line.label)) colon = label + line.label.length - 1;
          else {
            colon = bytes.indexOf(COLON, label);
            if (colon < 0 || colon >= stop) {
              p = stop + 1;
              continue;
            }
            line = undefined;
          }
          // counts until something is no number
          let count = 0;
          let tail = colon + 1;
          for (p = tail; p < stop; ) {
            while (bytes[p] === SPACE) p++;
            let c = bytes[p]!;
            let value = 0;
            const digits = p;
            while (c >= 48 && c <= 57) {
              value = value * 10 + (c - 48);
              c = bytes[++p]!;
            }
            if (p === digits || (p < stop && c !== SPACE)) break;
            count += value;
            tail = p;
          }
          if (line === undefined || line.tail.length !== stop - tail || !spells(bytes, tail, line.tail)) {
            line = learn(bytes, label, colon, tail, stop);
            lines[n] = line;
          }
          p = stop + 1;
          if (count === 0) continue;
          const row = frame.row();
          frame.texts[row * frame.textWidth + INTERRUPT] = line.name;
          frame.texts[row * frame.textWidth + DEVICE] = line.device;
          frame.numbers[row * frame.numberWidth + COUNT] = count;
        }
        lines.length = n;
      },
      close: () => file.close(),
    };
  },
};
