import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { stated } from '../../base/stated.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { SUMMARY_TABLES, type SummaryTableName } from '../tables/summary.ts';
import { Catalogue, type Gone } from './catalogue.ts';
import { dayOfRow, type Entry, entryOf, type Listed } from './entry.ts';
import { dayFolder, daysOf, indexFolder, JOURNAL, partsIn } from './index-files.ts';
import { indexVersion, TABLES_MARK, type Version } from './index-version.ts';
import { withLock } from './lock.ts';
import { joinMonths, MONTHS } from './months.ts';
import { readRows, type SummaryRow, writeRows } from './row-file.ts';

/** A day has at most so many files of a table: then the smallest of them become one. */
const MOST_PARTS = 32;

/** A change of the index, written down before it is made: who finds it left behind makes it again. */
interface Journal {
  /** Files under a temporary name, and what they are to be called. */
  add: [temporary: string, name: string][];
  remove: string[];
  lines: (Listed | Gone)[];
}

/** One index that is being changed. */
export class IndexWriter {
  readonly folder: string;
  readonly catalogue: Catalogue;

  constructor(archive: string) {
    this.folder = indexFolder(archive);
    this.catalogue = new Catalogue(this.folder);
  }

  /** Puts entries in the place of what the index has of them; `gone` leave it. */
  async change(entries: readonly Entry[], gone: readonly string[] = []): Promise<void> {
    if (entries.length + gone.length === 0) return;
    const rows = new Map<SummaryTableName, Map<string, SummaryRow[]>>();
    const lines: (Listed | Gone)[] = gone.map((id) => ({ id, gone: true }));
    const old = new Map<SummaryTableName, Map<string, Set<string>>>();
    const forget = (id: string): void => {
      for (const [table, days] of Object.entries(this.catalogue.get(id)?.days ?? {}) as [SummaryTableName, string[]][])
        for (const day of days) inMap(inMap(old, table, newMap<Set<string>>), day, newSet).add(id);
    };
    for (const id of gone) forget(id);
    for (const { id, stamp, summaries, trouble, damage } of entries) {
      forget(id);
      const days: Listed['days'] = {};
      for (const table of TABLE_NAMES)
        for (const row of (summaries?.[table] ?? []) as SummaryRow[]) {
          const day = dayOfRow(table, row, summaries!);
          inMap(inMap(rows, table, newMap<SummaryRow[]>), day, newList<SummaryRow>).push(row);
          if (!days[table]?.includes(day)) days[table] = [...(days[table] ?? []), day];
        }
      const isOpen = summaries?.jobs.some(({ state }) => state === 'running' || state === 'unknown') === true;
      lines.push({ id, stamp, days, ...stated({ trouble, damage }), ...(isOpen ? { open: true } : {}) });
    }
    const journal: Journal = { add: [], remove: [], lines };
    try {
      for (const table of TABLE_NAMES) {
        const days = new Set([...(rows.get(table)?.keys() ?? []), ...(old.get(table)?.keys() ?? [])]);
        for (const day of days)
          this.prepareDay(journal, table, day, rows.get(table)?.get(day) ?? [], old.get(table)?.get(day));
      }
      await synced(journal.add.map(([temporary]) => path.join(this.folder, temporary)));
      this.commit(journal);
    } catch (error) {
      for (const [temporary] of journal.add) fs.rmSync(path.join(this.folder, temporary), { force: true });
      if (error instanceof Fault) throw error;
      throw new Fault(`cannot write the index ${this.folder}: ${reason(error)}`, { cause: error });
    }
  }

  /** What a day is to have: without what is replaced, and in few files. */
  private prepareDay(
    journal: Journal,
    table: SummaryTableName,
    day: string,
    added: readonly SummaryRow[],
    replaced: ReadonlySet<string> | undefined,
  ): void {
    const where = dayFolder(table, day);
    const partNames = partsIn(path.join(this.folder, where)).sort((a, b) => a.rows - b.rows);
    const rows = [...added];
    const left: typeof partNames = [];
    for (const partName of partNames) {
      const own = replaced === undefined ? undefined : this.read(table, where, partName.name);
      const kept = own?.filter((row) => !replaced!.has(entryOf(row)));
      if (kept === undefined || kept.length === own!.length) left.push(partName);
      else {
        rows.push(...kept);
        journal.remove.push(`${where}/${partName.name}`);
      }
    }
    if (left.length >= MOST_PARTS)
      for (const partName of left.slice(0, MOST_PARTS)) {
        rows.push(...this.read(table, where, partName.name));
        journal.remove.push(`${where}/${partName.name}`);
      }
    if (rows.length === 0) return;
    const name = `${where}/part-${rows.length}-${randomBytes(6).toString('hex')}.parquet`;
    makeFolder(path.join(this.folder, where), 0o700);
    journal.add.push([`${name}.tmp`, name]);
    writeRows(path.join(this.folder, `${name}.tmp`), SUMMARY_TABLES[table], rows);
  }

  private read(table: SummaryTableName, where: string, name: string): SummaryRow[] {
    const file = path.join(this.folder, where, name);
    try {
      return readRows(file, SUMMARY_TABLES[table]);
    } catch (error) {
      throw new Fault(`cannot read ${file}: ${reason(error)}`, {
        hint: 'tacho index ARCHIVE --rebuild makes the index again from the recordings',
        cause: error,
      });
    }
  }

  private commit(journal: Journal): void {
    const file = path.join(this.folder, JOURNAL);
    replaceJson(file, journal);
    this.redo(journal);
    fs.rmSync(file, { force: true });
  }

  private redo({ add, remove, lines }: Journal): void {
    for (const [temporary, name] of add) {
      try {
        fs.renameSync(path.join(this.folder, temporary), path.join(this.folder, name));
      } catch (error) {
        // it was done before whoever began was killed
        if (code(error) !== 'ENOENT' || !fs.existsSync(path.join(this.folder, name))) throw error;
      }
    }
    for (const name of remove) fs.rmSync(path.join(this.folder, name), { force: true });
    this.catalogue.append(lines);
    this.catalogue.set(lines);
    this.countChange();
  }

  /** Who asks meanwhile asks again. */
  private countChange(): void {
    const { changes = 0 } = indexVersion(this.folder) ?? {};
    replaceJson(path.join(this.folder, 'version'), { tables: TABLES_MARK, changes: changes + 1 } satisfies Version);
  }

  /** Months that are over get a copy in one file each. */
  async joinMonths(): Promise<void> {
    if (await joinMonths(this.folder)) this.countChange();
  }

  /** Makes a change again that somebody who was killed had begun. */
  recover(): void {
    const file = path.join(this.folder, JOURNAL);
    let journal: Journal;
    try {
      journal = JSON.parse(fs.readFileSync(file, 'utf8')) as Journal;
    } catch (error) {
      if (code(error) === 'ENOENT') return;
      // it is written under another name first: one that is no JSON is not ours
      fs.rmSync(file, { force: true });
      return;
    }
    this.redo(journal);
    fs.rmSync(file, { force: true });
  }

  /** Makes the files of every day one, and the catalogue short. */
  async compact(): Promise<void> {
    for (const table of TABLE_NAMES)
      for (const day of daysOf(this.folder, table)) {
        const where = dayFolder(table, day);
        const partNames = partsIn(path.join(this.folder, where));
        if (partNames.length < 2) continue;
        const journal: Journal = { add: [], remove: partNames.map(({ name }) => `${where}/${name}`), lines: [] };
        const rows = partNames.flatMap(({ name }) => this.read(table, where, name));
        const name = `${where}/part-${rows.length}-${randomBytes(6).toString('hex')}.parquet`;
        writeRows(path.join(this.folder, `${name}.tmp`), SUMMARY_TABLES[table], rows);
        journal.add.push([`${name}.tmp`, name]);
        await synced([path.join(this.folder, `${name}.tmp`)]);
        this.commit(journal);
      }
    this.catalogue.compact();
  }
}

/** Number of files synced to the disk at once. */
const AT_ONCE = 64;

/** Brings files to the disk together: one after the other, each would wait for the disk. */
async function synced(files: readonly string[]): Promise<void> {
  for (let i = 0; i < files.length; i += AT_ONCE)
    await Promise.all(
      files.slice(i, i + AT_ONCE).map(async (file) => {
        const opened = await fs.promises.open(file, 'r+');
        await opened.datasync().finally(() => opened.close());
      }),
    );
}

export const TABLE_NAMES = Object.keys(SUMMARY_TABLES) as SummaryTableName[];

const newMap = <V>(): Map<string, V> => new Map();
const newSet = (): Set<string> => new Set();
const newList = <T>(): T[] => [];

function inMap<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let entry = map.get(key);
  if (entry === undefined) {
    entry = make();
    map.set(key, entry);
  }
  return entry;
}

/**
 * Changes the index of an archive, alone. `fresh`: what is there goes first. An index of another version of the tables is
 * made anew by whoever fills it: `work` learns of it.
 */
export async function changeIndex<T>(
  archive: string,
  work: (index: IndexWriter, isNew: boolean) => Promise<T>,
  { fresh = false }: { fresh?: boolean } = {},
): Promise<T> {
  const folder = indexFolder(archive);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (code(error) !== 'EEXIST')
      throw new Fault(`cannot make ${folder}: ${reason(error)}`, {
        hint: 'the index lies in the archive: whoever owns that can make it',
        cause: error,
      });
  }
  return withLock(path.join(folder, 'lock'), async () => {
    const isOther = indexVersion(folder)?.tables !== TABLES_MARK;
    if (fresh || isOther) empty(folder);
    const index = new IndexWriter(archive);
    index.recover();
    const isNew = indexVersion(folder) === undefined;
    if (isNew) replaceJson(path.join(folder, 'version'), { tables: TABLES_MARK, changes: 0 } satisfies Version);
    return work(index, isNew);
  });
}

/** All that is in it but the lock: the version last, so that a half-empty index is taken for none. */
function empty(folder: string): void {
  for (const name of ['version', JOURNAL, ...TABLE_NAMES, MONTHS, 'recordings'])
    fs.rmSync(path.join(folder, name), { recursive: true, force: true });
}
