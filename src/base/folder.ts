import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from './fault.ts';

/** What lies in a folder; nothing where it is not there or may not be looked into. */
export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Makes a folder and those above it that are missing, and returns those, the innermost first; throws the system's error.
 * Node's own `recursive` never returns where the kernel answers "no such file" to every attempt, as below /proc.
 */
export function makeFolder(folder: string, mode = 0o777): string[] {
  try {
    fs.mkdirSync(folder, { mode });
    return [folder];
  } catch (error) {
    const parent = path.dirname(path.resolve(folder));
    if (code(error) === 'EEXIST' && fs.statSync(folder).isDirectory()) return [];
    if (code(error) !== 'ENOENT' || fs.existsSync(parent)) throw error;
    const above = makeFolder(parent, mode);
    return [...makeFolder(folder, mode), ...above];
  }
}

/** Whether we may make files in it. */
export function isWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
