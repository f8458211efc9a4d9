import * as fs from 'node:fs';
import type { Host } from '../host.ts';
import { Unavailable } from '../source.ts';

/** Beyond this the clock was set: what was computed before no longer fits. */
const SAME_MS = 1500;

/** By the machine's root: whoever opens a table of processes again finds them under the same names. */
const bootTimes = new Map<string, number>();

/**
 * When the machine was started, in epoch milliseconds: to a hundredth of a second where the kernel's whole second bears it
 * out. It is computed from two clocks, and so comes out a little different each time: the first answer holds.
 */
export function bootMilliseconds(host: Host): number {
  const seconds = /^btime (\d+)/m.exec(host.text('/proc/stat') ?? '')?.[1];
  if (seconds === undefined) throw new Unavailable('denied', '/proc/stat cannot be read');
  const whole = Number(seconds) * 1000;
  const uptime = Number.parseFloat(host.text('/proc/uptime') ?? '');
  const exact = Math.round((Date.now() - uptime * 1000) / 10) * 10;
  const now = Math.abs(exact - whole) < SAME_MS ? exact : whole;
  const before = bootTimes.get(host.root);
  if (before !== undefined && Math.abs(before - now) < SAME_MS) return before;
  bootTimes.set(host.root, now);
  return now;
}

/** Goes on with the answer that an agent before this one has kept in a file, or keeps it there for the next one. */
export function keepBootTime(host: Host, file: string): void {
  const boot = host.text('/proc/sys/kernel/random/boot_id') ?? '';
  try {
    const kept = JSON.parse(fs.readFileSync(file, 'utf8')) as { boot: string; milliseconds: number };
    if (kept.boot === boot && Number.isFinite(kept.milliseconds)) bootTimes.set(host.root, kept.milliseconds);
  } catch {
    // the first agent here
  }
  try {
    fs.writeFileSync(file, `${JSON.stringify({ boot, milliseconds: bootMilliseconds(host) })}\n`, { mode: 0o600 });
  } catch {
    // then the next agent names processes that it did not see begin a hundredth of a second away
  }
}
