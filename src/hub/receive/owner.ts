import { Fault, reason } from '../../base/fault.ts';
import { Unusable } from './names.ts';

/** Whose files something is. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Does things to files with the rights of their owner, so that no link in a user's folder leads further than the user can go. */
export interface Owners {
  /** Not root: everything belongs to whoever runs the hub. */
  readonly separate: boolean;
  /** Does `work` (synchronous calls only: other threads keep the hub's own rights). */
  as<T>(owner: Owner | undefined, work: () => T): T;
  /** The owner of a user's files, from the name and number that an agent stated; throws `Unusable` when they do not fit. */
  find(user: string, uid: number): Owner | undefined;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

const KEEP_MS = 600_000;
const NOBODY = 65_534;
const NOBODY_CHANGES = 0xffffffff;
const NO_NUMBER = -1;

/** Everything belongs to the user who runs the hub. */
export const ONE_OWNER: Owners = {
  separate: false,
  as: (_owner, work) => work(),
  find: () => undefined,
};

/** For a hub that runs as root. */
export async function separateOwners(): Promise<Owners> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load('libc.so.6');
  const setfsuid = libc.func('int setfsuid(unsigned int uid)') as (uid: number) => number;
  const setfsgid = libc.func('int setfsgid(unsigned int gid)') as (gid: number) => number;
  const passwd = koffi.struct({
    name: 'str',
    password: 'str',
    uid: 'unsigned int',
    gid: 'unsigned int',
    words: 'str',
    home: 'str',
    shell: 'str',
  });
  const getpwnam = libc.func('getpwnam', koffi.pointer(passwd), ['str']) as (name: string) => unknown;
  const getpwuid = libc.func('getpwuid', koffi.pointer(passwd), ['unsigned int']) as (uid: number) => unknown;
  const account = (pointer: unknown): Account | undefined =>
    pointer === null ? undefined : (koffi.decode(pointer as never, passwd) as Account);
  // the hub's own groups are nobody else's
  process.setgroups!([]);
  let current: Owner | undefined;
  const become = (owner: Owner | undefined): void => {
    const { uid, gid } = owner ?? { uid: 0, gid: 0 };
    // back to root first: a user may not take on another's group
    if (owner !== undefined && current !== undefined) setfsuid(0);
    setfsgid(gid);
    setfsuid(uid);
    current = owner;
    if (setfsuid(NOBODY_CHANGES) >>> 0 !== uid || setfsgid(NOBODY_CHANGES) >>> 0 !== gid) {
      throw new Error(`cannot take on the rights of user ${uid}, group ${gid}`);
    }
  };
  try {
    become({ uid: NOBODY, gid: NOBODY });
  } catch (error) {
    throw new Fault(`root may not act for users here: ${reason(error)}`, {
      hint: 'the hub needs CAP_SETUID and CAP_SETGID; or run it as an ordinary user, who then owns all recordings',
    });
  } finally {
    become(undefined);
  }
  const ownersByKey = new Map<string, { until: number; owner: Owner }>();
  return {
    separate: true,
    as(owner, work) {
      const before = current;
      if (owner === before || (owner?.uid === before?.uid && owner?.gid === before?.gid)) return work();
      try {
        become(owner);
        return work();
      } finally {
        become(before);
      }
    },
    find(user, uid) {
      const key = `${uid} ${user}`;
      const cachedOwner = ownersByKey.get(key);
      if (cachedOwner !== undefined && cachedOwner.until > performance.now()) return cachedOwner.owner;
      const owner = fitting(user, uid, account(getpwnam(user)), () => account(getpwuid(uid)));
      if (ownersByKey.size > 10_000) ownersByKey.clear();
      ownersByKey.set(key, { until: performance.now() + KEEP_MS, owner });
      return owner;
    },
  };
}

/** A name that the system knows has the number that the system says, also if the agent has none; a name that it does not know keeps the agent's. */
export function fitting(
  user: string,
  uid: number,
  named: Account | undefined,
  numbered: () => Account | undefined,
): Owner {
  // the node does not know the user's number, and we do
  if (uid === NO_NUMBER && named !== undefined) return { uid: named.uid, gid: named.gid };
  if (!Number.isSafeInteger(uid) || uid < 0 || uid >= NOBODY_CHANGES) throw new Unusable(`user ${user} has no number`);
  if (named !== undefined) {
    if (named.uid !== uid) throw new Unusable(`user ${user} is number ${named.uid} here, not ${uid}`);
    return { uid, gid: named.gid };
  }
  if (numbered() !== undefined) throw new Unusable(`number ${uid} is not user ${user} here`);
  return { uid, gid: uid };
}
