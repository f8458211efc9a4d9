import { setFlagsFromString } from 'node:v8';

/**
 * Says that what follows takes less than a second: V8's last compiler would be done when there is nothing left to do, and
 * takes the processor from what is to be done until then. To be called when all modules are loaded: what V8 keeps of them
 * for the next start belongs to its options.
 */
export function shortRun(): void {
  setFlagsFromString('--no-turbofan');
}
