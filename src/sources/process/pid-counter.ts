import { decimal, number, scan } from '../digits.ts';
import type { Host } from '../host.ts';

/**
 * The newest pid that the kernel gave, from /proc/loadavg. Pids are given in a circle: while it stands still there is no
 * new process, and a pid can only have been used again when it has been passed.
 */
export interface PidCounter {
  update(): void;
  /** Processes or threads were started between the last two updates, or it cannot be told. */
  readonly moved: boolean;
  /** May this pid have been given between the last two updates? */
  passed(pid: number): boolean;
  close(): void;
}

export function pidCounter(host: Host): PidCounter {
  const self = host.link('/proc/self');
  // the counter is that of our own pid namespace: useless for a /proc of another one
  const ours = self === undefined || Number(self) === process.pid;
  const file = ours ? host.tryKeep('/proc/loadavg', true) : undefined;
  let before = 0;
  let newest = 0;
  return {
    get moved() {
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
    },
    passed(pid): boolean {
      if (before === newest || before === 0 || newest === 0) return false;
      return before < newest ? pid > before && pid <= newest : pid > before || pid <= newest;
    },
    close: () => file?.close(),
  };
}
