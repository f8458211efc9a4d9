/** Ends a process and all that it started, where it leads a group of its own. */
export function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has just ended by itself
  }
}
