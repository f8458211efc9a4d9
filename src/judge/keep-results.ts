import * as fs from 'node:fs';
import * as path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Material } from '../query/material.ts';
import { sampleFiles } from '../recording/folder/files-mark.ts';
import type { Recording } from '../recording/folder/open.ts';
import { replaceBytes } from '../recording/folder/replace.ts';
import { packText } from '../recording/sealed/pack-text.ts';
import { gather } from './facts/gather.ts';
import { keepProcesses } from './facts/kept-processes.ts';
import { isWhole, type MadeOf, madeOf, REPORT_FILE, withoutFinish } from './kept-report.ts';
import { report } from './report.ts';
import type { Report } from './report-schema.ts';

/** A report is kept where it adds no more than this to the files that it is made of. */
const MOST_SHARE = 0.02;
/** What phases used is worked out from samples: of more than this that takes much memory. */
const MOST_PHASED_BYTES = 32 << 20;
const LEVEL = 9;

/** Keeps with a sealed recording what later reports would work out again: its processes, and the report itself, which it returns. */
export function keepResults(recording: Recording, share = MOST_SHARE): Report {
  const opened = withoutFinish(recording);
  // what changes while it is read has another mark then
  const mark = isWhole(opened) ? madeOf(opened) : undefined;
  const material = gather(opened);
  keepProcesses(opened, material.processes);
  const made = judged(material);
  if (made.isKept && mark !== undefined) keepReport(opened, mark, made.report, share);
  return made.report;
}

function keepReport(recording: Recording, mark: MadeOf, plain: Report, share: number): void {
  const bytes = sampleFiles(recording).reduce((sum, { file }) => sum + fs.statSync(file).size, 0);
  const packed = (...lines: object[]): Buffer =>
    packText(`${[mark, ...lines].map((line) => JSON.stringify(line)).join('\n')}\n`, LEVEL);
  const alone = packed(plain);
  if (alone.length > share * bytes) return;
  const phased =
    plain.phases.length > 0 && bytes <= MOST_PHASED_BYTES ? judged(gather(recording, { phases: true })) : undefined;
  const both = phased?.isKept ? packed(plain, differing(phased.report, plain)) : alone;
  replaceBytes(path.join(recording.path, REPORT_FILE), both.length > share * bytes ? alone : both);
}

/** The report, and whether it may be kept: it is made of this recording alone, all of which could be read, and JSON has all of it. */
function judged(material: Material): { report: Report; isKept: boolean } {
  let isAlone = true;
  const { past } = material;
  if (past !== undefined)
    material.past = (...asked) => {
      isAlone = false;
      return past(...asked);
    };
  const made = report(material);
  const { damage, troubles, unread } = material;
  const isUndamaged = [damage, troubles, unread].every((each) => each === undefined);
  return { report: made, isKept: isAlone && isUndamaged && isDeepStrictEqual(JSON.parse(JSON.stringify(made)), made) };
}

/** What one report says in another way. */
function differing(report: Report, plain: Report): Partial<Report> {
  const names = Object.keys(report) as (keyof Report)[];
  return Object.fromEntries(
    names.filter((name) => !isDeepStrictEqual(report[name], plain[name])).map((name) => [name, report[name]]),
  );
}
