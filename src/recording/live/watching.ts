import * as fs from 'node:fs';

const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

export type Flock = (fd: number, how: number) => number;

let flock: Promise<Flock> | undefined;

export function loadFlock(): Promise<Flock> {
  flock ??= import('koffi').then(
    ({ default: koffi }) => koffi.load('libc.so.6').func('int flock(int fd, int operation)') as Flock,
  );
  return flock;
}

/**
 * Somebody looks at this recording while it is being written: whoever writes it need not be asked, nor allow it. The lock
 * says so, on a folder that its reader may open, and it is gone with its owner. Returns what ends it.
 */
export function watchRecording(folder: string): () => void {
  let fd: number | undefined;
  let ended = false;
  void loadFlock()
    .then((call) => {
      if (ended) return;
      fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
      call(fd, LOCK_SH | LOCK_NB);
    })
    // then samples come as often as the hub likes
    .catch(() => {});
  return () => {
    ended = true;
    if (fd !== undefined) fs.closeSync(fd);
    fd = undefined;
  };
}

/** Whether somebody does. The folder is the caller's to choose: no link that others could have put there. */
export function isWatched(folder: string, call: Flock): boolean {
  let fd: number;
  try {
    fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  } catch {
    return false;
  }
  try {
    return call(fd, LOCK_EX | LOCK_NB) !== 0;
  } finally {
    fs.closeSync(fd);
  }
}
