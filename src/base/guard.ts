import { ours } from './ours.ts';
import { stated } from './stated.ts';

const NO_STDERR = 97;

/** What the guard above this process says (native/launch-guard.c): it started us, and starts the command of `tacho run`. */
export interface Guard {
  /** CPU time that the launcher script and the guard had used before this process was there. */
  usedSeconds: number;
  /** The descriptor on which it is asked for the command, and reports of it. */
  channel?: number;
  /** The command has run already: its process id, when it began and how it ended, as the guard says it. */
  ended?: string;
  /** Why it was not recorded, or not to its end. */
  why?: string;
  /** Why no agent may be started here. */
  unsampled?: string;
  /** The recording that was begun. */
  recording?: string;
}

/** What is said once is for this process, not for those that it starts. */
function taken(name: string): string | undefined {
  const value = process.env[name];
  delete process.env[name];
  return value;
}

/** The guard is told that Node runs here. Until then our stderr may be its, as it says in its own words that it does not. */
function sayUp(): void {
  if (!(Number(process.env.TACHO_GUARD?.split(' ')[2]) > 0)) return;
  try {
    process.dlopen({ exports: {} }, ours('native/build/up.node'));
  } catch {
    // it starts us again, with our own
    process.exit(NO_STDERR);
  }
}

sayUp();
const [channel = 0, used = 0] = taken('TACHO_GUARD')?.split(' ').map(Number) ?? [];
const ended = taken('TACHO_ENDED');
const why = taken('TACHO_ENDED_WHY');
const unsampled = taken('TACHO_UNSAMPLED');
const recording = taken('TACHO_ENDED_RECORDING');

export const guard: Guard = {
  usedSeconds: used / 1e6,
  ...(channel > 2 ? { channel } : {}),
  ...stated({ ended, why, unsampled, recording }),
};

/** A message to the guard: texts behind a line that says what they are. */
export function guardMessage(what: 'recording' | 'start' | 'try', texts: readonly string[], count = 0): Buffer {
  const bytes = Buffer.from(texts.map((text) => `${text}\0`).join(''));
  return Buffer.concat([Buffer.from(`${what} ${bytes.length} ${count}\n`), bytes]);
}
