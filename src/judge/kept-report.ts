import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { formatMoment } from '../base/moment.ts';
import { ownCode } from '../base/own-code.ts';
import type { Recording } from '../recording/folder/open.ts';
import { readJsonText } from '../recording/folder/record-file.ts';
import { TABLES_FILE } from '../recording/folder/tables-file.ts';
import { fingerprint } from '../recording/sealed/statistics-file.ts';
import type { Report } from './report-schema.ts';

/*
 * The report of a sealed job, worked out when it was sealed. It counts as long as the same code reads the same files: whatever
 * else is asked (other rules, a part of the job, another version of Tacho) is worked out from the data.
 * docs/decisions/kept-reports.md
 */

/** Beside job.json: a line that says what it was made by and of, the report, and what `--phases` adds to it. */
export const REPORT_FILE = 'report.json.zst';

const MOST_BYTES = 64 << 20;

/** What a report was made by, and of. */
export interface MadeOf {
  /** The code. */
  code: string;
  /** What job.json says, and the time zone in which moments are written. */
  job: string;
  /** Names, sizes and times of the files of all nodes. */
  looks: string;
  /** Of what was copied: names, sizes and checksums of the same files. */
  contents: string;
}

/** What was kept; undefined: nothing, or of something else. `phases`: with what each phase used. */
export function readKeptReport(recording: Recording, phases = false): Report | undefined {
  const file = path.join(recording.path, REPORT_FILE);
  if (!isWhole(recording) || !isTrusted(file)) return undefined;
  try {
    const [head, plain, phased] = readJsonText(file, MOST_BYTES).split('\n');
    if (!isMadeOf(JSON.parse(head!) as MadeOf, recording) || (phases && !phased)) return undefined;
    const report = { ...JSON.parse(plain!), ...(phases ? JSON.parse(phased!) : {}), recording: recording.path };
    return withFinish(report, recording);
  } catch {
    // it is damaged: the data says the same
    return undefined;
  }
}

/** Whatever somebody else says of their job: everybody else works it out from the data. */
function isTrusted(file: string): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true && (stat.uid === 0 || stat.uid === process.getuid!());
}

/** Whether it has ended, all of it is sealed, and nothing of it is lost. */
export const isWhole = ({ job, nodes, troubles, strays }: Recording): boolean =>
  job.end !== undefined &&
  troubles.length === 0 &&
  strays === undefined &&
  nodes.length > 0 &&
  nodes.every(
    ({ agent, tables, unfiled, memory, lost }) =>
      agent !== undefined &&
      [unfiled, memory, lost].every((each) => each === undefined) &&
      [...tables.values()].every(({ parts }) => parts.length === 0),
  );

/** What Tacho used at the end is known after the report is kept: it is in none. */
export const withoutFinish = ({ job: { finish_seconds: _, ...job }, ...rest }: Recording): Recording => ({
  ...rest,
  job,
});

/** Adds what it used then. */
export function withFinish(report: Report, { job }: Recording): Report {
  if (report.cost.cpu_seconds !== undefined) report.cost.cpu_seconds += job.finish_seconds ?? 0;
  return report;
}

export const madeOf = (recording: Recording): MadeOf => ({
  code: ownCode(),
  job: jobMark(recording),
  looks: filesMark(recording, lookOf),
  contents: filesMark(recording, contentOf),
});

const isMadeOf = ({ code, job, looks, contents }: MadeOf, recording: Recording): boolean =>
  code === ownCode() &&
  job === jobMark(recording) &&
  (looks === filesMark(recording, lookOf) || contents === filesMark(recording, contentOf));

function jobMark(recording: Recording): string {
  const { job } = withoutFinish(recording);
  return shortHash(JSON.stringify([job, formatMoment(job.start), formatMoment(job.end!)]));
}

const lookOf = (file: string): string => {
  const { size, mtimeMs } = fs.statSync(file);
  return `${size} ${mtimeMs}`;
};

/** Of large files the size, as their statistics have it. */
function contentOf(file: string): string {
  try {
    return JSON.stringify(fingerprint(file));
  } catch {
    return 'no ordinary file';
  }
}

function filesMark({ path: folder, nodes }: Recording, markOf: (file: string) => string): string {
  const lines: string[] = [];
  const add = (name: string, file: string): void => void lines.push(`${name} ${markOf(file)}`);
  const inCommon = `${folder}/${TABLES_FILE}`;
  if (fs.existsSync(inCommon)) add(TABLES_FILE, inCommon);
  // what begins with a dot is made of the others
  for (const { name, folder: own, names = [] } of nodes)
    for (const each of names) if (!each.startsWith('.')) add(`${name}/${each}`, `${own}/${each}`);
  return shortHash(lines.sort().join('\n'));
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
