import '../base/guard.ts';
import { beKilledFirst } from '../base/killed-first.ts';
import { ignoreApplicationSignals, PAUSE_SIGNALS } from '../base/signals.ts';
import { allowThreads, THREAD_MARK } from '../base/two-threads.ts';
import type { ThreadTask } from './thread.ts';

// The launcher's compile cache is for Tacho, not for the programs that Tacho starts.
if (process.env.NODE_COMPILE_CACHE?.endsWith('/tacho/compile')) delete process.env.NODE_COMPILE_CACHE;
// How malloc is to be thrifty, malloc has read already.
if (process.env.TACHO_ARENAS !== undefined) {
  delete process.env.MALLOC_ARENA_MAX;
  delete process.env.TACHO_ARENAS;
}
// Agents look for it in what the kernel keeps of this process; what we start is not ours.
delete process.env.TACHO_OWN;

/** One of them is set in a scheduler's job. */
const JOBS = ['SLURM_JOB_ID', 'PBS_JOBID', 'FLUX_JOB_ID'];

/** What runs beside the job's own programs, and has to give way to them. */
const IN_JOB = ['start', 'stop', 'status', 'mark', 'fom', 'agent'];

// An agent must not die of what is meant for the application beside it, however early that comes.
if (process.argv[2] === 'agent') ignoreApplicationSignals(PAUSE_SIGNALS);
if (process.argv[2] === 'hub') ignoreApplicationSignals();

if (process.argv[2] === '--isolated-sources') {
  // a release is one file: the process that reads what may hang starts here too
  void import('../agent/isolated/worker.ts').then(({ runWorker }) => runWorker());
} else if (process.argv[2] === '--seal-as') {
  // and so does the one that seals for a hub
  void import('../hub/keep/seal-worker.ts').then(({ runSealWorker }) => runSealWorker());
} else if (process.argv[2] === '--summarise-as') {
  // and the one that summarises recordings for an index
  void import('../history/index/summarise-worker.ts').then(({ runSummariseWorker }) => runSummariseWorker());
} else if (process.argv[2] === THREAD_MARK) {
  // and a second thread
  void import('./thread.ts').then(({ runThread }) => runThread(process.argv[3] as ThreadTask));
} else void main(process.argv.slice(2));

/** What works for the node, not in the job, though it may be told of one: prolog, epilog, services. */
function isService([verb, ...rest]: readonly string[]): boolean {
  return verb === 'job' || verb === 'hub' || (verb === 'agent' && !rest.includes('--recording'));
}

async function main(args: readonly string[]): Promise<void> {
  const { TACHO_RECORDING: recording } = process.env;
  forgive('stdout', (error) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
  forgive('stderr', () => {});
  try {
    const { rescued } = await import('../base/rescue.ts');
    process.on('uncaughtException', (error) => void (rescued(error) || fail(error, args)));
    // a command of `run` would inherit it
    if (IN_JOB.includes(args[0] ?? '') && !isService(args)) beKilledFirst();
    if (args.length === 1 && args[0] === '--version') {
      process.stdout.write(`${(await import('../base/version.ts')).VERSION}\n`);
      return;
    }
    await noteCost(args, recording);
    allowThreads(process.argv[1]);
    const { runProgram } = await import('./program.ts');
    await runProgram(args);
  } catch (error) {
    await fail(error, args);
  }
}

/** Whoever reads our output may stop reading: that ends an answer, but never a recording. What is not used is not made. */
function forgive(name: 'stdout' | 'stderr', refused: (error: NodeJS.ErrnoException) => void): void {
  const { get } = Object.getOwnPropertyDescriptor(process, name)!;
  const made = (): NodeJS.WriteStream => {
    const value = (get as () => NodeJS.WriteStream).call(process);
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true });
    return value.on('error', refused);
  };
  Object.defineProperty(process, name, { get: made, configurable: true, enumerable: true });
}

/** What this command itself uses is not the job's; what some of them start is. */
async function noteCost(args: readonly string[], recording: string | undefined): Promise<void> {
  const children = !['run', 'notebook'].includes(args[0] ?? '');
  try {
    // an agent tells by itself what it costs
    if (recording && args[0] !== 'agent')
      (await import('../control/own-use.ts')).noteAtExit(recording, process.env, children);
    if (JOBS.some((name) => process.env[name]) && !isService(args))
      (await import('../control/active.ts')).noteInJob(process.env, args[0] ?? '', children);
  } catch {
    // a command does its work, whether or not it can say what that cost
  }
}

async function fail(error: unknown, args: readonly string[]): Promise<void> {
  // Tacho itself is broken, not what it was asked for
  const broken = (error as Error | undefined)?.name !== 'Fault';
  if (broken && (await (await import('./script-goes-on.ts')).scriptGoesOn(error, args))) return;
  const { tell } = await import('./failure.ts');
  process.exit(tell(error));
}
