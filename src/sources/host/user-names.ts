import { userInfo } from 'node:os';
import type { Host } from '../host.ts';

/** Names of users by uid, from /etc/passwd; one that has no name there goes by its number, as in `ps`. */
export function userNames(host: Host): (uid: number) => string {
  const names = new Map<number, string>();
  for (const line of (host.text('/etc/passwd') ?? '').split('\n')) {
    const [name, , uid] = line.split(':');
    if (name && uid && !names.has(Number(uid))) names.set(Number(uid), name);
  }
  if (host.root === '') {
    try {
      // a user of a directory service is not in the file, but the system knows who we are
      const own = userInfo();
      if (!names.has(own.uid)) names.set(own.uid, own.username);
    } catch {
      // then not even the system has a name for us
    }
  }
  return (uid) => names.get(uid) ?? String(uid);
}
