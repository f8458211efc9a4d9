import * as path from 'node:path';

/** A path as one would type it here: relative when it lies below the current folder. */
export function near(absolute: string): string {
  const relative = path.relative('.', absolute);
  return relative === '' || relative.startsWith('..') ? absolute : relative;
}
