import * as fs from 'node:fs';
import * as path from 'node:path';
import { smallest } from '../../base/extremes.ts';
import { code, Fault, reason } from '../../base/fault.ts';
import { isForeignLink } from '../../base/plain-file.ts';
import { stated } from '../../base/stated.ts';
import type { Batch } from '../read/batch.ts';
import type { TableStatistics } from '../sealed/statistics.ts';
import { readAgentJson } from './agent-file.ts';
import { AGENT_NEEDS, type AgentRecord } from './agent-record.ts';
import { type FileNames, fileNames } from './file-names.ts';
import { damagedOf, statisticsOf, type TableFiles, tableFiles } from './files.ts';
import { FORMAT, JOB_NEEDS, type Job } from './job.ts';
import { nodeName } from './node-folder.ts';
import { MOST_BYTES, readJson } from './record-file.ts';
import { invalidValueText, shaped } from './shape.ts';
import { readTables, TABLES_FILE } from './tables-file.ts';

export interface NodeRecording {
  name: string;
  /** The node's folder, as a path. */
  folder: string;
  /** Missing when the agent's record was lost: tables are then known from their files. */
  agent?: AgentRecord;
  /** What is known of its tables all the same, if it was sealed before. */
  described?: AgentRecord['tables'];
  /** What there is of each table, by name. */
  tables: Map<string, TableFiles>;
  /** What is in its folder. */
  names?: readonly string[];
  /** Rows that nobody has filed yet, as CSV with a header, by table: processes left them after their agent was killed. */
  unfiled?: ReadonlyMap<string, Buffer>;
  /** Tables that are in no file: what a store sent. */
  memory?: ReadonlyMap<string, TableInMemory>;
  /** When its folder had last changed before that was looked up: what has not changed since has the same files. */
  changed?: number;
  /** Files that are not there: of tables that were written or measured, and those that were set aside, as what. */
  lost?: LostFile[];
}

export interface TableInMemory {
  /** Of the whole job. */
  statistics: TableStatistics;
  /** Where parts of the job are asked for. */
  rows?: Batch;
}

export interface LostFile {
  table: string;
  file: string;
  /** What it is now, when it was damaged. */
  kept?: string;
  /** Statistics of the table, when these are all that is left of it. */
  statistics?: string;
}

export interface Recording {
  path: string;
  job: Job;
  /** By name. */
  nodes: NodeRecording[];
  /** What could not be read of job.json and agent.json, in words. */
  troubles: string[];
  /** Folders that are called like a node's, and are none of this job. */
  strays?: string[];
}

/** Opens one recording; `names`: what is in its folder. */
export function openRecording(folder: string, names = listFolder(folder)): Recording {
  if (!isRecording(folder, names)) {
    const why = names.includes('job.json')
      ? "its job.json is none of Tacho's, and it has no folder node=NAME"
      : 'it has neither job.json nor a folder node=NAME';
    throw new Fault(`${folder} is not a recording: ${why}`, {
      hint: 'tacho list FOLDER shows the recordings in a folder',
    });
  }
  const troubles: string[] = [];
  const nodes: NodeRecording[] = [];
  const inCommon = names.includes(TABLES_FILE) ? once(() => readTables(folder, troubles)) : undefined;
  for (const name of names) {
    const node = nodeName(name);
    if (node === undefined) continue;
    const nodeRecording = openNode(path.join(folder, name), node, troubles, inCommon);
    if (nodeRecording !== undefined) nodes.push(nodeRecording);
  }
  nodes.sort((a, b) => byName(a.name, b.name));
  const job = readRecord<Job>(path.join(folder, 'job.json'), JOB_NEEDS, troubles);
  if (job === undefined) return { path: folder, job: unknownJob(folder, nodes), nodes, troubles };
  const strays = nodes.filter((node) => isStray(node, job));
  if (strays.length === 0) return { path: folder, job, nodes, troubles };
  const own = nodes.filter((node) => !strays.includes(node));
  return { path: folder, job, nodes: own, troubles, strays: strays.map((node) => path.basename(node.folder)) };
}

/** What an agent, a hub or seal leaves in the folder of a node. */
const SIGNS = ['agent.json', 'received.json', 'received.json.zst', '.hubs', TABLES_FILE];

/** A folder where nobody recorded, on no node of a job that is over: while it runs, a node may be new. */
function isStray({ name, folder, agent }: NodeRecording, job: Job): boolean {
  if (agent !== undefined || job.end === undefined || job.nodes.length === 0) return false;
  if (job.nodes.includes(name) || job.taken_nodes?.[name] !== undefined) return false;
  return !SIGNS.some((sign) => fs.existsSync(path.join(folder, sign)));
}

/** The job of a recording, without a look at its nodes; undefined when job.json is missing or damaged. */
export function readJob(folder: string): Job | undefined {
  return readRecord<Job>(path.join(folder, 'job.json'), JOB_NEEDS, []);
}

/**
 * Opens every recording among the paths: a path is a recording, or a folder that holds some (at any depth, up to four
 * levels; other people's links are not followed). What was added to a folder since is simply there the next time. With
 * `leftOut`, what cannot be opened (written by a newer version, private, no recording) is told to it and keeps none of
 * the others from being opened; fewer than `least` are no answer.
 */
export function findRecordings(paths: readonly string[], leftOut?: (why: Fault) => void, least = 1): Recording[] {
  return findEach(paths, openRecording, leftOut, least);
}

/** The same where there may be very many: of each one only what `keep` says stays in memory. `names`: what is in its folder. */
export function findEach<T>(
  paths: readonly string[],
  keep: (folder: string, names: string[]) => T,
  leftOut?: (why: Fault) => void,
  least = 1,
): T[] {
  const itemsByKey = new Map<string, T>();
  const refused: Fault[] = [];
  const orRefused = (folder: string, open: () => void): void => {
    try {
      open();
    } catch (error) {
      if (leftOut === undefined) throw error;
      // whatever is wrong with one recording, the others are there
      refused.push(
        error instanceof Fault ? error : new Fault(`cannot open ${folder}: ${reason(error)}`, { cause: error }),
      );
    }
  };
  for (const start of paths) {
    orRefused(start, () => {
      let isSome = false;
      for (const { folder, names } of foldersBelow(start)) {
        isSome = true;
        const key = path.resolve(folder);
        if (!itemsByKey.has(key)) orRefused(folder, () => itemsByKey.set(key, keep(folder, names)));
      }
      if (!isSome) throw noRecording(start);
    });
  }
  if (refused.length > 0 && itemsByKey.size < least) throw refused[0];
  for (const why of refused) leftOut!(why);
  return [...itemsByKey.values()];
}

const noRecording = (start: string): Fault =>
  new Fault(`no recording in ${start}: looked for folders with job.json or node=NAME, four levels deep`, {
    hint: 'tacho run -o FOLDER -- COMMAND makes one; tacho demo makes one to look at',
  });

/** The folders below `start` (or `start` itself) that are recordings, by name. */
export const recordingFolders = (start: string, depth?: number): string[] =>
  Array.from(foldersBelow(start, depth), ({ folder }) => folder);

/** The same one by one, with what is in them. */
export function* foldersBelow(
  start: string,
  depth = 4,
  closed?: Closed,
): Generator<{ folder: string; names: string[] }> {
  const names = listFolder(start);
  if (isRecording(start, names)) yield { folder: start, names };
  else yield* foldersIn(start, names, depth, closed);
}

/** Told of folders that may not be read. */
type Closed = (folder: string) => void;

function* foldersIn(
  parent: string,
  below: string[],
  depth: number,
  closed?: Closed,
): Generator<{ folder: string; names: string[] }> {
  for (const name of below.sort(byName)) {
    if (name.startsWith('.') || name === 'node_modules') continue;
    const folder = path.join(parent, name);
    let names: string[];
    try {
      if (isForeignLink(folder)) continue;
      names = fs.readdirSync(folder);
    } catch (error) {
      // a file, or somebody else's folder
      if (code(error) === 'EACCES') closed?.(folder);
      continue;
    }
    if (isRecording(folder, names)) yield { folder, names };
    else if (depth > 1) yield* foldersIn(folder, names, depth - 1, closed);
  }
}

const isRecording = (folder: string, names: readonly string[]): boolean =>
  names.some((name) => nodeName(name) !== undefined) ||
  (names.includes('job.json') && !isForeignJob(path.join(folder, 'job.json')));

/** Other programs have a job.json, too. One that is damaged or private may well be ours. */
function isForeignJob(file: string): boolean {
  try {
    return typeof (readJson(file, MOST_BYTES.job) as Partial<Job> | null)?.format !== 'number';
  } catch {
    return false;
  }
}

/** "c2" before "c10". */
export function byName(a: string, b: string): number {
  const left = a.split(/(\d+)/);
  const right = b.split(/(\d+)/);
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i] === right[i]) continue;
    const difference = i % 2 === 1 ? Number(left[i]) - Number(right[i]) : 0;
    if (difference !== 0) return difference;
    return left[i]! < right[i]! ? -1 : 1;
  }
  return left.length - right.length;
}

function listFolder(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    const hint =
      code(error) === 'EACCES'
        ? 'recordings are private to their owner: ask for access, or for a copy'
        : 'tacho list shows the recordings in the current folder';
    throw new Fault(`cannot open ${folder === '' ? '""' : folder}: ${reason(error)}`, { hint, cause: error });
  }
}

/** What is done for the first who asks. */
function once<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}

/** `inCommon`: what seal left of the tables of several nodes. */
function openNode(
  folder: string,
  name: string,
  troubles: string[],
  inCommon?: () => AgentRecord['tables'] | undefined,
): NodeRecording | undefined {
  let entries: FileNames;
  let changed: number;
  try {
    const stat = fs.lstatSync(folder);
    if (isForeignLink(folder, stat)) throw new Error('it is a link that somebody else has made');
    changed = (stat.isSymbolicLink() ? fs.statSync(folder) : stat).mtimeMs;
    entries = fileNames(folder);
  } catch (error) {
    if (code(error) !== 'ENOTDIR') troubles.push(`cannot open ${folder}: ${reason(error)}`);
    return undefined;
  }
  const { files: names, others } = entries;
  for (const other of others)
    if (tableFiles([other]).size > 0)
      troubles.push(`cannot read ${path.join(folder, other)}: it is not an ordinary file`);
  const agent =
    names.includes('agent.json') || others.includes('agent.json')
      ? readRecord<AgentRecord>(path.join(folder, 'agent.json'), AGENT_NEEDS, troubles)
      : undefined;
  const node: NodeRecording = { name, folder, tables: tableFiles(names), names: [...names, ...others], changed };
  const isSealed = names.includes(TABLES_FILE) || (inCommon !== undefined && (agent?.tables.length ?? 0) === 0);
  const described = names.includes(TABLES_FILE) ? readTables(folder, troubles) : isSealed ? inCommon!() : undefined;
  if (agent?.tables.length === 0 && described !== undefined) agent.tables = described;
  const sealed = names.flatMap((each) => statisticsOf(each) ?? []);
  const dropped = new Set(agent?.dropped?.map(({ table }) => table));
  const written = (agent?.written ?? []).filter((table) => !dropped.has(table));
  const lost = [...new Set([...sealed, ...written])].filter((table) => !node.tables.has(table));
  const form = (table: string): string => (sealed.includes(table) ? 'parquet' : isSealed ? 'csv.zst' : 'csv');
  const aside = names.flatMap((each) => damagedOf(each) ?? []).filter(({ file }) => !names.includes(file));
  const missing = lost
    .filter((table) => !aside.some((each) => each.table === table))
    .map((table): LostFile => {
      const file = `${table}.${form(table)}`;
      return { table, file, ...(names.includes(`${file}.torn`) ? { kept: `${file}.torn` } : {}) };
    });
  const all = [...missing, ...aside].map((each): LostFile => {
    const statistics = lost.includes(each.table) ? names.find((name) => statisticsOf(name) === each.table) : undefined;
    return { ...each, ...stated({ statistics }) };
  });
  if (all.length > 0) node.lost = all;
  if (agent === undefined) return described === undefined ? node : { ...node, described };
  return { ...node, agent };
}

/** job.json or agent.json; undefined (and a word in `troubles`) when it is missing or damaged. */
function readRecord<T extends { format: number }>(file: string, needs: object, troubles: string[]): T | undefined {
  let record: T;
  try {
    record = (path.basename(file) === 'job.json' ? readJson(file, MOST_BYTES.job) : readAgentJson(file)) as T;
    if (typeof record !== 'object' || record === null || typeof record.format !== 'number') {
      throw new Error('it has no format number');
    }
  } catch (error) {
    if (code(error) === 'EACCES') {
      throw new Fault(`cannot read ${file}: ${reason(error)}`, {
        hint: 'recordings are private to their owner: ask for access, or for a copy',
        cause: error,
      });
    }
    troubles.push(`cannot read ${file}: ${error instanceof SyntaxError ? 'it is damaged' : reason(error)}`);
    return undefined;
  }
  if (record.format > FORMAT) {
    throw new Fault(`${file} was written by a newer Tacho (format ${record.format}; this one reads up to ${FORMAT})`, {
      hint: 'update Tacho on this machine',
    });
  }
  const wrong: string[] = [];
  const whole = shaped<T>(record, needs, wrong);
  if (wrong.length > 0) troubles.push(`${file}: ${invalidValueText(wrong)} cannot be used`);
  return whole;
}

/** What can be said of a job whose job.json is lost. */
function unknownJob(folder: string, nodes: readonly NodeRecording[]): Job {
  const agents = nodes.flatMap((node) => (node.agent === undefined ? [] : [node.agent]));
  const starts = agents.map((agent) => agent.start);
  return {
    format: FORMAT,
    tacho: agents[0]?.tacho ?? '',
    id: path.basename(path.resolve(folder)),
    scheduler: 'none',
    name: '',
    user: '',
    uid: -1,
    asked: {},
    nodes: nodes.map((node) => node.name),
    interval_seconds: agents[0]?.interval_seconds ?? Number.NaN,
    start: starts.length > 0 ? smallest(starts) : Number.NaN,
    state: 'unknown',
    tags: {},
    environment: {},
  };
}
