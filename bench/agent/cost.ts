import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { VERSION } from '../../src/base/version.ts';
import { createRecording } from '../../src/recording/folder/create.ts';
import { FORMAT, type Job } from '../../src/recording/folder/job.ts';
import type { Row } from '../row.ts';

export interface CostOptions {
  processes?: number;
  /** How many of them work now and then. */
  workers?: number;
  rounds?: number;
  /** Length of one measurement. */
  seconds?: number;
  /** Before the first measurement: programs that compile themselves while they run need a while to settle. */
  warmup?: number;
}

const HERE = import.meta.dirname;
const JOB: Job = {
  format: FORMAT,
  tacho: VERSION,
  id: 'bench',
  scheduler: 'none',
  name: 'bench',
  user: 'bench',
  uid: process.getuid!(),
  asked: {},
  nodes: ['bench'],
  interval_seconds: 1,
  start: Date.now() * 1000,
  state: 'running',
  tags: {},
  environment: {},
};
const HOST_TABLES = ['loadavg', 'meminfo', 'vmstat', 'cpu'];

/**
 * What the agent costs at 1 Hz, against a C program that reads the same files and skips what did not run. Both live through the whole benchmark;
 * they take turns (the other one is stopped), so that both meet the same noise.
 */
export async function bench(options: CostOptions = {}): Promise<Row[]> {
  const { processes = 300, workers = 30, rounds = 5, seconds = 10, warmup = 120 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const started: ChildProcess[] = [];
  try {
    for (const name of ['reader', 'crowd']) {
      execFileSync('cc', ['-O2', '-o', path.join(folder, name), path.join(HERE, `${name}.c`)]);
    }
    const program = release(folder);
    const crowd = spawn(path.join(folder, 'crowd'), [String(processes), String(workers)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    started.push(crowd);
    const pids = await crowdPids(crowd);

    const reader = (name: string, of: readonly string[]): ChildProcess =>
      spawn(path.join(folder, 'reader'), [path.join(folder, `${name}.csv`), ...of], { stdio: 'ignore' });
    const agent = (name: string, tables: readonly string[]): ChildProcess => {
      const recording = createRecording(path.join(folder, name), JOB);
      const args = ['agent', '--recording', recording, '--node', 'bench', '--interval', '1s'];
      return spawn(program, [...args, '--pid', String(crowd.pid), '--only', tables.join()], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    };
    const all = [
      reader('all', pids),
      agent('agent-all', [...HOST_TABLES, 'process']),
      reader('host', []),
      agent('agent-host', HOST_TABLES),
    ];
    started.push(...all);
    await sleep(warmup);
    for (const p of all) if (p.exitCode !== null) throw new Error(`${p.spawnargs.join(' ')} ended with ${p.exitCode}`);

    const cost = await takeTurns(all, rounds, seconds);
    const rss = all.map((p) => residentBytes(p.pid!) / 1e6);
    const rows = countRows(path.join(folder, 'agent-all'));
    if (rows < processes) throw new Error(`the agent wrote ${rows} rows of ${processes} processes`);
    const perHour = (i: number): number => round(cost[i]! * 3600);
    return [
      {
        what: `agent CPU at 1 Hz, host tables + ${processes} processes`,
        must: '≤ 10.8 CPU s/h',
        measured: perHour(1),
        unit: 'CPU s/h',
        peer: `C that skips the same: ${perHour(0)}`,
        ratio: round(cost[1]! / cost[0]!),
      },
      {
        what: 'agent CPU at 1 Hz, host tables only',
        must: '≤ 1.6 CPU s/h',
        measured: perHour(3),
        unit: 'CPU s/h',
        peer: `C program: ${perHour(2)}`,
        ratio: round(cost[3]! / cost[2]!),
      },
      {
        what: `agent memory, host tables + ${processes} processes`,
        must: '≤ 45 MB',
        measured: round(rss[1]!),
        unit: 'MB',
        peer: `C program: ${round(rss[0]!)}`,
        ratio: round(rss[1]! / rss[0]!),
      },
      {
        what: 'agent memory, host tables only',
        must: '≤ 45 MB',
        measured: round(rss[3]!),
        unit: 'MB',
        peer: `C program: ${round(rss[2]!)}`,
        ratio: round(rss[3]! / rss[2]!),
      },
    ];
  } finally {
    for (const p of started) p.kill('SIGKILL');
    await Promise.all(started.map((p) => (p.exitCode === null && p.signalCode === null ? once(p, 'exit') : undefined)));
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The program as it is shipped: TypeScript run as it is needs more memory. */
function release(folder: string): string {
  const to = path.join(folder, 'release');
  execFileSync('sh', [path.join(HERE, '../../scripts/release'), to], { stdio: 'ignore' });
  const name = fs.readdirSync(to).find((each) => !each.endsWith('.gz'))!;
  return path.join(to, name, 'tacho');
}

async function crowdPids(crowd: ChildProcess): Promise<string[]> {
  const pids: string[] = [];
  for await (const line of createInterface({ input: crowd.stdout! })) {
    if (line === 'ready') break;
    pids.push(line);
  }
  return pids;
}

/** CPU seconds a second of each program: the median of its turns. */
async function takeTurns(programs: readonly ChildProcess[], rounds: number, seconds: number): Promise<number[]> {
  const shares: number[][] = programs.map(() => []);
  for (const p of programs) p.kill('SIGSTOP');
  for (let round = 0; round < rounds; round++) {
    for (const [i, p] of programs.entries()) {
      p.kill('SIGCONT');
      // the first tick after a stop is late; measure from the middle between two ticks
      await sleep(2.5 - (Date.now() % 1000) / 1000);
      const before = cpuNanoseconds(p.pid!);
      const begin = performance.now();
      await sleep(seconds);
      shares[i]!.push((cpuNanoseconds(p.pid!) - before) / 1e6 / (performance.now() - begin));
      p.kill('SIGSTOP');
    }
  }
  for (const p of programs) p.kill('SIGCONT');
  return shares.map(median);
}

/** CPU time of all threads; finer than the ticks of /proc/PID/stat. */
function cpuNanoseconds(pid: number): number {
  let sum = 0;
  for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
    sum += Number(fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
  }
  return sum;
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1024;
}

function countRows(recording: string): number {
  const file = path.join(recording, 'node=bench', 'process.csv');
  return fs.readFileSync(file, 'latin1').split('\n').length - 2;
}

const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const round = (value: number): number => Number(value.toPrecision(3));

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

if (process.argv[1] === import.meta.filename) console.table(await bench());
