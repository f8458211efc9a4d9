import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Every file and folder below a folder with what would tell that somebody wrote there: rights, time of change, contents. */
export function fileFace(folder: string): string[] {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return ['.', ...names].map((name) => {
    const file = path.join(folder, name);
    const { mode, mtimeNs } = fs.lstatSync(file, { bigint: true });
    const isFile = fs.lstatSync(file).isFile();
    const sum = isFile ? createHash('sha256').update(fs.readFileSync(file)).digest('hex') : '';
    return `${file} ${mode.toString(8)} ${mtimeNs} ${sum}`;
  });
}
