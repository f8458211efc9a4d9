import * as fs from 'node:fs';
import * as path from 'node:path';

/**
 * Is a program of this name in one of the folders of PATH, be it one that may not be run? The kernel says "permission
 * denied" also where it may only not look into a folder.
 */
export function isInPath(name: string, folders: string | undefined): boolean {
  return (folders ?? '').split(':').some((folder) => fs.existsSync(path.join(folder || '.', name)));
}
