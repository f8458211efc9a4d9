import * as os from 'node:os';

export interface Confinement {
  /** The process that started this one. */
  parent: number;
  /** Entered with our own rights: it may lie where the owner cannot go. */
  folder: string;
  /** More it may not take for data. */
  dataBytes: number;
  /** With whose rights it goes on; undefined: with ours. */
  owner: { uid: number; gid: number } | undefined;
}

const PR_SET_PDEATHSIG = 1;
const RLIMIT_DATA = 2;

/** A process that reads other people's files gives up, for good, what it does not need for that. False: its parent has gone. */
export async function confine({ parent, folder, dataBytes, owner }: Confinement): Promise<boolean> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load('libc.so.6');
  const prctl = libc.func('int prctl(int what, unsigned long how)');
  const setrlimit = libc.func('int setrlimit(int what, const uint64_t *limits)');
  const most = BigInt(dataBytes);
  // without it, what is not on JavaScript's heap would have no limit
  if (setrlimit(RLIMIT_DATA, new BigUint64Array([most, most])) !== 0) throw new Error('memory cannot be limited');
  // samples that arrive come first
  os.setPriority(10);
  process.chdir(folder);
  if (owner !== undefined) {
    process.setgroups!([]);
    process.setgid!(owner.gid);
    process.setuid!(owner.uid);
  }
  // other rights would take it back; whoever comes after a dead parent may write to what this one was at
  prctl(PR_SET_PDEATHSIG, os.constants.signals.SIGKILL);
  return process.ppid === parent;
}
