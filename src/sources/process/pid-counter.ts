import { decimal, number, scan } from '../digits.ts';
import type { Host } from '../host.ts';

export type PidCounter = ReturnType<typeof pidCounter>;

/**
 * The newest pid that the kernel gave, from /proc/loadavg. Pids are given in a circle: while it stands still there is no
 * new process, and a pid can only have been used again when it has been passed.
 */
export function pidCounter(host: Host) {
  const self = host.link('/proc/self');
  // the counter is that of our own pid namespace: useless for a /proc of another one
  const ours = self === undefined || Number(self) === process.pid;
  const file = ours ? host.tryKeep('/proc/loadavg', true) : undefined;
  let before = 0;
  let newest = 0;
  let hasMoved = false;
  return {
    /** Processes or threads were started between the last two updates, or it cannot be told. */
    get moved(): boolean {
      return newest === 0 || before !== newest;
    },
    update(): void {
      before = newest;
      newest = 0;
      const end = file?.read() ?? -1;
      if (end <= 0) return;
      scan.at = 0;
      for (let i = 0; i < 3; i++) decimal(host.bytes, scan.at, end);
      number(host.bytes, scan.at, end); // runnable
      number(host.bytes, scan.at, end); // existing
      newest = number(host.bytes, scan.at, end) || 0;
      hasMoved ||= before > 0 && newest > 0 && before !== newest;
    },
    /** The file whose last number it is; −1: it never moved, as in containers that fake it. */
    get fd(): number {
      return hasMoved ? file!.fd : -1;
    },
    /** May this pid have been given between the last two updates? */
    passed(pid: number): boolean {
      if (before === newest || before === 0 || newest === 0) return false;
      return before < newest ? pid > before && pid <= newest : pid > before || pid <= newest;
    },
    /** Was this pid given after that one? Unknown once the kernel has gone around the whole circle. */
    isAfter(pid: number, other: number): boolean {
      if (newest === 0) return true;
      return other <= newest ? pid > other && pid <= newest : pid > other || pid <= newest;
    },
    close: (): void => file?.close(),
  };
}
