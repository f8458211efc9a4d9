import { number, scan } from '../../sources/digits.ts';
import { pageBytes } from '../../sources/host/page-bytes.ts';
import { Host } from '../../sources/host.ts';

/** CPU time of this process, in microseconds. */
export function usedCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Reads the resident memory of this process: the second number of statm, in pages. Asking Node costs ten times as much. */
export function memoryReader(): () => number {
  const live = new Host();
  const statm = live.tryKeep('/proc/self/statm', true);
  if (statm === undefined) return process.memoryUsage.rss;
  const page = pageBytes(live);
  return () => {
    const end = statm.read();
    number(statm.bytes, 0, end);
    return number(statm.bytes, scan.at, end) * page;
  };
}
