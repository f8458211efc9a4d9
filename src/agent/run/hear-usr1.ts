import { ours } from '../../base/ours.ts';

const SIG_UNBLOCK = 1;
/** sigset_t is 128 bytes, a bit for each signal from 1 on. */
const SET_BYTES = 128;
const USR1_BIT = 1n << 9n;

/** Lets SIGUSR1 through to our listeners: Node, started with --disable-sigusr1, keeps it blocked. None that came is lost. */
export async function hearUsr1(): Promise<void> {
  try {
    process.dlopen({ exports: {} }, ours('native/build/usr1.node'));
  } catch {
    // no C compiler was there: koffi can do it too, and is slower to load
    const { default: koffi } = await import('koffi');
    const sigmask = koffi.load('libc.so.6').func('int pthread_sigmask(int how, void *set, void *before)');
    const set = Buffer.alloc(SET_BYTES);
    set.writeBigUInt64LE(USR1_BIT);
    sigmask(SIG_UNBLOCK, set, null);
  }
}
