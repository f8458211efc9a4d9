import * as fs from 'node:fs';
import * as path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Material } from '../query/material.ts';
import { sampleFiles } from '../recording/folder/files-mark.ts';
import type { Recording } from '../recording/folder/open.ts';
import { replaceBytes } from '../recording/folder/replace.ts';
import { packText } from '../recording/sealed/pack-text.ts';
import { gather, gatherQuickly } from './facts/gather.ts';
import { keepProcesses } from './facts/kept-processes.ts';
import { isWhole, type MadeOf, madeOf, REPORT_FILE, withoutFinish } from './kept-report.ts';
import { report } from './report.ts';
import type { Report } from './report-schema.ts';

/** A report is kept where it adds no more than this to the files that it is made of. */
const MOST_SHARE = 0.02;
/** No report is smaller. */
const LEAST_BYTES = 1024;
/** What phases used is worked out from samples: of more than this that takes much memory. */
const MOST_PHASED_BYTES = 32 << 20;
const LEVEL = 9;

/** What was worked out of a recording, before some of it is kept. */
export interface Results {
  recording: Recording;
  report: Report;
  processes: Material['processes'];
  /** What it was made by and of; undefined: nothing of it is kept as a report. */
  mark: MadeOf | undefined;
}

/** Keeps with a sealed recording what later reports would work out again: its processes, and the report itself, which it returns. */
export function keepResults(recording: Recording, share = MOST_SHARE): Report {
  const opened = withoutFinish(recording);
  return keep(resultsOf(opened, markOf(opened), gather(opened)), share);
}

/** The same in two steps, for those who show the report in between. */
export async function workOut(recording: Recording): Promise<Results> {
  const opened = withoutFinish(recording);
  return resultsOf(opened, markOf(opened), await gatherQuickly(opened));
}

export function keep({ recording, report, processes, mark }: Results, share = MOST_SHARE): Report {
  keepProcesses(recording, processes);
  if (mark !== undefined) keepReport(recording, mark, report, share);
  return report;
}

/** Taken before anything is read: what changes meanwhile has another one then. */
const markOf = (opened: Recording): MadeOf | undefined => (isWhole(opened) ? madeOf(opened) : undefined);

function resultsOf(recording: Recording, mark: MadeOf | undefined, material: Material): Results {
  const { report: made, isSound } = judged(material);
  return { recording, report: made, processes: material.processes, mark: isSound ? mark : undefined };
}

function keepReport(recording: Recording, mark: MadeOf, plain: Report, share: number): void {
  const bytes = sampleFiles(recording).reduce((sum, { file }) => sum + fs.statSync(file).size, 0);
  if (share * bytes < LEAST_BYTES || !isJson(plain)) return;
  const packed = (...lines: object[]): Buffer =>
    packText(`${[mark, ...lines].map((line) => JSON.stringify(line)).join('\n')}\n`, LEVEL);
  const alone = packed(plain);
  if (alone.length > share * bytes) return;
  const phased =
    plain.phases.length > 0 && bytes <= MOST_PHASED_BYTES ? judged(gather(recording, { phases: true })) : undefined;
  const both = phased?.isSound && isJson(phased.report) ? packed(plain, differing(phased.report, plain)) : alone;
  replaceBytes(path.join(recording.path, REPORT_FILE), both.length > share * bytes ? alone : both);
}

/** JSON has all of it. */
const isJson = (report: Report): boolean => isDeepStrictEqual(JSON.parse(JSON.stringify(report)), report);

/** The report, and whether it may be kept: it is made of this recording alone, all of which could be read. */
function judged(material: Material): { report: Report; isSound: boolean } {
  let isAlone = true;
  const { past } = material;
  if (past !== undefined)
    material.past = (...asked) => {
      isAlone = false;
      return past(...asked);
    };
  const made = report(material);
  const { damage, troubles, unread } = material;
  return { report: made, isSound: isAlone && [damage, troubles, unread].every((each) => each === undefined) };
}

/** What one report says in another way. */
function differing(report: Report, plain: Report): Partial<Report> {
  const names = Object.keys(report) as (keyof Report)[];
  return Object.fromEntries(
    names.filter((name) => !isDeepStrictEqual(report[name], plain[name])).map((name) => [name, report[name]]),
  );
}
