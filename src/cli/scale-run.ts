import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Command } from 'commander';
import { code, Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { makeFolder } from '../base/folder.ts';
import { ours } from '../base/ours.ts';
import { theirEnvironment } from '../base/own-node.ts';
import { CORES_TAG } from '../judge/scale/run.ts';
import { near } from './near.ts';
import { several } from './processes.ts';
import { printScale, type ScaleOptions, studyOptions } from './scale-options.ts';
import { parseTags } from './tags.ts';

interface RunOptions extends Omit<ScaleOptions, 'name'> {
  cores: number[];
  repeat: number;
  name?: string;
  tag?: string[];
  output?: string;
  interval?: string;
  bind: boolean;
}

/** Stands for the number of cores in the command. */
const PLACE = '{cores}';

function coresList(text: string): number[] {
  const cores = text.split(',').map((word) => Number(word.trim() || Number.NaN));
  const wrong = cores.find((each) => !Number.isInteger(each) || each < 1);
  if (wrong !== undefined) throw usage(`"${text}" is no list of numbers of cores`, 'write it like 1,2,4');
  if (new Set(cores).size < cores.length)
    throw usage(`"${text}" names a number of cores twice`, '--repeat runs each of them several times');
  if (cores.length < 2) throw usage('a study needs at least two sizes', 'write them like 1,2,4');
  return cores.toSorted((a, b) => a - b);
}

function times(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw usage(`"${text}" is not a number of runs`);
}

export function defineRun(command: Command): void {
  studyOptions(
    command
      .summary('run a command on several numbers of cores, and record each run')
      .description('Run a command on several numbers of cores, record each run, and say how it scales.')
      .usage('--cores 1,2,4 [options] -- COMMAND [ARGUMENT…]')
      .argument('[command...]', `the command, after --; ${PLACE} in it stands for the number of cores`)
      .requiredOption('--cores <list>', 'numbers of cores, separated by commas', coresList)
      .option('-r, --repeat <n>', 'run each size N times, in turn', times, 3)
      .option('--name <name>', 'a name for the jobs (default: the command)')
      .option('-t, --tag <key:value>', 'a tag for all runs; may be given several times', several)
      .option('-o, --output <folder>', 'the folder for the recordings (default: tacho-scale-<date> here)')
      .option('-i, --interval <duration>', 'between two samples')
      .option('--no-bind', 'do not bind the command to N CPUs: it does that itself'),
  )
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Each run is recorded by tacho run, with the tag ${CORES_TAG}, bound to that many CPUs (taskset),
one of each core first. OMP_NUM_THREADS is set to the number of cores. The command's output goes
to stderr. When a run fails, the study stops.

Examples:
  tacho scale run --cores 1,2,4 -- ./solver -t {cores} input.nml
  tacho scale run --cores 1,2 --repeat 5 --format json -- ./a.out > study.json
  tacho scale run --cores 2,4,8 --no-bind -- mpirun -n {cores} ./solver
  tacho scale run --cores 1,2,4 --kind weak -- ./solver --cells {cores}000
`,
    )
    .action(async (command: string[], options: RunOptions) => {
      if (command.length === 0) throw usage('no command given', 'tacho scale run --cores 1,2,4 -- COMMAND [ARGUMENT…]');
      const folder = await makeStudy(command, options);
      const { scaleOf } = await import('./scale-runs.ts');
      const { name: _, ...choice } = options;
      await printScale(await scaleOf([folder], { ...choice, by: 'cores' }), options.format);
      process.stderr.write(`Recordings ${near(path.resolve(folder))}\n`);
    });
}

async function makeStudy(command: readonly string[], options: RunOptions): Promise<string> {
  const { cpusFor, usableCpus } = await import('../agent/run/study-cpus.ts');
  if (options.tag !== undefined) parseTags(options.tag);
  const isBound = options.bind;
  if (isBound && spawnSync('taskset', ['--version']).error !== undefined)
    throw new Fault('taskset is not here, which binds a command to CPUs', {
      hint: 'install util-linux, or use --no-bind when the command binds itself',
    });
  const usable = isBound ? usableCpus() : [];
  const binding = new Map(options.cores.map((cores) => [cores, isBound ? cpusFor(cores, usable) : []]));
  const folder = emptyFolder(options.output);
  const total = options.cores.length * options.repeat;
  let done = 0;
  // in turn, so that what changes meanwhile on the machine changes for all sizes
  for (let round = 1; round <= options.repeat; round++)
    for (const cores of options.cores) {
      process.stderr.write(`tacho: run ${++done} of ${total}: ${count(cores, 'core')}\n`);
      const output = path.join(folder, `cores-${cores}-run-${round}`);
      // not that of taskset, which every run begins with
      const name = options.name ?? path.basename(command[0]!);
      await recorded(commandFor(command, cores, binding.get(cores)!), cores, output, { ...options, name });
    }
  return folder;
}

/** With the number of cores in it, and bound to its CPUs. */
function commandFor(command: readonly string[], cores: number, cpus: readonly number[]): string[] {
  const own = command.map((word) => word.replaceAll(PLACE, String(cores)));
  return cpus.length === 0 ? own : ['taskset', '--cpu-list', cpus.join(','), ...own];
}

function emptyFolder(given: string | undefined): string {
  const date = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const folder = given ?? `tacho-scale-${date}`;
  try {
    if (fs.readdirSync(folder).length > 0)
      throw usage(`${folder} is not empty`, 'a study has a folder of its own: choose another with --output');
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error;
  }
  makeFolder(folder);
  return folder;
}

/** One run, by `tacho run`. */
async function recorded(
  command: string[],
  cores: number,
  output: string,
  options: RunOptions & { name: string },
): Promise<void> {
  const { interval, name, tag = [] } = options;
  const args = [
    ...['run', '--strict', '--no-report', '--output', output, '--tag', `${CORES_TAG}:${cores}`],
    ...(interval === undefined ? [] : ['--interval', interval]),
    ...['--name', name],
    ...tag.flatMap((each) => ['--tag', each]),
  ];
  const env = { ...theirEnvironment(), OMP_NUM_THREADS: String(cores) };
  // what the command prints is not the answer
  const child = spawn(ours('tacho'), [...args, '--', ...command], { env, stdio: ['inherit', 2, 2] });
  // Ctrl-C is the run's: this process ends when that has
  const ignore = (): void => {};
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', ignore).on('SIGTERM', pass);
  const { exitCode, signal } = await new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>(
    (resolve, reject) => {
      child.on('error', reject).on('close', (exitCode, signal) => resolve({ exitCode, signal }));
    },
  );
  process.off('SIGINT', ignore).off('SIGTERM', pass);
  if (exitCode === 0) return;
  // somebody stopped it: the study ends the same way
  if (signal === 'SIGINT' || signal === 'SIGTERM') {
    process.stderr.write(`tacho: the study was stopped; ${near(path.resolve(output, '..'))} has its recordings\n`);
    const { endAs } = await import('../agent/run/end-as.ts');
    endAs({ signal });
    await new Promise(() => {});
  }
  const how = signal === null ? `exit code ${exitCode}` : signal;
  throw new Fault(`the run on ${count(cores, 'core')} failed (${how}): the study stops`, {
    hint: `its recording is ${near(path.resolve(output))}`,
  });
}
