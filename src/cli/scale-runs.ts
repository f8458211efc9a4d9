import { Fault, usage } from '../base/fault.ts';
import { count, listed } from '../base/readable.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { globPattern } from '../history/ask/filter.ts';
import { programOfJob } from '../history/make/job-summary.ts';
import { gather } from '../judge/facts/gather.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { StudyKind } from '../judge/scale/kind.ts';
import type { OneRun } from '../judge/scale/one-run.ts';
import { type LeftOut, runOf, type ScaleRun, type SizeBy } from '../judge/scale/run.ts';
import { type Study, studyOf } from '../judge/scale/study.ts';
import { type FoundRecording, findEach, openFound } from './find-recordings.ts';
import { readingJobs } from './measured-jobs.ts';
import { parseTags } from './tags.ts';

export interface ScaleChoice {
  by?: SizeBy;
  kind?: StudyKind;
  figure?: string;
  work?: string;
  efficiency: number;
  name?: string;
  program?: string;
  tag?: readonly string[];
}

interface Judged {
  made: Report;
  program: string;
}

/** One recording: what it tells alone. Several: the study that they are. */
export async function scaleOf(
  paths: readonly string[],
  choice: ScaleChoice,
): Promise<{ study: Study } | { run: OneRun }> {
  const matchingRecordings = matching(await findEach(paths), choice);
  const bar = readingJobs(matchingRecordings.length);
  const judged: Judged[] = [];
  for (const one of matchingRecordings) {
    const material = gather(await openFound(one));
    const made = report(material);
    const program = programOfJob(made) ?? made.job.name;
    bar.advance();
    if (choice.program !== undefined && !new RegExp(globPattern(choice.program)).test(program)) continue;
    if (matchingRecordings.length === 1) {
      const { oneRun } = await import('../judge/scale/one-run.ts');
      return { run: oneRun(material, made, program) };
    }
    judged.push({ made, program });
  }
  bar.done();
  if (judged.length === 0)
    throw new Fault(`none of ${count(matchingRecordings.length, 'recording')} is of the program ${choice.program}`, {
      hint: 'tacho list shows them',
    });
  const by = choice.by ?? usualSize(judged);
  const runs: ScaleRun[] = [];
  const leftOut: LeftOut[] = [];
  for (const { made, program } of judged) {
    const run = runOf(made, { by, program, ...stated({ figure: choice.figure, work: choice.work }) });
    if ('why' in run) leftOut.push(run);
    else runs.push(run);
  }
  for (const { job, why } of leftOut.slice(0, 5)) warn(`job ${job} is left out: ${why}`);
  const { kind, figure, efficiency } = choice;
  return { study: studyOf(runs, leftOut, { by, efficiency, ...stated({ kind, figure }) }) };
}

/** GPUs where runs differ in these, else cores. */
const usualSize = (judged: readonly Judged[]): SizeBy =>
  new Set(judged.map(({ made }) => made.summary.gpus ?? 0)).size > 1 ? 'gpus' : 'cores';

/** Those that are named, and none of a whole node. */
function matching(foundRecordings: readonly FoundRecording[], { name, tag = [] }: ScaleChoice): FoundRecording[] {
  const tags = Object.entries(parseTags(tag));
  const isNamed = name === undefined ? undefined : new RegExp(globPattern(name));
  const wanted = foundRecordings.filter(
    ({ job }) => (isNamed?.test(job.name) ?? true) && tags.every(([key, value]) => job.tags[key] === value),
  );
  if (wanted.length > 0) return wanted;
  const names = [...new Set(foundRecordings.map(({ job }) => job.name))];
  throw usage(
    `none of ${count(foundRecordings.length, 'recording')} has the name or tag that was asked for`,
    `there are ${listed(names, 8)}`,
  );
}
