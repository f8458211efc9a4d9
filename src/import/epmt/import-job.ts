import * as path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { stated } from '../../base/stated.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import type { Note } from '../../sources/host.ts';
import { processEndTable, threadEndTable } from '../../sources/records/tables.ts';
import { type JobFiles, METADATA } from './archive.ts';
import { checkRows } from './check-rows.ts';
import { readCsv } from './csv.ts';
import type { Imported, ImportOptions } from './import.ts';
import { jobOf } from './job.ts';
import { checkTimes, jobTimes } from './job-times.ts';
import { endlessLine } from './lines.ts';
import { type Metadata, readMetadata } from './metadata.ts';
import { ProcessRows } from './rows.ts';
import { MISLABELLED, metricsOf, tablesOf } from './tables.ts';
import { readTsv, readTsvHeader } from './tsv.ts';
import { type Doubt, type ImportedNode, recordingPath, writeRecording } from './write.ts';

/** What a file system takes. */
const LONGEST_NAME = 255;

/** Makes a recording of a job's files: all of it or nothing. */
export async function importJob(files: JobFiles, options: ImportOptions): Promise<Imported> {
  const { input } = files;
  const metadata = readMetadata(files.metadata, input);
  if (files.data.length === 0) {
    throw new Fault(`${input} cannot be imported: it describes job ${metadata.id} and holds no data of its processes`, {
      hint: 'the files of papiex (*-papiex*.csv or .tsv) are missing: was it staged before they were written?',
    });
  }
  const rows = readData(files.data, input);
  const times = jobTimes(metadata, rows, options.env ?? process.env);
  if (times.stop < times.start) throw new Fault(`${input} cannot be imported: the job ended before it began`);
  const { id, user } = metadata;
  const placeRecording = (): string => {
    const { target, there } = recordingPath(options.folder, { id, start: times.start, user });
    if (!there) return target;
    throw new Fault(`${input} was not imported: job ${id} is there already, as ${target}`, {
      hint: 'choose another folder with -o, or move that one away',
    });
  };
  placeRecording();
  let outside: number;
  try {
    outside = checkTimes(rows, times);
  } catch (error) {
    throw within(input, error);
  }
  const notes = times.note === undefined ? [] : [times.note];
  const doubts = doubtsOf(files);
  if (files.foreign.length > 0) notes.push(`${namesOf(files.foreign)}: left out, papiex calls its files *-papiex*`);
  for (const { where, why } of doubts.values()) notes.push(`${where}: ${why}`);
  if (outside > 0) notes.push(`${count(outside, 'process', 'processes')} ran before the job began or after it ended`);
  if (rows.processes === 0) notes.push('no process was recorded');
  if (rows.empty > 0)
    notes.push(`${rows.empty} ${rows.empty === 1 ? 'number is' : 'numbers are'} empty in the data, and missing`);
  let nodes: ImportedNode[];
  try {
    nodes = nodesOf(rows, metadata, notes, doubts);
  } catch (error) {
    throw within(input, error);
  }
  const twins = rows.processes - nodes.reduce((sum, node) => sum + node.processes.rows, 0);
  if (twins > 0)
    notes.push(
      `${count(twins, 'process was', 'processes were')} there twice, equal in everything; each was taken once`,
    );
  const job = await jobOf(
    metadata,
    times,
    nodes.map((node) => node.name),
    rows,
  );
  const kept = { ...job, imported: { from: `EPMT, ${path.basename(input)}`, notes } };
  return {
    input,
    recording: writeRecording(placeRecording, kept, nodes, input, options.complete),
    job: job.id,
    nodes: job.nodes,
    processes: nodes.reduce((sum, node) => sum + node.processes.rows, 0),
    threads: nodes.reduce((sum, node) => sum + node.threadCount, 0),
    notes,
  };
}

function readData(data: JobFiles['data'], input: string): ProcessRows {
  const rows = new ProcessRows();
  const headers = new Map(data.filter(({ name }) => isHeader(name)).map((file) => [file.name, file]));
  try {
    for (const file of data) {
      if (isHeader(file.name)) continue;
      if (file.name.endsWith('.csv')) readCsv(file, rows);
      else {
        const name = file.name.replace(/\.tsv$/, '-header.tsv');
        const header = headers.get(name);
        if (header === undefined) throw new Fault(`${file.name} has no header: ${name} is missing`);
        readTsv(file, readTsvHeader(header), rows);
      }
    }
    checkRows(rows);
  } catch (error) {
    throw within(input, error);
  }
  return rows;
}

const isHeader = (name: string): boolean => name.endsWith('-header.tsv');

const MOST_NAMES = 3;

const namesOf = (files: readonly string[]): string => {
  const more = files.length - MOST_NAMES;
  return files.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
};

/** By file: what somebody should know of its last line, or that it has none. One of a header that is cut off lacks columns. */
function doubtsOf({ data, empty }: JobFiles): Map<string, Doubt> {
  const doubts = new Map<string, Doubt>();
  if (empty.length > 0) doubts.set(empty[0]!, { where: namesOf(empty), why: 'empty, and left out' });
  for (const { name, bytes } of data) {
    const line = isHeader(name) ? undefined : endlessLine(bytes);
    if (line === undefined) continue;
    doubts.set(name, { where: `${name}, line ${line}`, why: 'it has no end, and may have been cut off' });
  }
  return doubts;
}

/** One node for each host that the processes name; what names none ran where the job was started. */
function nodesOf(
  rows: ProcessRows,
  metadata: Metadata,
  notes: string[],
  doubts: ReadonlyMap<string, Doubt>,
): ImportedNode[] {
  const { codes } = rows.texts.get('hostname')!;
  const hosts = rows.values('hostname');
  const { environment: env, hostname } = metadata;
  hosts[0] = hostname || env.HOSTNAME || env.SLURMD_NODENAME || 'unknown';
  const chosen = new Map<string, number[]>();
  /** By file, the host of its last process. */
  const last = new Map<string, string>();
  for (let p = 0; p < rows.processes; p++) {
    const host = hosts[codes[p]!]!;
    if (doubts.size > 0) last.set(rows.files[rows.file[p]!]!, host);
    const list = chosen.get(host);
    if (list === undefined) chosen.set(host, [p]);
    else list.push(p);
  }
  if (chosen.size === 0) chosen.set(hosts[0], []);
  for (const [host, [first]] of chosen) {
    if (Buffer.byteLength(nodeFolder(host)) <= LONGEST_NAME) continue;
    throw new Fault(
      `${first === undefined ? METADATA : rows.where(first)}: no host has a name of ${host.length} characters`,
    );
  }
  const [some] = chosen.keys();
  const metrics = metricsOf(rows);
  const mislabelled = MISLABELLED.filter((column) => rows.numbers.has(column));
  const missing: Note[] = [];
  if (mislabelled.length > 0) {
    const why = 'papiex writes other values under these names; what it calls starttime is here as vsize';
    missing.push({ table: processEndTable.name, what: mislabelled.join(', '), why });
  }
  for (const [column, wrong] of metrics.impossible) {
    missing.push({
      table: threadEndTable.name,
      what: column,
      why: `${count(wrong, 'value')} cannot be (below 0, or too large)`,
    });
    notes.push(`${column}: ${count(wrong, 'value was', 'values were')} left out: below 0, or too large`);
  }
  let moved = 0;
  const nodes = [...chosen].map(([name, processes]): ImportedNode => {
    const tables = tablesOf(rows, metrics, Uint32Array.from(processes));
    moved += tables.moved;
    return {
      name,
      ...tables,
      notes: missing,
      doubts: [...doubts].filter(([file]) => (last.get(file) ?? some) === name).map(([, doubt]) => doubt),
    };
  });
  if (moved > 0)
    notes.push(
      `${count(moved, 'process has', 'processes have')} pid and start in common with another: put a microsecond later`,
    );
  return nodes;
}

/** The fault of a file names the archive that it is in. */
function within(input: string, error: unknown): unknown {
  if (!(error instanceof Fault)) return error;
  const { hint } = error;
  return new Fault(`${input} cannot be imported: ${error.message}`, {
    cause: error,
    ...stated({ hint }),
  });
}
