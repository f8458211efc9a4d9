import { number, scan } from '../digits.ts';
import type { Host } from '../host.ts';

/** What /proc/PID/stat says. One object is reused for all processes; times are clock ticks, memory is in pages. */
export class ProcessStat {
  /** The state's letter as a character code. */
  state = 0;
  parent = 0;
  group = 0;
  session = 0;
  minorFaults = 0;
  majorFaults = 0;
  user = 0;
  system = 0;
  /** Of children that it waited for, and of those that they waited for. */
  childrenUser = 0;
  childrenSystem = 0;
  threads = 0;
  /** After boot: together with the pid it names the process, however often the pid is used again. */
  start = 0;
  virtualBytes = 0;
  residentPages = 0;
  cpu = 0;
  /** Where the name lies in the bytes. */
  nameFrom = 0;
  nameEnd = 0;
}

/** Z, the state of a process that has ended and that nobody has collected. */
export const ENDED = 90;

/** Linux tells user space about 100 ticks a second on every machine, whatever the kernel's own rate is. */
export const TICK_MS = 10;

/** Reads the stat of a process; false when there is no such process. */
export function readStatOf(host: Host, pid: number, stat: ProcessStat): boolean {
  const file = host.tryKeep(`/proc/${pid}/stat`, true);
  if (file === undefined) return false;
  const end = file.read();
  file.close();
  return end > 0 && readStat(host.bytes, end, stat);
}

/** Reads the fields of /proc/PID/stat; false when they are not all there (the file was cut off). */
export function readStat(bytes: Buffer, end: number, stat: ProcessStat): boolean {
  // a name may hold anything, brackets and newlines too; what follows it may not
  let close = end - 1;
  while (close >= 0 && bytes[close] !== 41) close--;
  const open = bytes.indexOf(40);
  if (open < 1 || close <= open || close + 4 >= end) return false;
  if (bytes[close + 1] !== 32 || bytes[close + 3] !== 32) return false;
  stat.nameFrom = open + 1;
  stat.nameEnd = close;
  stat.state = bytes[close + 2]!;
  stat.parent = number(bytes, close + 3, end);
  stat.group = number(bytes, scan.at, end);
  stat.session = number(bytes, scan.at, end);
  skip(bytes, end, 3); // terminal, its foreground group, flags
  stat.minorFaults = number(bytes, scan.at, end);
  skip(bytes, end, 1); // those of reaped children
  stat.majorFaults = number(bytes, scan.at, end);
  skip(bytes, end, 1);
  stat.user = number(bytes, scan.at, end);
  stat.system = number(bytes, scan.at, end);
  stat.childrenUser = number(bytes, scan.at, end);
  stat.childrenSystem = number(bytes, scan.at, end);
  skip(bytes, end, 2); // priority, nice
  stat.threads = number(bytes, scan.at, end);
  skip(bytes, end, 1);
  stat.start = number(bytes, scan.at, end);
  stat.virtualBytes = number(bytes, scan.at, end);
  stat.residentPages = number(bytes, scan.at, end);
  skip(bytes, end, 14); // limit, addresses, signals, exit signal
  stat.cpu = number(bytes, scan.at, end);
  // a number that touches the end of the bytes may have lost digits
  return scan.at < end;
}

/** Passes over words: faster than making numbers of them, and some do not fit a number. */
function skip(bytes: Buffer, end: number, count: number): void {
  let at = scan.at;
  for (let i = 0; i < count; i++) {
    at++;
    while (at < end && bytes[at] !== 32) at++;
  }
  scan.at = at;
}
