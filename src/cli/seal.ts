import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { adoptRecords } from '../agent/run/adopt-records.ts';
import { Fault } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { formatBytes } from '../base/size.ts';
import { fileJob } from '../jobs/schedulers/refresh.ts';
import { keepResults } from '../judge/keep-results.ts';
import { REPORT_FILE, readKeptReport } from '../judge/kept-report.ts';
import { readKept } from '../judge/outliers/features-file.ts';
import { keepFeatures } from '../judge/outliers/kept-features.ts';
import { asOwner } from '../recording/folder/as-owner.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import { type SealedNode, sealRecording } from '../recording/sealed/seal.ts';
import { liveBytes } from '../recording/sealed/worth-sealing.ts';
import { progress } from '../show/terminal/progress.ts';
import { ascii, printable } from '../show/terminal/text-table.ts';
import { tell } from './failure.ts';
import { findRecordings } from './find-recordings.ts';

interface Options {
  force?: boolean;
  parquet?: boolean;
  format: string;
}

export function define(command: Command): void {
  command
    .argument('<recording...>', 'recordings, folders of recordings, job ids or names')
    .option(
      '--force',
      'also nodes whose agent seems to be recording still; files that it writes to are left as they are',
    )
    .option('--parquet', 'small tables become Parquet files, too')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Live files become one Parquet file per table, several times smaller, with statistics beside it that make the report card
fast. Small tables (some minutes of samples) become compressed CSV instead. Sealing can be interrupted and run again.

Examples:
  tacho seal tacho-4711
  tacho seal /archive/2026 --format json
  tacho seal --parquet tacho-4711
`,
    )
    .action(async (paths: string[], options: Options) => {
      const results: { path: string; nodes: SealedNode[]; error?: string }[] = [];
      for (const recording of await findRecordings(paths)) {
        const { path } = recording;
        try {
          const nodes = await sealed(recording, options);
          if (options.format === 'text') say(sealText(path, nodes));
          results.push({ path, nodes });
        } catch (error) {
          // what is wrong with one says nothing about the others
          if (!(error instanceof Fault)) throw error;
          process.exitCode = tell(error);
          results.push({ path, nodes: [], error: error.message });
        }
      }
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(results, null, 1)}\n`);
      if (results.some(({ nodes }) => nodes.some(({ skipped }) => skipped !== undefined))) process.exitCode ||= 1;
    });
}

async function sealed(recording: Recording, options: Options): Promise<SealedNode[]> {
  const bar = progress(`sealing ${recording.path}`, liveBytes(recording));
  try {
    await fileJob(recording, { steps: true });
    return await asOwner(recording.path, async (folder) => {
      await adoptRecords(openRecording(folder), false);
      const nodes = sealRecording(openRecording(folder), {
        force: options.force === true && 'keep open parts',
        parquet: options.parquet === true,
        progress: (bytes) => bar.advance(bytes),
      });
      const sealed = openRecording(folder);
      if (sealed.job.end !== undefined && !hasResults(sealed)) keepFeatures(sealed, keepResults(sealed));
      return nodes;
    });
  } finally {
    bar.done();
  }
}

/** Whether what later commands would work out again is kept, and by this version. */
const hasResults = (recording: Recording): boolean =>
  readKept(recording) !== undefined &&
  (!fs.existsSync(path.join(recording.path, REPORT_FILE)) || readKeptReport(recording) !== undefined);

const say = (text: string): void => void process.stdout.write(process.stdout.isTTY ? text : ascii(text));

function sealText(name: string, nodes: readonly SealedNode[]): string {
  const path = printable(name);
  const tables = nodes.flatMap((node) => node.tables);
  const left = nodes
    .filter(({ skipped }) => skipped !== undefined)
    .map(
      ({ node, skipped }) => `${path}: ${printable(node)} is not sealed: ${skipped} (--force seals it all the same)\n`,
    )
    .join('');
  if (tables.length === 0) return left === '' ? `${path}: sealed already\n` : left;
  const rows = total(tables, (t) => t.rows);
  const sizes = `${formatBytes(total(tables, (t) => t.bytes_before))} → ${formatBytes(total(tables, (t) => t.bytes_after))}`;
  return `${path}: ${count(tables.length, 'table')}, ${count(rows, 'row')}, ${sizes}\n${left}`;
}

const total = <T>(all: readonly T[], pick: (each: T) => number): number =>
  all.reduce((sum, each) => sum + pick(each), 0);
