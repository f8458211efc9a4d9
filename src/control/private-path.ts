import * as fs from 'node:fs';
import * as path from 'node:path';

const OTHERS_READ = 0o004;
const OTHERS_ENTER = 0o001;

/** What to do about a Tacho that lies in a private folder, where jobs need it. */
export const READABLE = 'install Tacho where every user can read it (/opt/tacho), and make the task prolog again there';

/** Why not every user can read a file, in words (a folder above it is private, as /root is); undefined: everybody can. */
export function whyPrivate(file: string): string | undefined {
  const mode = (each: string): number => fs.statSync(each).mode;
  const octal = (bits: number): string => (bits & 0o777).toString(8).padStart(3, '0');
  let real: string;
  try {
    real = fs.realpathSync(file);
    if ((mode(real) & OTHERS_READ) === 0) return `${real} has mode ${octal(mode(real))}`;
    for (let folder = path.dirname(real); ; folder = path.dirname(folder)) {
      if ((mode(folder) & OTHERS_ENTER) === 0) return `${folder} has mode ${octal(mode(folder))}`;
      if (folder === path.dirname(folder)) return undefined;
    }
  } catch {
    // it is not there: that is told elsewhere
    return undefined;
  }
}
