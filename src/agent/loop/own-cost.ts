import { number, scan } from '../../sources/digits.ts';
import { pageBytes } from '../../sources/host/page-bytes.ts';
import { Host } from '../../sources/host.ts';

/** CPU time of this process, in microseconds. */
export function usedCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** What this process has in memory, in bytes. */
export interface OwnMemory {
  resident: number;
  /** Of that its own alone: not the pages of files, which all who run the same program share. NaN: not known. */
  own: number;
}

/** Reads the second and third number of statm, in pages. Asking Node costs ten times as much. The answer is one object. */
export function memoryReader(): () => OwnMemory {
  const live = new Host();
  const statm = live.tryKeep('/proc/self/statm', true);
  if (statm === undefined) return () => ({ resident: process.memoryUsage.rss(), own: Number.NaN });
  const page = pageBytes(live);
  const memory: OwnMemory = { resident: 0, own: 0 };
  return () => {
    const end = statm.read();
    number(statm.bytes, 0, end);
    memory.resident = number(statm.bytes, scan.at, end) * page;
    memory.own = memory.resident - number(statm.bytes, scan.at, end) * page;
    return memory;
  };
}
