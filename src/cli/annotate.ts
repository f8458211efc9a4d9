import * as fs from 'node:fs';
import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { hang } from '../base/hang.ts';
import { tableWidth } from '../base/page-width.ts';
import { configFlags } from '../config/flags.ts';
import type { Notes } from '../database/annotate.ts';
import type { Job } from '../recording/folder/job.ts';
import { printable } from '../show/terminal/text-table.ts';
import { needAddress } from './database-address.ts';
import { parseTags } from './tags.ts';

interface Options {
  tag: string[];
  remove: string[];
  db?: string;
  config?: string;
  format: 'text' | 'json';
}

const several = (value: string, all: string[]): string[] => [...all, value];

export function define(command: Command): void {
  command
    .usage('[RECORDING|JOB] [KEY=VALUE…] [options]')
    .argument(
      '[job-and-notes...]',
      'a recording, or the id or name of a job, then notes about it; without notes, its notes are shown',
    )
    .option('--tag <key:value>', 'set a tag: tags select jobs, annotations are notes about them', several, [])
    .option('--remove <key>', 'remove an annotation', several, [])
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'));
  configFlags(command, ['db'])
    .addHelpText(
      'after',
      `
Without a recording or job, the notes are about the job in which this is called, while it runs. With --db, or for an
id that no recording has, the job is one of the database that --db or TACHO_DB names.

Examples:
  tacho annotate tacho-4711                            shows what is there
  tacho annotate tacho-4711 note="slow disk on c3" reviewed=yes
  tacho annotate phase=warmup                          inside a job that is being recorded
  tacho annotate 4711 --tag case:baseline --db postgres://db.site/tacho
`,
    )
    .action(async (given: string[], options: Options) => {
      const named =
        given[0] !== undefined && (!given[0].includes('=') || fs.existsSync(given[0])) ? given[0] : undefined;
      const notes = wordsOf(given.slice(named === undefined ? 0 : 1), options);
      const job = await annotate(named, notes, options);
      if (options.format === 'json') {
        process.stdout.write(
          `${JSON.stringify({ id: job.id, annotations: job.annotations, tags: job.tags }, null, 1)}\n`,
        );
        return;
      }
      const lines = [
        ...Object.entries(job.annotations ?? {}).map(([key, value]) => `${key}=${value}`),
        ...Object.entries(job.tags).map(([key, value]) => `${key}:${value}`),
      ];
      const shown = lines.map((line) => `${hang(`  ${printable(line)}`, tableWidth(), 4)}\n`);
      process.stdout.write(`job ${printable(job.id)}\n${shown.join('')}`);
    });
}

async function annotate(named: string | undefined, notes: Notes, options: Options): Promise<Job> {
  const { annotated, isNothing } = await import('../database/annotate.ts');
  const here = await recordingMeant(named, options);
  if (here !== undefined) {
    const { openRecording } = await import('../recording/folder/open.ts');
    const { updateJob } = await import('../recording/folder/update-job.ts');
    const { asOwner } = await import('../recording/folder/as-owner.ts');
    const { path, job } = openRecording(here);
    if (isNothing(notes)) return job;
    return asOwner(path, (folder) => updateJob(folder, (job) => annotated(job, notes)));
  }
  const { connect } = await import('../database/connect.ts');
  const address = await needAddress(options).catch(async (error) => {
    if (options.db !== undefined) throw error;
    const { unknownName } = await import('./named-recordings.ts');
    const { message, hint } = await unknownName(named!, options);
    throw usage(message, `${hint}\nof a job in a database: ${error.hint}`);
  });
  const { withSchema } = await import('../database/schema.ts');
  const { annotateStored } = await import('../database/annotate.ts');
  return withSchema(connect(address), (database) => annotateStored(database, named!, notes));
}

/** Undefined: a job of the database is meant. */
async function recordingMeant(named: string | undefined, options: Options): Promise<string | undefined> {
  if (named === undefined) return activeRecording();
  if (options.db !== undefined) return undefined;
  if (fs.statSync(named, { throwIfNoEntry: false })?.isDirectory()) return named;
  const { isPath, pathNamed, recordingsOf } = await import('./named-recordings.ts');
  if (isPath(named) || (await recordingsOf(named, options)) === undefined) return undefined;
  return pathNamed(named, options);
}

async function activeRecording(): Promise<string> {
  const { needSpeakable } = await import('../control/active.ts');
  return needSpeakable(process.env, 'name the recording or the job that is meant');
}

function wordsOf(given: readonly string[], options: Options): Notes {
  const annotations: Record<string, string> = {};
  for (const word of given) {
    const at = word.indexOf('=');
    if (at < 1) throw usage(`"${word}" is not an annotation`, 'it is key=value, e.g. note="slow disk"');
    annotations[word.slice(0, at)] = word.slice(at + 1);
  }
  const notes: Notes = { annotations, tags: parseTags(options.tag), remove: options.remove };
  return notes;
}
