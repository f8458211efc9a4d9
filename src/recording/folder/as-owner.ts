import * as fs from 'node:fs';
import * as os from 'node:os';
import { code, Fault, reason } from '../../base/fault.ts';
import { nodeName } from './node-folder.ts';

const ROOT = 0;

/**
 * Changes a recording with the rights of whoever owns its folder, so that nothing that lies in it leads further than its
 * owner can go. Root becomes the owner meanwhile; anybody else changes only recordings of their own, or root's. `work`
 * gets the path to use: for root it is where the recording lies now, whatever is put in its place. What `work` needs of
 * Tacho must be loaded before: the owner may not read it.
 */
export async function asOwner<T>(folder: string, work: (folder: string) => T | Promise<T>): Promise<T> {
  if (process.geteuid!() !== ROOT) {
    needOwn(folder);
    return work(folder);
  }
  const before = process.cwd();
  try {
    process.chdir(folder);
  } catch (error) {
    throw new Fault(`cannot open ${folder}: ${reason(error)}`, { cause: error });
  }
  try {
    const { uid } = stat('.', folder);
    if (uid !== ROOT) return await withRights(uid, folder, () => work('.'));
    for (const name of fs.readdirSync('.')) {
      const at = nodeName(name) === undefined ? undefined : fs.lstatSync(name, { throwIfNoEntry: false });
      if (at !== undefined && at.uid !== ROOT) throw foreign(`${folder}/${name}`, at.uid);
    }
    return await work('.');
  } finally {
    process.chdir(before);
  }
}

/** For what is never done on behalf of others: refuses a recording that is neither our own nor root's. */
export function needOwn(folder: string): void {
  const { uid } = stat(folder, folder);
  if (uid !== process.geteuid!() && uid !== ROOT) throw foreign(folder, uid);
}

function stat(folder: string, shown: string): fs.Stats {
  try {
    return fs.statSync(folder);
  } catch (error) {
    throw new Fault(`cannot open ${shown}: ${reason(error)}`, { cause: error });
  }
}

const foreign = (folder: string, uid: number): Fault =>
  new Fault(`${folder} belongs to user number ${uid}: it is for its owner to change`, {
    hint: 'what cannot be trusted is not changed: let its owner do it, or work on a copy',
  });

/** Other threads take part, and real and saved numbers stay root's: the user can neither signal nor trace us meanwhile. */
async function withRights<T>(uid: number, folder: string, work: () => T | Promise<T>): Promise<T> {
  const groups = process.getgroups!();
  try {
    const gid = groupOf(uid);
    process.setgroups!([]);
    process.setegid!(gid);
    process.seteuid!(uid);
  } catch (error) {
    restore(groups);
    throw new Fault(`cannot take on the rights of user number ${uid}, who owns ${folder}: ${reason(error)}`, {
      hint: 'let that user do it',
      cause: error,
    });
  }
  try {
    return await work();
  } finally {
    restore(groups);
  }
}

function restore(groups: number[]): void {
  process.seteuid!(ROOT);
  process.setegid!(process.getgid!());
  process.setgroups!(groups);
}

/** The user's own group, which a folder's need not be; who has no account here is alone in a group of that number. */
export function groupOf(uid: number): number {
  process.seteuid!(uid);
  try {
    return os.userInfo().gid;
  } catch (error) {
    if (code(error) !== 'ERR_SYSTEM_ERROR') throw error;
    return uid;
  } finally {
    process.seteuid!(ROOT);
  }
}
