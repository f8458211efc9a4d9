import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { endingsAsked } from '../../jobs/schedulers/refresh-ended.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { findEach, openRecording } from '../../recording/folder/open.ts';
import type { Entry } from '../index/entry.ts';
import { hasIndex } from '../index/index-files.ts';
import type { JobSummary } from '../tables/summary.ts';
import { postgres } from './dialect.ts';
import type { Cell, Engine } from './engine.ts';
import { inOrder, isWanted, type JobFilter } from './filter.ts';
import { askHogs, type HogQuestion, type HogRow } from './hogs.ts';
import { askLoad, type LoadQuestion, type LoadRow } from './load.ts';
import { askFindings, type FindingFilter, type FindingValue } from './select-findings.ts';
import { askJobs } from './select-jobs.ts';
import { askUptime, type UptimeQuestion, type UptimeSpan } from './uptime.ts';
import { askUsage, type UsageAnswer, type UsageQuestion } from './usage.ts';
import { askWaste, type WasteGroup, type WasteRow } from './waste.ts';

/** A connection to PostgreSQL, as far as the history needs one. */
export interface Queryable {
  query(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
}

/** Where the history is. */
export interface HistoryPlace {
  /** An archive with an index (`tacho index`). */
  archive?: string;
  /** Recordings, or folders that hold some; one with an index answers from that, the others are summarised when they are asked about. */
  folders?: readonly string[];
  /** A database that recordings were submitted to; the caller closes it. */
  database?: Queryable;
  /** Told of a recording that cannot be summarised; the others answer all the same. Without it that is thrown. */
  leftOut?: (why: Fault) => void;
  /** The rules as the configuration has them: asked for when recordings are summarised. */
  rules?: () => Promise<RuleSettings>;
  /** Told how many of how many recordings were summarised. */
  progress?: (done: number, of: number) => void;
}

/** What can be asked about many jobs. */
export interface History {
  /** Jobs that ended in a window, oldest first unless the filter says otherwise: what advice, policies and pages ask. */
  selectJobs(filter?: JobFilter): Promise<JobSummary[]>;
  /** What findings of jobs measured. */
  selectFindings(filter: FindingFilter): Promise<FindingValue[]>;
  /** Who used how much of what, or when. */
  usage(question: UsageQuestion): Promise<UsageAnswer>;
  load(question: LoadQuestion): Promise<LoadRow[]>;
  uptime(question: UptimeQuestion): Promise<UptimeSpan[]>;
  hogs(question: HogQuestion): Promise<HogRow[]>;
  waste(by: WasteGroup, filter: JobFilter): Promise<WasteRow[]>;
  close(): Promise<void>;
}

/**
 *     const history = await openHistory({ archive: '/archive/tacho' });
 *     const jobs = await history.selectJobs({ users: ['ada'], from: parseMoment('-7d') });
 */
export async function openHistory(historyPlace: HistoryPlace): Promise<History> {
  const { archive, database, folders } = historyPlace;
  if (database !== undefined) return engineHistory(async () => databaseEngine(database));
  if (archive !== undefined) return engineHistory(() => indexEngine([indexOf(archive) ?? archive]));
  const all = folders === undefined || folders.length === 0 ? ['.'] : folders;
  const indexed = all.flatMap((folder) => indexOf(folder) ?? []);
  const others = all.filter((folder) => indexOf(folder) === undefined);
  return others.length === 0
    ? engineHistory(() => indexEngine(indexed))
    : summarisedHistory(others, indexed, historyPlace);
}

/** The archive whose index we can read: that of all users, or in the archive of a hub our own. */
export function indexOf(archive: string): string | undefined {
  if (hasIndex(archive)) return archive;
  try {
    const own = path.join(archive, `user=${encodeURIComponent(os.userInfo().username)}`);
    return hasIndex(own) ? own : undefined;
  } catch {
    return undefined;
  }
}

async function indexEngine(archives: readonly string[]): Promise<Engine> {
  const { openIndexEngine } = await import('./duckdb-engine.ts');
  return openIndexEngine(archives);
}

function databaseEngine(database: Queryable): Engine {
  return {
    dialect: postgres,
    async query(make) {
      const { rows } = await database.query(make((name) => `tacho.summary_${name}`));
      return rows as Record<string, Cell>[];
    },
    close: async () => {},
  };
}

/** Opens what answers when it is first asked. */
function engineHistory(open: () => Promise<Engine>): History {
  let opened: Promise<Engine> | undefined;
  const engine = (): Promise<Engine> => {
    opened ??= open();
    return opened;
  };
  return {
    selectJobs: async (filter = {}) => askJobs(await engine(), filter),
    selectFindings: async (filter) => askFindings(await engine(), filter),
    usage: async (question) => askUsage(await engine(), question),
    load: async (question) => askLoad(await engine(), question),
    uptime: async (question) => askUptime(await engine(), question),
    hogs: async (question) => askHogs(await engine(), question),
    waste: async (by, filter) => askWaste(await engine(), by, filter),
    close: async () => (await opened)?.close(),
  };
}

/** Of recordings without an index: their rows are made first, once. */
function summarisedHistory(
  folders: readonly string[],
  indexed: readonly string[],
  historyPlace: HistoryPlace,
): History {
  let made: Entry[] | undefined;
  let scratch: string | undefined;
  const entries = async (nodeHours: boolean): Promise<Entry[]> => {
    if (made === undefined || (nodeHours && !made.some(({ stamp }) => stamp === 'hours')))
      made = await summarised(folders, nodeHours, historyPlace);
    return made;
  };
  const asked = engineHistory(async () => {
    const { changeIndex } = await import('../index/index-writer.ts');
    scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-history-'));
    const all = await entries(true);
    await changeIndex(scratch, (index) => index.change(all));
    return indexEngine([...indexed, scratch]);
  });
  return {
    ...asked,
    async selectJobs(filter = {}) {
      if (indexed.length > 0) return asked.selectJobs(filter);
      const rows = (await entries(false)).flatMap(({ summaries }) => summaries?.jobs ?? []);
      return inOrder(
        rows.filter((row) => isWanted(row, filter)),
        filter,
      );
    },
    async close() {
      await asked.close();
      if (scratch !== undefined) fs.rmSync(scratch, { recursive: true, force: true });
    },
  };
}

async function summarised(
  folders: readonly string[],
  nodeHours: boolean,
  { leftOut, rules: configured, progress }: HistoryPlace,
): Promise<Entry[]> {
  // what judges is a third of the program: an index answers without it
  const { summariesOf } = await import('../make/summaries.ts');
  const rules = await configured?.();
  const recordingFolders = findEach(folders, (folder) => folder, leftOut);
  const withEnding = endingsAsked();
  const entries: Entry[] = [];
  for (const [i, folder] of recordingFolders.entries()) {
    const id = path.resolve(folder);
    try {
      const recording = await withEnding(openRecording(folder));
      const summaries = summariesOf(recording, { recording: id, nodeHours, ...stated({ rules }) });
      entries.push({ id, stamp: nodeHours ? 'hours' : '', summaries });
    } catch (error) {
      const why =
        error instanceof Fault ? error : new Fault(`cannot summarise ${folder}: ${reason(error)}`, { cause: error });
      if (leftOut === undefined) throw why;
      leftOut(why);
    } finally {
      progress?.(i + 1, recordingFolders.length);
    }
  }
  return entries;
}
