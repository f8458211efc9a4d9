import { counter, defineTable, gauge } from '../../table/table.ts';
import { lineEnd, number, scan } from '../digits.ts';
import { formOf } from '../form.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const cpuTable = defineTable({
  name: 'cpu',
  help: 'What the CPUs spent their time on, from /proc/stat. Values of the whole node are in the row `all`.',
  scope: 'node',
  keys: [{ name: 'cpu', help: 'Number of the CPU, or `all` for the sum of all.' }],
  columns: [
    counter('user_ms', 'milliseconds', 'Time in programs.'),
    counter('nice_ms', 'milliseconds', 'Time in programs with lowered priority.'),
    counter('system_ms', 'milliseconds', 'Time in the kernel.'),
    counter('idle_ms', 'milliseconds', 'Time with nothing to do.'),
    counter('iowait_ms', 'milliseconds', 'Idle time while a thread waited for a disk.'),
    counter('irq_ms', 'milliseconds', 'Time serving interrupts.'),
    counter('softirq_ms', 'milliseconds', 'Time in deferred work of interrupts.'),
    counter('steal_ms', 'milliseconds', 'Time the hypervisor gave to others.'),
    counter('guest_ms', 'milliseconds', 'Time running virtual machines, contained in user_ms.'),
    counter('guest_nice_ms', 'milliseconds', 'The same with lowered priority, contained in nice_ms.'),
    counter(
      'busy_ms',
      'milliseconds',
      'Time that was neither idle nor waiting: user, nice, system, irq, softirq and steal.',
    ),
    counter('context_switches', 'count', 'Switches from one thread to another (`all` only).'),
    counter('interrupts', 'count', 'Interrupts served (`all` only).'),
    counter('forks', 'count', 'Processes and threads created (`all` only).'),
    gauge('procs_running', 'count', 'Threads running or ready to run (`all` only).'),
    gauge('procs_blocked', 'count', 'Threads waiting for a disk (`all` only).'),
  ],
});

/** The kernel reports in hundredths of a second, whatever its own clock is (USER_HZ). */
const MS_PER_TICK = 10;
const { cpu: CPU, busy_ms: BUSY, context_switches: SWITCHES, interrupts: INTERRUPTS, forks: FORKS } = cpuTable.at;
const { procs_running: RUNNING, procs_blocked: BLOCKED } = cpuTable.at;
/** In the kernel's order. */
const TIMES = (
  ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest', 'guest_nice'] as const
).map((name) => cpuTable.at[`${name}_ms`]);
/** Neither idle nor waiting; guests are in user and nice already. */
const IS_BUSY = TIMES.map((_, i) => i < 3 || (i > 4 && i < 8));
/** Lines of the whole node, by their first word. */
const WHOLE_NODE: Readonly<Record<string, number>> = {
  ctxt: SWITCHES,
  intr: INTERRUPTS,
  processes: FORKS,
  procs_running: RUNNING,
  procs_blocked: BLOCKED,
};
const [SPACE, NEWLINE] = [32, 10];
const [LETTER_B, LETTER_C, LETTER_I, LETTER_P, LETTER_R, LETTER_S] = [98, 99, 105, 112, 114, 115];

export const cpu: SourceKind = {
  table: cpuTable,
  open(host) {
    const file = host.tryKeep('/proc/stat', true);
    if (file === undefined) throw new Unavailable('denied', '/proc/stat cannot be read');
    const names: string[] = [];
    return {
      table: cpuTable,
      read(frame) {
        const end = file.read();
        const { bytes } = file;
        let all = -1;
        for (let p = 0; p < end; p++) {
          const start = p;
          const first = bytes[start]!;
          if (first === LETTER_C && bytes[start + 1] === LETTER_P) {
            const row = frame.row();
            const at = row * frame.numberWidth;
            const { numbers } = frame;
            p = start + 3;
            if (bytes[p] === SPACE) {
              all = at;
              frame.texts[row * frame.textWidth + CPU] = 'all';
            } else {
              const id = number(bytes, p, end);
              p = scan.at;
              frame.texts[row * frame.textWidth + CPU] = names[id] ??= String(id);
            }
            let busy = 0;
            for (let i = 0; i < TIMES.length; i++) {
              while (bytes[p] === SPACE && p < end) p++;
              let c = bytes[p]!;
              // older kernels know fewer kinds of time
              if (p >= end || c === NEWLINE) break;
              let ticks = 0;
              while (c >= 48 && c <= 57 && p < end) {
                ticks = ticks * 10 + (c - 48);
                c = bytes[++p]!;
              }
              numbers[at + TIMES[i]!] = ticks * MS_PER_TICK;
              if (IS_BUSY[i]) busy += ticks;
            }
            numbers[at + BUSY] = busy * MS_PER_TICK;
            p = lineEnd(bytes, p, end);
            // a line without its newline is torn
            if (p >= end) {
              frame.drop();
              if (all === at) all = -1;
            }
            continue;
          }
          p = lineEnd(bytes, start, end);
          if (p >= end || all < 0) continue;
          const { numbers } = frame;
          if (first === LETTER_C) numbers[all + SWITCHES] = number(bytes, start, p);
          else if (first === LETTER_I) numbers[all + INTERRUPTS] = number(bytes, start, p);
          else if (first === LETTER_P) {
            // processes, procs_running, procs_blocked
            if (bytes[start + 4] !== LETTER_S) numbers[all + FORKS] = number(bytes, start, p);
            else if (bytes[start + 6] === LETTER_R) numbers[all + RUNNING] = number(bytes, start, p);
            else if (bytes[start + 6] === LETTER_B) numbers[all + BLOCKED] = number(bytes, start, p);
          }
        }
      },
      forms(frame) {
        const end = file.read();
        if (end <= 0) return undefined;
        const rows = new Map<string, number>();
        for (let row = 0; row < frame.rows; row++) rows.set(frame.texts[row * frame.textWidth + CPU]!, row);
        const all = rows.get('all');
        if (all === undefined) return undefined;
        const form = formOf(file.bytes.toString('latin1', 0, end), ({ line, index }) => {
          const [, name] = /^cpu(\d*) /.exec(line) ?? [];
          if (name === undefined) {
            const columnIndex = index === 0 ? WHOLE_NODE[line.split(' ', 1)[0]!] : undefined;
            return columnIndex === undefined ? undefined : { column: all * frame.numberWidth + columnIndex };
          }
          const at = rows.get(name || 'all')! * frame.numberWidth;
          // the number of the CPU is one, too
          const kind = name === '' ? index : index - 1;
          const columnIndex = TIMES[kind];
          if (columnIndex === undefined) return undefined;
          return { column: at + columnIndex, also: IS_BUSY[kind] ? at + BUSY : undefined, factor: MS_PER_TICK };
        });
        return [{ fd: file.fd, single: true, form }];
      },
      close: () => file.close(),
    };
  },
};
