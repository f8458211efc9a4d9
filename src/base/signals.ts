/**
 * Signals by which schedulers and users speak to an application (checkpoint, end soon, pause). They reach every process of
 * a job, Tacho's too, and would end or stop it.
 */
export const APPLICATION_SIGNALS = [
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGVTALRM',
  'SIGPROF',
  'SIGIO',
  'SIGPWR',
  'SIGSTKFLT',
] as const satisfies readonly NodeJS.Signals[];

/** By these they pause it, as a terminal does; SIGSTOP still pauses everybody. */
export const PAUSE_SIGNALS = ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const satisfies readonly NodeJS.Signals[];

/** From now on those signals do nothing to this process. */
export function ignoreApplicationSignals(others: readonly NodeJS.Signals[] = []): void {
  for (const signal of [...APPLICATION_SIGNALS, ...others]) process.on(signal, () => {});
}
