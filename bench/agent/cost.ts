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
  /** So many sleep … */
  processes?: number;
  /** … or so many of them work now and then. */
  workers?: number;
  rounds?: number;
  /** Length of one measurement. */
  seconds?: number;
  /** Made for it otherwise. */
  release?: string;
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
 * What the agent costs at 1 Hz, against a C program that reads the same files and skips what did not run. All live through
 * the whole benchmark; they take turns (the others are stopped), so that all meet the same noise.
 */
export async function bench(options: CostOptions = {}): Promise<Row[]> {
  const { processes = 300, workers = 30, rounds = 5, seconds = 10, warmup = 120 } = options;
  const load = os.loadavg()[0]!.toFixed(1);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const started: ChildProcess[] = [];
  try {
    for (const name of ['reader', 'crowd']) {
      execFileSync('cc', ['-O2', '-o', path.join(folder, name), path.join(HERE, `${name}.c`)]);
    }
    const program = options.release ?? makeRelease(folder);
    const crowdOf = async (busy: number): Promise<{ root: string; pids: string[] }> => {
      const crowd = spawn(path.join(folder, 'crowd'), [String(processes), String(busy)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      started.push(crowd);
      return { root: String(crowd.pid), pids: await crowdPids(crowd) };
    };
    const [asleep, busy] = [await crowdOf(0), await crowdOf(workers)];

    const reader = (name: string, of: readonly string[]): ChildProcess =>
      spawn(path.join(folder, 'reader'), [path.join(folder, `${name}.csv`), ...of], { stdio: 'ignore' });
    const agent = (name: string, tables: readonly string[], root = asleep.root): ChildProcess => {
      const recording = createRecording(path.join(folder, name), JOB);
      const args = ['agent', '--recording', recording, '--node', 'bench', '--interval', '1s'];
      return spawn(program, [...args, '--pid', root, '--only', tables.join()], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    };
    const withProcesses = [...HOST_TABLES, 'process'];
    const all = [
      reader('host', []),
      agent('agent-host', HOST_TABLES),
      reader('asleep', asleep.pids),
      agent('agent-asleep', withProcesses),
      reader('busy', busy.pids),
      agent('agent-busy', withProcesses, busy.root),
    ];
    started.push(...all);
    await sleep(warmup);
    for (const p of all) if (p.exitCode !== null) throw new Error(`${p.spawnargs.join(' ')} ended with ${p.exitCode}`);

    const programs = all.map((p) => withChildren(p.pid!));
    // agents that are stopped, below, and find that they were away need more
    const memories = [
      ...memoryRows('host tables', programs[0]!, programs[1]!),
      ...memoryRows(`host tables and ${processes} processes`, programs[4]!, programs[5]!),
    ];
    const cost = await takeTurns(programs, rounds, seconds);
    for (const name of ['agent-asleep', 'agent-busy']) {
      const rows = countRows(path.join(folder, name));
      if (rows < processes) throw new Error(`the agent wrote ${rows} rows of ${processes} processes`);
    }
    const cpu = (what: string, must: number, reads: number): Row => ({
      what: `agent CPU a tick at 1 Hz, ${what} (load ${load})`,
      must: `≤ ${must} ms`,
      measured: round(cost[reads + 1]! * 1000),
      unit: 'ms',
      peer: `C that skips the same: ${round(cost[reads]! * 1000)}`,
      ratio: round(cost[reads + 1]! / cost[reads]!),
    });
    const perHour = cpu('host tables', 0.45, 0);
    return [
      perHour,
      { ...perHour, what: '  CPU seconds an hour', must: '≤ 1.6 s', measured: round(cost[1]! * 3600), unit: 's' },
      cpu(`host tables and ${processes} sleeping processes`, 2.2, 2),
      cpu(`host tables and ${processes} processes, ${workers} of them busy`, 3, 4),
      ...memories,
    ];
  } finally {
    for (const p of started) p.kill('SIGKILL');
    await Promise.all(started.map((p) => (p.exitCode === null && p.signalCode === null ? once(p, 'exit') : undefined)));
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The program as it is shipped: TypeScript run as it is needs more memory. */
function makeRelease(folder: string): string {
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

/** A process and those that it has started: an agent's Node has a guard above it (native/launch-guard.c). */
function withChildren(pid: number): number[] {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
}

/** CPU seconds a second of each program: the median of its turns. */
async function takeTurns(programs: readonly number[][], rounds: number, seconds: number): Promise<number[]> {
  const shares: number[][] = programs.map(() => []);
  const signal = (pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const pid of pids) process.kill(pid, name);
  };
  for (const pids of programs) signal(pids, 'SIGSTOP');
  for (let round = 0; round < rounds; round++) {
    for (const [i, pids] of programs.entries()) {
      signal(pids, 'SIGCONT');
      // the first tick after a stop is late; measure from the middle between two ticks
      await sleep(2.5 - (Date.now() % 1000) / 1000);
      const before = cpuNanoseconds(pids);
      const begin = performance.now();
      await sleep(seconds);
      shares[i]!.push((cpuNanoseconds(pids) - before) / 1e6 / (performance.now() - begin));
      signal(pids, 'SIGSTOP');
    }
  }
  for (const pids of programs) signal(pids, 'SIGCONT');
  return shares.map(median);
}

/** CPU time of all threads; finer than the ticks of /proc/PID/stat. */
function cpuNanoseconds(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
      sum += Number(fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    }
  }
  return sum;
}

/** Of a program and the agent beside it. */
function memoryRows(tables: string, program: readonly number[], agent: readonly number[]): Row[] {
  const [theirs, ours] = [memoryOf(program), memoryOf(agent)];
  const steady = {
    what: `agent memory, ${tables} (${round(ours.own)} MB of it its own)`,
    must: '≤ 45 MB',
    measured: round(ours.resident),
    unit: 'MB',
    peer: `C program: ${round(theirs.resident)}`,
    ratio: round(ours.resident / theirs.resident),
  };
  return [steady, peakRow(tables, agent)];
}

/** Of an agent's Node, which a guard has started. */
function peakRow(tables: string, [guard, ...node]: readonly number[]): Row {
  const [measured, bare] = [memoryOf(node).peak, bareNode()];
  return {
    what: `agent memory at its peak, start-up included, ${tables} (and ${round(memoryOf([guard!]).peak)} MB of its guard)`,
    must: '≤ 45 MB',
    measured: round(measured),
    unit: 'MB',
    peer: `bare Node: ${round(bare)}`,
    ratio: round(measured / bare),
  };
}

/** Megabytes that were resident in a Node that did nothing. */
function bareNode(): number {
  const ask = "require('fs').readFileSync('/proc/self/status', 'latin1')";
  const status = execFileSync(process.execPath, ['-p', ask], { encoding: 'latin1' });
  return (Number(/VmHWM:\s+(\d+)/.exec(status)![1]) * 1024) / 1e6;
}

/** Megabytes that are resident, those of them that are no pages of files, and the most that were ever resident. */
function memoryOf(pids: readonly number[]): { resident: number; own: number; peak: number } {
  const sum = (field: RegExp): number =>
    pids.reduce((all, pid) => all + Number(field.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1024, 0);
  const [resident, own, peak] = [/VmRSS:\s+(\d+)/, /RssAnon:\s+(\d+)/, /VmHWM:\s+(\d+)/].map(
    (field) => sum(field) / 1e6,
  );
  return { resident: resident!, own: own!, peak: peak! };
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
