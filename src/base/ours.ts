import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

declare const TACHO_HOME: string | undefined;

/** The folder Tacho is installed in: the checkout, or the unpacked release. A bundle knows the way to it (scripts/bundle.ts). */
const HOME = fileURLToPath(new URL(typeof TACHO_HOME === 'string' ? TACHO_HOME : '../..', import.meta.url));

/** The path of something that comes with Tacho, e.g. `native/build/launch`. */
export function ours(name: string): string {
  return path.join(HOME, name);
}
