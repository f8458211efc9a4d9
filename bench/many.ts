import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Row } from './row.ts';

export interface ManyOptions {
  /** How many small recordings lie in the folder; several: one folder after the other. */
  recordings?: readonly number[];
  /** Runs of each, alternating; the median counts. */
  runs?: number;
  /** The program; else that of the checkout. */
  tacho?: string;
}

const TACHO = process.env.TACHO ?? path.join(import.meta.dirname, '..', 'tacho');

/** A folder full of small unsealed recordings: what reports and a list of all of them take, beside reading their bytes. */
export async function bench(options: ManyOptions = {}): Promise<Row[]> {
  const { recordings = [1000, 10_000], runs = 3, tacho = TACHO } = options;
  return recordings.flatMap((count) => measure(count, runs, tacho));
}

function measure(recordings: number, runs: number, tacho: string): Row[] {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const many = path.join(folder, 'many');
    makeMany(tacho, folder, many, recordings);
    const times = { report: [] as number[], list: [] as number[], read: [] as number[] };
    let memory = 0;
    for (let run = 0; run < runs; run++) {
      times.read.push(seconds(() => readAll(many)));
      times.list.push(seconds(() => command(tacho, 'list', many)));
      times.report.push(
        seconds(() => {
          memory = Math.max(memory, command(tacho, 'report', many));
        }),
      );
    }
    const floor = median(times.read);
    const peer = `reading all bytes ${floor.toPrecision(3)} s`;
    const row = (what: string, must: string, all: readonly number[]): Row => {
      const measured = median(all);
      return { what: `${what} of ${recordings}`, must, measured, unit: 's', peer, ratio: measured / floor };
    };
    return [
      row('report', recordings === 1000 ? '≤ 3' : recordings === 10_000 ? '≤ 30' : '', times.report),
      row('list', recordings === 10_000 ? '≤ 2' : '', times.list),
      {
        what: `memory of the report of ${recordings}`,
        must: '≤ 200',
        measured: memory,
        unit: 'MB',
        peer: '',
        ratio: Number.NaN,
      },
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies of one recording by links: the files are the same, their folders and jobs are not. */
function makeMany(tacho: string, folder: string, many: string, count: number): void {
  const one = path.join(folder, 'one');
  execFileSync(tacho, ['run', '--no-report', '-o', one, '--', 'sleep', '1.2']);
  const job = JSON.parse(fs.readFileSync(path.join(one, 'job.json'), 'utf8')) as { start: number; end: number };
  const node = fs.readdirSync(one).find((name) => name.startsWith('node='))!;
  const files = fs.readdirSync(path.join(one, node));
  for (let i = 0; i < count; i++) {
    const target = path.join(many, `job-${i}`);
    fs.mkdirSync(path.join(target, node), { recursive: true });
    const own = { ...job, id: String(i + 1), start: job.start + i * 1e6, end: job.end + i * 1e6 };
    fs.writeFileSync(path.join(target, 'job.json'), JSON.stringify(own));
    for (const file of files) fs.linkSync(path.join(one, node, file), path.join(target, node, file));
  }
}

/** Runs it, and returns how much memory it had, in MB. */
function command(tacho: string, ...args: string[]): number {
  const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%M', tacho, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stderr.trim().split('\n').at(-1)) / 1024;
}

function readAll(folder: string): void {
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) fs.readFileSync(path.join(entry.parentPath, entry.name));
}

function seconds(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1e3;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;
