import * as fs from 'node:fs';
import * as path from 'node:path';

const [OTHERS_WRITE, STICKY] = [0o022, 0o1000];

/**
 * A file that the environment names, as it may be used: root has the environment of a user where sudo keeps it, and takes
 * only what nobody else can change or replace. Throws, in words, where that is not so.
 */
export function forRoot(file: string, uid = process.getuid!()): string {
  if (uid !== 0) return file;
  const real = fs.realpathSync(file);
  for (let each = real; ; each = path.dirname(each)) {
    const stat = fs.statSync(each);
    const isShared = (stat.mode & OTHERS_WRITE) !== 0 && !(stat.isDirectory() && (stat.mode & STICKY) !== 0);
    if (stat.uid !== 0 || isShared) throw new Error(`${each} is not root's alone`);
    if (each === '/') return real;
  }
}
