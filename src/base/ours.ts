import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

declare const TACHO_VERSION: string | undefined;

/** The folder Tacho is installed in: the checkout, or the unpacked release (whose one program file lies in lib/). */
const HOME = fileURLToPath(new URL(typeof TACHO_VERSION === 'string' ? '..' : '../..', import.meta.url));

/** The path of something that comes with Tacho, e.g. `native/build/launch`. */
export function ours(name: string): string {
  return path.join(HOME, name);
}
