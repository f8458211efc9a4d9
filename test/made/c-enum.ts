import * as fs from 'node:fs';
import * as path from 'node:path';

/** The names in an enum of the C module, as they stand there, in small letters. */
export function enumNames(file: string, name: string): string[] {
  const source = fs.readFileSync(path.join(import.meta.dirname, `../../native/node-sampling.${file}.c`), 'utf8');
  return new RegExp(`enum ${name} \\{([^}]*)\\}`)
    .exec(source)![1]!
    .trim()
    .split(/,\s*/)
    .map((word) => word.toLowerCase());
}

/** As TypeScript writes a name of C. */
export const inCamels = (word: string): string => word.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
