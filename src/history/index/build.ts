import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { keepEndings } from '../../jobs/schedulers/refresh-ended.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { foldersBelow } from '../../recording/folder/open.ts';
import { fileUnrecorded, withAccounting } from './accounting-rows.ts';
import { AccountingStore } from './accounting-store.ts';
import { changeIndex, type IndexWriter } from './index-writer.ts';
import { shareWithNewUsers } from './share-accounting.ts';
import { stampOf } from './stamp.ts';
import { summariseAll } from './summarise-all.ts';
import type { UnindexedRecording } from './summarise-one.ts';

export interface BuildOptions {
  /** Everything again, whatever the index has. */
  rebuild?: boolean;
  /** Rows of recordings that are gone stay. */
  keep?: boolean;
  /** Only these recordings, and no look at the others. */
  only?: readonly string[];
  workers?: number;
  /** The rules as the configuration has them; what the index has already is not judged again. */
  rules?: RuleSettings;
  progress?: (done: number, of: number) => void;
}

/** What became of an index. */
export interface Built {
  /** Recordings in the archive, as far as they were looked at. */
  recordings: number;
  /** New ones, and those that had changed. */
  added: number;
  changed: number;
  removed: number;
  /** Recordings that could not be summarised, and why. */
  troubles: { recording: string; why: string }[];
  /** Recordings of which something could not be read; they are in the index with the rest. */
  damaged: { recording: string; why: string }[];
}

/** Brings the index of an archive up to date: new and changed recordings are summarised, rows of removed ones go. */
export async function buildIndex(archive: string, options: BuildOptions = {}): Promise<Built> {
  needFolder(archive);
  return changeIndex(archive, (index, isNew) => fill(index, archive, options, isNew), {
    fresh: options.rebuild === true,
  });
}

async function fill(
  index: IndexWriter,
  archive: string,
  { only, keep, workers, rules, progress }: BuildOptions,
  isNew: boolean,
): Promise<Built> {
  const accounting = new AccountingStore(archive);
  const unindexed = only === undefined ? foundBelow(archive) : only.map((one) => foundAt(archive, one));
  const there = new Set(unindexed.map(({ id }) => id));
  const isNews = ({ id, stamp }: UnindexedRecording): boolean => {
    const listed = index.catalogue.get(id);
    return listed === undefined || listed.stamp !== stamp || listed.open === true || only !== undefined;
  };
  const news = unindexed.filter(isNews);
  const added = news.filter(({ id }) => index.catalogue.get(id) === undefined).length;
  const gone =
    only === undefined && keep !== true ? [...index.catalogue.all()].filter(({ id }) => isGone(id, there)) : [];
  let count = 0;
  const file = (made: Parameters<IndexWriter['change']>[0]): Promise<void> => {
    if (!accounting.exists) return index.change(made);
    const { entries, replaced } = withAccounting(accounting, index, made);
    return index.change(entries, replaced);
  };
  const done = (): void => progress?.(++count, news.length);
  await index.change(
    [],
    gone.map(({ id }) => id),
  );
  const ended = await keepEndings(news.map(({ id }) => path.join(archive, id)));
  const current = news.map((one) =>
    ended.has(path.join(archive, one.id)) ? foundAt(archive, path.join(archive, one.id)) : one,
  );
  await summariseAll(archive, current, file, { done, ...stated({ workers, rules }) });
  if (accounting.exists && (isNew || gone.length > 0))
    await fileUnrecorded(accounting, index, isNew ? undefined : new Set(gone.flatMap(({ days }) => days.jobs ?? [])));
  if (accounting.exists) await shareWithNewUsers(archive, () => accounting.all());
  if (news.length > 1000) await index.compact();
  if (only === undefined) await index.joinMonths();
  const asked =
    only === undefined ? [...index.catalogue.all()] : news.flatMap(({ id }) => index.catalogue.get(id) ?? []);
  return {
    recordings: unindexed.length,
    added,
    changed: news.length - added,
    removed: gone.length,
    troubles: asked.flatMap(({ id, trouble }) => (trouble === undefined ? [] : [{ recording: id, why: trouble }])),
    damaged: asked.flatMap(({ id, damage }) => (damage === undefined ? [] : [{ recording: id, why: damage }])),
  };
}

const isGone = (id: string, there: ReadonlySet<string>): boolean => !id.startsWith('accounting:') && !there.has(id);

function foundBelow(archive: string): UnindexedRecording[] {
  const unindexed: UnindexedRecording[] = [];
  for (const { folder, names } of foldersBelow(archive, 6))
    unindexed.push({ id: path.relative(archive, folder), stamp: stampOf(folder, names) });
  return unindexed;
}

function foundAt(archive: string, recording: string): UnindexedRecording {
  const folder = path.resolve(fs.existsSync(recording) ? recording : path.join(archive, recording));
  const id = path.relative(path.resolve(archive), folder);
  if (id === '' || id.startsWith('..')) throw new Fault(`${recording} does not lie in ${archive}`, { exit: 2 });
  try {
    return { id, stamp: stampOf(folder, fs.readdirSync(folder)) };
  } catch (error) {
    throw new Fault(`cannot open ${folder}: ${reason(error)}`, { cause: error });
  }
}

function needFolder(archive: string): void {
  try {
    if (!fs.statSync(archive).isDirectory()) throw new Error('not a folder');
  } catch (error) {
    throw new Fault(`cannot open ${archive}: ${reason(error)}`, { cause: error });
  }
}
