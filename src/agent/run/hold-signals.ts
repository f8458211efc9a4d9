import { isatty } from 'node:tty';
import { guard } from '../../base/guard.ts';
import { APPLICATION_SIGNALS, ignoreApplicationSignals } from '../../base/signals.ts';
import { hearUsr1 } from './hear-usr1.ts';

/** Signals that would end us and are the command's. */
const PASSED = ['SIGTERM', 'SIGHUP', 'SIGXCPU', ...APPLICATION_SIGNALS] as const;

/**
 * While the command runs its signals are its own. What a terminal sends reaches the whole group, the command included;
 * what is sent to us alone is passed on. Returns how to take that back.
 */
export function holdSignals(pass: (signal: NodeJS.Signals) => void): () => void {
  const fromTerminal = isatty(0);
  const handlers = new Map<NodeJS.Signals, () => void>();
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) handlers.set(signal, () => fromTerminal || pass(signal));
  for (const signal of PASSED) handlers.set(signal, () => pass(signal));
  for (const [signal, handler] of handlers) process.on(signal, handler);
  // without it the command misses a signal, and nothing else; a guard hears it by itself
  if (guard.channel === undefined) hearUsr1().catch(() => {});
  return () => {
    // what was meant for the command, and comes after its end, does not end the report about it
    ignoreApplicationSignals();
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}
