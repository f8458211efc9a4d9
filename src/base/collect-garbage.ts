import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Gives back what is no longer needed now. V8 would wait until there is more; it costs some ten milliseconds. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) {
    setFlagsFromString('--expose-gc');
    globalThis.gc = runInNewContext('gc') as typeof globalThis.gc;
    // code that V8 has compiled before belongs to the usual options
    setFlagsFromString('--no-expose-gc');
  }
  globalThis.gc!();
}
