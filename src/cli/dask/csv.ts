import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { printable } from '../../base/printable.ts';
import { count } from '../../base/readable.ts';
import { tracked } from './attach.ts';
import { samplesArgument, samplesOf } from './dask-source.ts';

interface Options {
  output: string;
  tracking?: string[];
  name: string;
  format: 'text' | 'json';
}

export function defineCsv(command: Command): void {
  samplesArgument(command)
    .description('Write one CSV file per worker, as dask-metrics does.')
    .requiredOption('-o, --output <folder>', 'where to; it is made if need be')
    .option(
      '--tracking <names>',
      'columns besides job, dag, timestamp and custom metrics (default: as attached)',
      tracked,
    )
    .option('--name <name>', 'what the files are called before _0.csv', 'worker')
    .addOption(
      new Option('-f, --format <format>', 'output format at the end').choices(['text', 'json']).default('text'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  tacho dask csv run7 -o csv\n  tacho dask csv -o csv --tracking tasks,compute-util\n',
    )
    .action(async (source: string | undefined, { output, tracking, name, format }: Options) => {
      const samples = await samplesOf(source);
      const { workerCsv } = await import('../../show/dask/worker-csv.ts');
      const files = samples.workers.map((worker, i) => {
        const file = path.join(output, `${name}_${i}.csv`);
        write(file, workerCsv(samples, worker, tracking ?? samples.tracking));
        return file;
      });
      if (format === 'json') process.stdout.write(`${JSON.stringify({ files })}\n`);
      else process.stderr.write(`${count(files.length, 'file')} in ${printable(output)}\n`);
    });
}

/** A file is there whole or not at all: a full disk leaves none behind. */
function write(file: string, lines: Iterable<string>): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    makeFolder(path.dirname(file));
    const fd = fs.openSync(temporary, 'w');
    try {
      let text = '';
      for (const line of lines) {
        text += line;
        if (text.length < 1 << 20) continue;
        fs.writeFileSync(fd, text);
        text = '';
      }
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw new Fault(`cannot write ${file}: ${reason(error)}`, { hint: 'choose another folder with -o', cause: error });
  }
}
