import type { Host } from '../host.ts';

/** The size of a page of memory: from the vector of facts that the kernel gives every program (AT_PAGESZ = 6). */
export function pageBytes(host: Host): number {
  const vector = Buffer.from(host.text('/proc/self/auxv') ?? '', 'latin1');
  for (let i = 0; i + 16 <= vector.length; i += 16) {
    if (vector.readBigUInt64LE(i) === 6n) return Number(vector.readBigUInt64LE(i + 8));
  }
  return 4096;
}
