import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { processJob, RECORDS } from '../../query/processes/processes.ts';
import { makeColumns, NUMBERS, type ProcessColumns, type ProcessSet, TEXTS } from '../../query/processes/set.ts';
import { linkProcesses } from '../../query/processes/tree.ts';
import { sealedDamage } from '../../query/summarise.ts';
import { filesMark, sampleFiles } from '../../recording/folder/files-mark.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { readJson } from '../../recording/folder/record-file.ts';
import { replaceBytes } from '../../recording/folder/replace.ts';
import { packText } from '../../recording/sealed/pack-text.ts';

/** Beside job.json: the processes of the job, joined from their records and samples, so that a report need not do it again. */
export const PROCESSES_FILE = 'processes.json.zst';

/** Raised whenever processes are joined in another way: what was kept before is then not used. */
const FORMAT = 1;

/** They are kept where they add no more than this to the files that they are made of. */
const MOST_SHARE = 0.02;
const MOST_BYTES = 64 << 20;
const LEVEL = 9;

/** A column: one value where all processes have the same, else one for each. null: missing. */
type Packed<T> = T | readonly T[];

interface KeptFile {
  format: number;
  /** Of all that they were joined from. */
  made_of: string;
  length: number;
  numbers: Record<string, Packed<number | null>>;
  /** For each process the place of its text among `values`. */
  texts: Record<string, { values: readonly string[]; places: Packed<number> }>;
  metrics: Record<string, Packed<number | null>>;
}

/** Keeps the processes of a job whose nodes are all sealed; not those of a damaged recording. */
export function keepProcesses(recording: Recording, processes: ProcessSet | undefined, share = MOST_SHARE): void {
  if (processes === undefined || processes.troubles.length > 0 || !hasRecords(recording) || !isSealed(recording))
    return;
  const { length, metrics } = processes;
  const packed = (values: Float64Array): Packed<number | null> =>
    inShort(Array.from(values.subarray(0, length), (value) => (Number.isFinite(value) ? value : null)));
  const kept: KeptFile = {
    format: FORMAT,
    made_of: markOf(recording),
    length,
    numbers: Object.fromEntries(NUMBERS.map((name) => [name, packed(processes[name])])),
    texts: Object.fromEntries(TEXTS.map((name) => [name, dictionary(processes[name].slice(0, length))])),
    metrics: Object.fromEntries(Array.from(metrics, ([name, values]) => [name, packed(values)])),
  };
  const bytes = packText(JSON.stringify(kept), LEVEL);
  const whole = sampleFiles(recording).reduce((sum, { file }) => sum + fs.statSync(file).size, 0);
  if (bytes.length <= share * whole) replaceBytes(path.join(recording.path, PROCESSES_FILE), bytes);
}

function inShort<T>(values: readonly T[]): Packed<T> {
  const [first] = values;
  return values.length > 0 && values.every((value) => value === first) ? first! : values;
}

function dictionary(texts: readonly string[]): KeptFile['texts'][string] {
  const codeOfText = new Map<string, number>();
  for (const text of texts) if (!codeOfText.has(text)) codeOfText.set(text, codeOfText.size);
  return { values: [...codeOfText.keys()], places: inShort(texts.map((text) => codeOfText.get(text)!)) };
}

/** What was kept, as long as it is what the files and records of the recording still say. */
export function readKeptProcesses(recording: Recording): ProcessSet | undefined {
  const file = path.join(recording.path, PROCESSES_FILE);
  if (!fs.existsSync(file) || !isSealed(recording)) return undefined;
  let kept: KeptFile;
  try {
    kept = readJson(file, MOST_BYTES) as KeptFile;
    if (kept?.format !== FORMAT || kept.made_of !== markOf(recording)) return undefined;
    return linkProcesses(columnsOf(kept, recording));
  } catch {
    // it is damaged: the processes are joined once more
    return undefined;
  }
}

function columnsOf({ length, numbers, texts, metrics }: KeptFile, { job, path, troubles }: Recording): ProcessColumns {
  const columns = makeColumns(0, [], [processJob(job, path)]);
  columns.length = length;
  for (const name of NUMBERS) columns[name] = unpacked(numbers[name]!, length);
  for (const name of TEXTS) {
    const { values, places: codes } = texts[name]!;
    const text = (code: unknown): string => {
      const text = values[code as number];
      if (typeof text !== 'string') throw new TypeError(`${name} is damaged`);
      return text;
    };
    columns[name] = Array.isArray(codes) ? codes.map(text) : new Array<string>(length).fill(text(codes));
    if (columns[name].length !== length) throw new RangeError(`${name} is damaged`);
  }
  for (const [name, values] of Object.entries(metrics)) columns.metrics.set(name, unpacked(values, length));
  columns.troubles.push(...troubles);
  return columns;
}

function unpacked(values: Packed<number | null>, length: number): Float64Array {
  if (typeof values === 'number' || values === null) return new Float64Array(length).fill(values ?? Number.NaN);
  if (values.length !== length) throw new RangeError('a column is damaged');
  const column = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const value = values[i];
    column[i] = typeof value === 'number' ? value : Number.NaN;
  }
  return column;
}

const hasRecords = ({ nodes }: Recording): boolean =>
  nodes.some(({ tables }) => RECORDS.some((table) => tables.has(table)));

/** Whether records of processes are there, sealed and whole: only then what was joined from them counts. */
const isSealed = ({ nodes }: Recording): boolean =>
  nodes.every(
    ({ tables, unfiled, memory, lost }, i) =>
      [unfiled, memory, lost].every((each) => each === undefined) &&
      [...tables.values()].every(({ parts }) => parts.length === 0) &&
      RECORDS.every((table) => !tables.has(table) || sealedDamage(nodes[i]!, table)?.length === 0),
  );

/** Of the files, and of what job.json and agent.json tell of times and users. */
function markOf(recording: Recording): string {
  const { start, uid, user, interval_seconds } = recording.job;
  const agents = recording.nodes.map(({ name, agent }) => [
    name,
    agent?.start,
    agent?.service,
    agent?.interval_seconds,
  ]);
  const inputsText = JSON.stringify([start, uid, user, interval_seconds, recording.job.process_records, agents]);
  return `${filesMark(recording)}-${crc32(inputsText).toString(16)}`;
}
