import * as fs from 'node:fs';
import * as path from 'node:path';
import { nodeName } from '../../recording/folder/node-folder.ts';
import { ACCOUNTING_FOLDER, type Accounted } from './accounting-store.ts';
import { toOwner } from './summarise-all.ts';

const ROOT = 0;

/** The folder of a user in the archive of a hub. */
interface UserFolder {
  folder: string;
  user: string;
  owner: number;
}

/** Folders of users who have an index of their own: where root files what belongs to others. */
function userFolders(archive: string): UserFolder[] {
  if (process.geteuid!() !== ROOT) return [];
  return fs.readdirSync(archive).flatMap((folder): UserFolder[] => {
    const user = folder.startsWith('user=') ? nodeName(`node=${folder.slice('user='.length)}`) : undefined;
    if (user === undefined) return [];
    const stat = fs.lstatSync(path.join(archive, folder), { throwIfNoEntry: false });
    return stat?.isDirectory() && stat.uid !== ROOT ? [{ folder, user, owner: stat.uid }] : [];
  });
}

/** Brings what accounting knows of the jobs of each user into the index of that user, with that user's rights. */
export async function shareAccounting(archive: string, runs: readonly Accounted[]): Promise<void> {
  const folders = userFolders(archive);
  if (folders.length === 0) return;
  const byUser = Map.groupBy(runs, ({ summaries }) => summaries.jobs[0]!.user);
  for (const { folder, user, owner } of folders) {
    const own = byUser.get(user);
    if (own !== undefined) await toOwner(archive, { owner, folder }, own);
  }
}

/** The same for users who came after the last import: all that is known of their jobs. */
export async function shareWithNewUsers(archive: string, all: () => Iterable<Accounted>): Promise<void> {
  const lacking = userFolders(archive).filter(
    ({ folder }) =>
      fs.lstatSync(path.join(archive, folder, ACCOUNTING_FOLDER), { throwIfNoEntry: false }) === undefined,
  );
  if (lacking.length === 0) return;
  const users = new Set(lacking.map(({ user }) => user));
  const runs = [...all()].filter(({ summaries }) => users.has(summaries.jobs[0]!.user));
  const byUser = Map.groupBy(runs, ({ summaries }) => summaries.jobs[0]!.user);
  for (const { folder, user, owner } of lacking) await toOwner(archive, { owner, folder }, byUser.get(user) ?? []);
}
