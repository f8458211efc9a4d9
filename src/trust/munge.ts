import type { Fault } from '../base/fault.ts';
import { Refused } from './identity.ts';

/** MUNGE as Slurm sites have it: its daemon vouches for who made a credential, on which host, and that it is used once. */
export interface Munge {
  /** A credential of whoever runs this program, that carries the text. */
  encode(text: string): Promise<string>;
  /** Who made it, where, and what it carries. Throws `Refused`. */
  decode(credential: string): Promise<Decoded>;
}

export interface Decoded {
  uid: number;
  gid: number;
  /** The IPv4 address of the host on which it was made, as that host's daemon knows it. */
  host: string;
  text: string;
}

const LIBRARIES = ['libmunge.so.2', 'libmunge.so'];
/** From munge.h. */
const OPTION_ADDRESS = 5;
const OPTION_SOCKET = 8;
const LONGEST = 64 << 10;

/** Opens the system's MUNGE library. `socket`: that of a daemon other than the system's own. */
export async function openMunge(unusable: (why: string) => Fault, socket?: string): Promise<Munge> {
  const { default: koffi } = await import('koffi');
  const library = LIBRARIES.map((name) => {
    try {
      return koffi.load(name);
    } catch {
      return undefined;
    }
  }).find((candidate) => candidate !== undefined);
  if (library === undefined) throw unusable('its library libmunge.so.2 is not on this machine');
  const free = koffi.load('libc.so.6').func('void free(void *)');
  const create = library.func('void *munge_ctx_create(void)');
  const destroy = library.func('void munge_ctx_destroy(void *)');
  const set = library.func('int munge_ctx_set(void *, int, ...)');
  const get = library.func('int munge_ctx_get(void *, int, ...)');
  const encode = library.func('int munge_encode(_Out_ void **, void *, const char *, int)');
  const decode = library.func(
    'int munge_decode(const char *, void *, _Out_ void **, _Out_ int *, _Out_ uint32_t *, _Out_ uint32_t *)',
  );
  const statusText = library.func('str munge_strerror(int)') as (status: number) => string;

  const withContext = async <T>(work: (context: unknown) => Promise<T>): Promise<T> => {
    const context = create();
    try {
      if (socket !== undefined) set(context, OPTION_SOCKET, 'str', socket);
      return await work(context);
    } finally {
      destroy(context);
    }
  };
  // the daemon is asked on another thread: it may be slow, or hang
  const aside = (call: unknown, ...args: unknown[]): Promise<number> =>
    new Promise((resolve, reject) => {
      (call as { async(...all: unknown[]): void }).async(...args, (error: unknown, status: number) =>
        error ? reject(error) : resolve(status),
      );
    });

  return {
    encode: (text) =>
      withContext(async (context) => {
        const made = [null];
        const status = await aside(encode, made, context, text, Buffer.byteLength(text));
        if (status !== 0) throw unusable(statusText(status));
        const credential = koffi.decode(made[0]!, 'char', -1) as string;
        free(made[0]);
        return credential;
      }),
    decode: (credential) =>
      withContext(async (context) => {
        const [bytes, length, uid, gid] = [[null], [0], [0], [0]];
        const status = await aside(decode, credential, context, bytes, length, uid, gid);
        try {
          if (status !== 0) throw new Refused(`MUNGE does not vouch for it: ${statusText(status)}`);
          const address = Buffer.alloc(4);
          get(context, OPTION_ADDRESS, 'void *', address);
          const count = Math.min(length[0]!, LONGEST);
          const text = count > 0 ? Buffer.from(koffi.view(bytes[0]!, count)).toString('utf8') : '';
          return { uid: uid[0]!, gid: gid[0]!, host: [...address].join('.'), text };
        } finally {
          if (bytes[0] !== null) free(bytes[0]);
        }
      }),
  };
}
