import * as fs from 'node:fs';
import * as os from 'node:os';

/** A process on a machine: pids come back, start times do not. */
export interface ProcessId {
  pid: number;
  /** In clock ticks after boot, as the kernel says it; '' when it had gone before it could be asked. */
  started: string;
  host?: string;
}

export function processId(pid: number): Required<ProcessId> {
  return { pid, started: startTime(pid) ?? '', host: os.hostname() };
}

function startTime(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // a zombie has ended
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** Is it still the same process? One on another machine counts as running: nobody can tell from here. */
export function stillRuns(id: ProcessId): boolean {
  if (id.host !== undefined && id.host !== os.hostname()) return true;
  return id.started !== '' && startTime(id.pid) === id.started;
}

/** Signals it if it is still the same process, on this machine; with all that it started when it leads a group of its own. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals, whom: 'alone' | 'group' = 'alone'): void {
  if (id.host !== undefined && id.host !== os.hostname()) return;
  if (!stillRuns(id)) return;
  try {
    process.kill(whom === 'group' ? -id.pid : id.pid, signal);
  } catch {
    // it has gone in this very moment
  }
}
