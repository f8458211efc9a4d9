import * as fs from 'node:fs';
import { Fault, reason } from '../../base/fault.ts';
import { type Zone, zoneNamed } from '../../base/zone.ts';
import type { Run } from '../../jobs/schedulers/command.ts';
import { runsOf } from './runs.ts';
import type { SacctJob, SacctOutput } from './sacct-job.ts';
import { parseSacctJson } from './sacct-json.ts';
import { FIELDS, parseSacctText } from './sacct-text.ts';

export interface ReadOptions {
  /** Epoch microseconds: only jobs that ended, or ran, from then on. */
  from?: number;
  to?: number;
  /** Of times that say no zone. */
  zone?: string;
  signal?: AbortSignal;
  /** Told after each file, or each week that `sacct` was asked about. */
  progress?: (done: number, of: number) => void;
}

/** What accounting says of jobs. */
export interface AccountedJobs {
  jobs: SacctJob[];
  versions: string[];
  notes: string[];
}

/** Saved output of `sacct`: parsable text or JSON; `-` is the standard input. */
export function readFiles(files: readonly string[], options: ReadOptions): AccountedJobs {
  const zone = zoneOf(options.zone);
  const outputs = files.map((file, i) => {
    options.signal?.throwIfAborted();
    const parsedOutput = parse(textOf(file), file === '-' ? 'the standard input' : file, zone);
    options.progress?.(i + 1, files.length);
    return parsedOutput;
  });
  return together(outputs, options);
}

const WEEK_US = 7 * 86_400e6;
/** Without a start, so much is asked for. */
const USUAL_US = 30 * 86_400e6;

/** Asks `sacct` itself, a week at a time, for what its version has. */
export async function askSacct(run: Run, options: ReadOptions): Promise<AccountedJobs> {
  const to = options.to ?? Date.now() * 1000;
  const from = options.from ?? to - USUAL_US;
  if (!(from < to))
    throw new Fault('the period ends before it begins', { exit: 2, hint: '--from is earlier than --to' });
  // a field that a version does not have makes sacct fail
  const help = await run('sacct', ['--helpformat']);
  if (help.trouble !== undefined) throw noSacct(help.trouble);
  const there = new Set(help.stdout.split(/\s+/).map((name) => name.toLowerCase()));
  const fields = FIELDS.filter((name) => there.has(name.toLowerCase()));
  const outputs: SacctOutput[] = [];
  const weeks = Math.ceil((to - from) / WEEK_US);
  for (let week = 0; week < weeks; week++) {
    options.signal?.throwIfAborted();
    const begin = from + week * WEEK_US;
    const end = Math.min(to, begin + WEEK_US);
    const period = ['-S', sacctTime(begin), '-E', sacctTime(end)];
    const { stdout, trouble } = await run(
      'sacct',
      ['-a', '-D', '-P', `--delimiter=${DELIMITER}`, ...period, '-o', fields.join(',')],
      undefined,
    );
    if (trouble !== undefined) throw noSacct(trouble);
    outputs.push(parseSacctText(stdout, 'sacct', zoneOf('UTC')));
    options.progress?.(week + 1, weeks);
  }
  const { stdout: version } = await run('sacct', ['--version']);
  const [, release] = /slurm\S*\s+(\S+)/.exec(version) ?? [];
  const accountedJobs = together(outputs, { from, to });
  return { ...accountedJobs, versions: release === undefined ? [] : [release] };
}

/** The environment in which `sacct` says times that mean the same everywhere. */
export const SACCT_ENVIRONMENT = { SLURM_TIME_FORMAT: '%s', TZ: 'UTC' };
/** No name has it. */
const DELIMITER = '\u001f';

const sacctTime = (moment: number): string => new Date(Math.floor(moment / 1000)).toISOString().slice(0, 19);

const noSacct = (trouble: string): Fault =>
  new Fault(`cannot ask sacct: ${trouble}`, {
    hint: 'run this where Slurm’s commands are, or give a file that sacct -aDP --format=ALL has printed there',
  });

function parse(text: string, from: string, zone: Zone): SacctOutput {
  if (text.trim() === '') throw new Fault(`${from} cannot be imported: it is empty`);
  return /^\uFEFF?\s*[{[]/.test(text)
    ? parseSacctJson(text.replace(/^\uFEFF/, ''), from)
    : parseSacctText(text, from, zone);
}

function textOf(file: string): string {
  try {
    return fs.readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
}

function zoneOf(name: string = Intl.DateTimeFormat().resolvedOptions().timeZone): Zone {
  const zone = zoneNamed(name);
  if (zone === undefined)
    throw new Fault(`there is no time zone "${name}"`, { exit: 2, hint: 'write it like Europe/Oslo or UTC' });
  return zone;
}

/** The same line may be in several files, or weeks: the last one knows most. */
function together(outputs: readonly SacctOutput[], { from, to }: ReadOptions): AccountedJobs {
  const lines = new Map<string, SacctJob>();
  for (const { jobs } of outputs)
    for (const job of jobs) {
      const { cluster, id, component, submit, start } = job;
      const key = JSON.stringify([cluster, id, component, submit, start]);
      // one that was waiting in an older file has started by now
      if (start !== undefined) lines.delete(JSON.stringify([cluster, id, component, submit, undefined]));
      lines.set(key, job);
    }
  const isWithin = ({ start, end, submit }: SacctJob): boolean => {
    const [begin, until] = [start ?? submit ?? 0, end ?? Number.POSITIVE_INFINITY];
    return (from === undefined || until >= from) && (to === undefined || begin < to);
  };
  return {
    jobs: runsOf([...lines.values()]).filter(isWithin),
    versions: [...new Set(outputs.flatMap(({ version }) => version ?? []))],
    notes: [...new Set(outputs.flatMap(({ notes }) => notes))],
  };
}
