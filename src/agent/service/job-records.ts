import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { noteReader, planRecords, readsFor, removeAbandoned } from '../../control/preload.ts';
import type { Records } from '../../sources/scope.ts';
import type { UserFolders } from './user-folders.ts';

export type JobRecords = ReturnType<typeof jobRecords>;

const PLACE = /^\/(?:dev\/shm|tmp)\/tacho-[\w.+-]+\/events(?:-[\w-]+)?$/;

/**
 * Where processes of jobs record themselves, on a node whose agent is a service. The file lies in memory, in a folder of
 * ours, and belongs to the job's user, who can write to it and not replace it. Everybody can list the folder, and ask who owns
 * a file in it: the file has a name that nobody can guess. A pointer in a folder beside the job files says where it is; its
 * user has a copy (packaging/slurm/task-prolog.sh). A prolog that sees this agent running makes all, so that no task has to
 * wait for the agent.
 */
export function jobRecords(pointers: string, users: UserFolders) {
  makeFolder(pointers, 0o700);
  fs.chmodSync(pointers, 0o700);
  const agent = path.join(pointers, '.agent');
  fs.writeFileSync(agent, `${process.pid}\n`, { mode: 0o600 });
  const since = fs.statSync(agent).mtimeMs;
  const pointer = (name: string): string => path.join(pointers, name);
  const jobOfProcess = (name: string): string | undefined => {
    try {
      const file = fs.readFileSync(pointer(name), 'utf8').trim();
      return PLACE.test(file) ? file : undefined;
    } catch {
      return undefined;
    }
  };
  const show = (name: string, uid: number, file: string): Records => {
    users.show(uid, `${name}.records`, (copy) => {
      fs.writeFileSync(copy, `${file}\n`);
      fs.chmodSync(copy, 0o644);
    });
    return { file, events: [], owner: uid };
  };
  const forget = (name: string): void => {
    users.hide(`${name}.records`);
    fs.rmSync(pointer(name), { force: true });
  };
  return {
    /** The job has ended: its tasks find nothing any more. */
    forget,
    /** The place of a job: the one that it has, or a new one. Throws when it cannot be made. */
    recordsFor(name: string, job: { id: string; uid: number }, recording: string): Records {
      const before = jobOfProcess(name);
      if (before !== undefined && isFor(before, job.uid, recording)) {
        noteReader(path.dirname(before), recording);
        return show(name, job.uid, before);
      }
      const file = `${planRecords({}).file}-${randomBytes(8).toString('hex')}`;
      fs.mkdirSync(path.dirname(file), { mode: 0o711 });
      fs.chmodSync(path.dirname(file), 0o711);
      noteReader(path.dirname(file), recording);
      makeOwned(file, job.uid);
      const temporary = `${pointer(name)}.new`;
      fs.writeFileSync(temporary, `${file}\n`);
      fs.renameSync(temporary, pointer(name));
      return show(name, job.uid, file);
    },
    /** The place that an agent before this one has left; undefined: there is none. */
    left(name: string, { uid }: { uid: number }, recording: string): Records | undefined {
      const file = jobOfProcess(name);
      return file !== undefined && isFor(file, uid, recording) ? { file, events: [], owner: uid } : undefined;
    },
    /** Removes what an agent left that was killed, but for these jobs. */
    tidy(names: Iterable<string>): void {
      const kept = new Set(names);
      for (const name of fs.readdirSync(pointers)) {
        // what came after this agent is of jobs that it records, or is about to
        const at = fs.lstatSync(pointer(name), { throwIfNoEntry: false });
        if (kept.has(name) || name === '.agent' || at === undefined || at.mtimeMs >= since) continue;
        const file = jobOfProcess(name);
        if (file !== undefined) fs.rmSync(path.dirname(file), { recursive: true, force: true });
        forget(name);
      }
      for (const sharedFolder of ['/dev/shm', '/tmp']) if (fs.existsSync(sharedFolder)) removeAbandoned(sharedFolder);
    },
    /** The agent ends: prologs make no places any more. */
    close: (): void => fs.rmSync(agent, { force: true }),
  };
}

/** Whether a place is this recording's already, or was made by the prolog of this very job and has no reader yet. */
function isFor(file: string, uid: number, recording: string): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.uid !== uid) return false;
  const reads = readsFor(path.dirname(file));
  return reads === undefined || reads === path.resolve(recording);
}

function makeOwned(file: string, uid: number): void {
  const fd = fs.openSync(file, 'wx', 0o600);
  try {
    if (uid !== process.getuid!()) fs.fchownSync(fd, uid, -1);
  } catch (error) {
    throw new Error(`cannot be given to its user: ${reason(error)}`);
  } finally {
    fs.closeSync(fd);
  }
}
