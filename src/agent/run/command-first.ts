import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { rescueWith } from '../../base/rescue.ts';
import { type CommandEnding, type RunningCommand, runCommand } from './command.ts';
import { holdSignals } from './hold-signals.ts';

export type StartCommand = typeof runCommand;

export interface Recorded {
  ending: CommandEnding;
  /** The recording; undefined: there is none, or it was not brought to its end. */
  folder?: string;
}

/** A recorder in trouble has so long for its end after that of the command. */
const END_SECONDS = 10;

let begun = false;

/**
 * Runs a command and has it recorded. Whatever goes wrong with the recording, the command is run, once, and its own end is
 * what counts. `record` starts it by what it is given; `say` learns that it cannot, or goes on without being recorded.
 * Throws what is meant to end everything (Fault.final): a command that cannot be run, or what the user asked for.
 */
export async function commandFirst(
  command: readonly string[],
  record: (start: StartCommand) => Promise<Recorded>,
  say: (error: unknown, running: boolean) => void,
): Promise<Recorded> {
  // an error that nobody caught has begun it already: its end is the end of this process
  if (begun) return new Promise(() => {});
  begun = true;
  let starting: Promise<RunningCommand> | undefined;
  let givenUp = false;
  let release = (): void => {};
  const start: StartCommand = (...given) => {
    if (starting !== undefined || givenUp) return Promise.reject(new Error('the command was started without it'));
    starting = held(given, (free) => {
      release = free;
    });
    return starting;
  };
  const crashed = new Promise<never>((_, reject) => rescueWith(reject));
  const recording = Promise.resolve().then(() => record(start));
  try {
    return await Promise.race([recording, crashed]);
  } catch (error) {
    if (error instanceof Fault && error.final) throw error;
    say(error, starting !== undefined);
    if (starting === undefined) {
      const alone = start(command, process.env);
      givenUp = true;
      return { ending: await (await alone).ended };
    }
    const { ended } = await (starting as Promise<RunningCommand>);
    const ending = await ended;
    const rest = await Promise.race([recording.catch(() => undefined), sleep(END_SECONDS * 1000)]);
    return rest ?? { ending };
  } finally {
    release();
  }
}

/** Its signals are its own from before it is there. */
async function held(given: Parameters<StartCommand>, hold: (release: () => void) => void): Promise<RunningCommand> {
  let command: RunningCommand | undefined;
  /** What came before we know the command's process. */
  const early: NodeJS.Signals[] = [];
  const release = holdSignals((signal) => void (command === undefined ? early.push(signal) : command.kill(signal)));
  hold(release);
  try {
    command = await runCommand(...given);
  } catch (error) {
    release();
    throw error;
  }
  for (const signal of early) command.kill(signal);
  return command;
}
