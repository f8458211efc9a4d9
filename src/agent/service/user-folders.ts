import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { USER_JOBS } from '../../jobs/on-node/user-jobs.ts';

/**
 * What a user's jobs find by their ids, users/UID/jobs/NAME. The outer folder belongs to the user, and nobody else gets
 * through it: who asks for one id after the other learns nothing. The inner one is ours, so that only we make names there.
 * What lies there is for users: whatever they do to it, an agent never goes by it.
 */
export interface UserFolders {
  /** `make` makes it, by the name that it is given. Throws when it cannot be made, or the user has moved the folder away. */
  show(uid: number, name: string, make: (file: string) => void): void;
  hide(name: string): void;
}

export function userFolders(users: string): UserFolders {
  /** Works in the folder that was looked at, whatever has its name by now. */
  function within(user: string, work: (folder: string) => void): void {
    const folder = path.join(users, user, USER_JOBS);
    const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW);
    try {
      if (fs.fstatSync(fd).uid !== process.getuid!()) throw new Error(`${folder} is not ours any more`);
      work(`/proc/self/fd/${fd}`);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** It is there as a whole or not at all: prologs make it, too. */
  function make(uid: number): void {
    const folder = path.join(users, String(uid));
    if (fs.existsSync(folder)) return;
    makeFolder(users, 0o711);
    fs.chmodSync(users, 0o711);
    const temporary = `${folder}.${randomBytes(4).toString('hex')}`;
    fs.mkdirSync(temporary, { mode: 0o700 });
    fs.mkdirSync(path.join(temporary, USER_JOBS));
    fs.chmodSync(path.join(temporary, USER_JOBS), 0o755);
    if (uid !== process.getuid!()) fs.lchownSync(temporary, uid, -1);
    try {
      fs.renameSync(temporary, folder);
    } catch (error) {
      if (code(error) !== 'ENOTEMPTY' && code(error) !== 'EEXIST') throw error;
      fs.rmSync(temporary, { recursive: true });
    }
  }

  return {
    show(uid, name, makeFile) {
      make(uid);
      within(String(uid), (folder) => {
        const temporary = path.join(folder, `.${name}`);
        fs.rmSync(temporary, { force: true });
        makeFile(temporary);
        fs.renameSync(temporary, path.join(folder, name));
      });
    },
    hide(name) {
      for (const user of fs.existsSync(users) ? fs.readdirSync(users) : []) {
        try {
          within(user, (folder) => fs.rmSync(path.join(folder, name), { force: true }));
        } catch {
          // its user has moved it away, and finds nothing any more either
        }
      }
    },
  };
}
