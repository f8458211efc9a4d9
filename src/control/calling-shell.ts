import * as fs from 'node:fs';

/** Commands that run another one, wait for it and end: what they were called from is meant, not they. */
const WRAPPERS = new Set(['timeout', 'time', 'sudo', 'doas', 'runuser', 'strace', 'ltrace', 'perf', 'script', 'xargs']);

/** Who called `tacho start`: the parent, or, where that is only a wrapper (`timeout 20 tacho start`), who called the wrapper. */
export function callingShell(parent = process.ppid, proc = '/proc'): number {
  let pid = parent;
  for (;;) {
    const above = wrapped(pid, proc);
    // who lost its own parent has nobody else to follow
    if (above === undefined || above <= 1) return pid;
    pid = above;
  }
}

/** The parent of a wrapper; undefined when it is none. */
function wrapped(pid: number, proc: string): number | undefined {
  let stat: string;
  try {
    stat = fs.readFileSync(`${proc}/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const end = stat.lastIndexOf(')');
  const name = stat.slice(stat.indexOf('(') + 1, end);
  return WRAPPERS.has(name) ? Number(stat.slice(end + 2).split(' ')[1]) : undefined;
}
