import * as fs from 'node:fs';
import * as os from 'node:os';
import { guard } from '../../base/guard.ts';
import type { CommandEnding } from './command.ts';

/** Signals after which a shell should see the signal itself; others would dump our own core or cannot be caught. */
const RAISED = new Set<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM']);

/** Ends this process as the command has ended. */
export function endAs(ending: CommandEnding): void {
  if (guard.channel !== undefined) process.once('exit', leave);
  if (ending.signal === undefined) process.exit(ending.exitCode ?? 0);
  // also for a signal that is ignored here: Node does so with SIGPIPE, nohup with SIGHUP
  process.exitCode = 128 + (os.constants.signals[ending.signal] ?? 0);
  if (!RAISED.has(ending.signal)) process.exit();
  process.removeAllListeners(ending.signal);
  process.kill(process.pid, ending.signal);
}

/** Everything is written: Node would take as long to put itself away as it takes to print a card. */
function leave(): void {
  try {
    fs.writeSync(guard.channel!, 'done 0 0\n');
  } catch {
    // a guard that has gone, or did not understand us: it sees how we end
    return;
  }
  process.kill(process.pid, 'SIGKILL');
}
