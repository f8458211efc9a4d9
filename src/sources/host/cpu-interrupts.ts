import { counter, defineTable } from '../../table/table.ts';
import { lineEnd } from '../digits.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const cpuInterruptsTable = defineTable({
  name: 'cpu_interrupts',
  help: 'Interrupts that have fired since the node booted, CPU by CPU, from /proc/interrupts. Recorded only with `--also cpu_interrupts`.',
  scope: 'node',
  keys: [
    { name: 'interrupt', help: 'Number of the interrupt, or the kernel’s short name (`LOC`, `TLB`).' },
    { name: 'cpu', help: 'Number of the CPU.' },
  ],
  columns: [counter('count', 'count', 'How often it fired on this CPU.')],
});

const { interrupt: INTERRUPT, cpu: CPU, count: COUNT } = cpuInterruptsTable.at;
const [SPACE, COLON] = [32, 58];

export const cpuInterrupts: SourceKind = {
  table: cpuInterruptsTable,
  optional: true,
  every: 10,
  open(host) {
    const file = host.tryKeep('/proc/interrupts');
    if (file === undefined) throw new Unavailable('absent', '/proc/interrupts cannot be read');
    /** Names of interrupts by their line, and of CPUs by their column: they hardly ever change. */
    let header = '';
    let cpus: string[] = [];
    return {
      table: cpuInterruptsTable,
      read(frame) {
        const end = file.read();
        const { bytes } = file;
        const first = lineEnd(bytes, 0, Math.max(0, end));
        const named = bytes.toString('latin1', 0, first);
        if (named !== header) {
          header = named;
          cpus = [...named.matchAll(/CPU(\d+)/g)].map(([, number]) => number!);
        }
        for (let p = first + 1; p < end; ) {
          const stop = lineEnd(bytes, p, end);
          if (stop >= end) break;
          while (bytes[p] === SPACE) p++;
          const colon = bytes.indexOf(COLON, p);
          if (colon < 0 || colon >= stop) {
            p = stop + 1;
            continue;
          }
          let name: string | undefined;
          const label = p;
          p = colon + 1;
          for (let cpu = 0; cpu < cpus.length && p < stop; cpu++) {
            while (bytes[p] === SPACE) p++;
            const digits = p;
            let value = 0;
            for (let c = bytes[p]!; c >= 48 && c <= 57; c = bytes[++p]!) value = value * 10 + (c - 48);
            // ERR and MIS have one number for all CPUs, and no more follows
            if (p === digits || (p < stop && bytes[p] !== SPACE)) break;
            if (value === 0) continue;
            name ??= bytes.toString('latin1', label, colon);
            if (name === 'ERR' || name === 'MIS') break;
            const row = frame.row();
            frame.texts[row * frame.textWidth + INTERRUPT] = name;
            frame.texts[row * frame.textWidth + CPU] = cpus[cpu]!;
            frame.numbers[row * frame.numberWidth + COUNT] = value;
          }
          p = stop + 1;
        }
      },
      close: () => file.close(),
    };
  },
};
