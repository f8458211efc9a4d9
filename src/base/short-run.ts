import { setFlagsFromString } from 'node:v8';

let short = false;

/**
 * Says that what follows takes about a second: V8's last compiler would be done when there is nothing left to do, and
 * takes the processor from what is to be done until then. So would be looking for what can be freed, beside it, step by step.
 */
export function shortRun(): void {
  short = true;
  setFlagsFromString('--no-turbofan');
  setFlagsFromString('--no-incremental-marking');
}

/** It takes longer after all. */
export function longRun(): void {
  short = false;
  setFlagsFromString('--turbofan');
  setFlagsFromString('--incremental-marking');
}

/** Loads modules in a short run as in any other: what V8 keeps of them for the next start is for its usual options. */
export async function loadAsUsual<T>(load: () => Promise<T>): Promise<T> {
  if (!short) return load();
  longRun();
  try {
    return await load();
  } finally {
    shortRun();
  }
}
