import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';

/**
 * Removes a folder that somebody else has filled, or a file, in a folder of ours. Folders become ours before we go in:
 * then nobody puts a link into our way. Those that are nested are moved up first, so that no path is too long for the
 * system. The work is done by others' threads: however much is in it, the caller goes on meanwhile.
 */
export async function removeForeign(foreignFolder: string): Promise<void> {
  try {
    if (!(await fs.promises.lstat(foreignFolder)).isDirectory()) {
      await fs.promises.unlink(foreignFolder);
      return;
    }
    await takeOver(foreignFolder);
    const mark = randomBytes(4).toString('hex');
    let moved = 0;
    for (;;) {
      let hasForeign = false;
      for await (const entry of await fs.promises.opendir(foreignFolder)) {
        hasForeign = true;
        const child = path.join(foreignFolder, entry.name);
        if (!entry.isDirectory()) await fs.promises.unlink(child);
        else moved = await flatten(foreignFolder, child, mark, moved);
      }
      // what was moved up may have come too late to be seen
      if (!hasForeign) break;
    }
    await fs.promises.rmdir(foreignFolder);
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error;
  }
}

/** Removes a folder, and moves those that are in it up into `place`. Returns how many were moved so far. */
async function flatten(foreignFolder: string, folder: string, mark: string, moved: number): Promise<number> {
  await takeOver(folder);
  for await (const entry of await fs.promises.opendir(folder)) {
    const child = path.join(folder, entry.name);
    if (!entry.isDirectory()) await fs.promises.unlink(child);
    else {
      await takeOver(child);
      await fs.promises.rename(child, path.join(foreignFolder, `.${mark}-${++moved}`));
    }
  }
  await fs.promises.rmdir(folder);
  return moved;
}

async function takeOver(folder: string): Promise<void> {
  if (process.getuid!() === 0) await fs.promises.lchown(folder, 0, 0);
  await fs.promises.chmod(folder, 0o700);
}
