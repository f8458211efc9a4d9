import * as fs from 'node:fs';
import * as path from 'node:path';
import { isForeignLink } from '../../base/plain-file.ts';

/** The names in a folder: of files, which can be opened without harm, and of all else (pipes, folders, others' links). */
export interface FileNames {
  files: string[];
  others: string[];
}

/** Links of our own to files are files, too: somebody may keep large ones elsewhere. */
export function fileNames(folder: string): FileNames {
  const names: FileNames = { files: [], others: [] };
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const isFile = entry.isFile() || (entry.isSymbolicLink() && isOwnLink(path.join(folder, entry.name)));
    (isFile ? names.files : names.others).push(entry.name);
  }
  return names;
}

function isOwnLink(file: string): boolean {
  try {
    return !isForeignLink(file) && fs.statSync(file).isFile();
  } catch {
    // it leads nowhere, or where we may not go
    return false;
  }
}
