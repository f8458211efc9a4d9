import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ours } from '../src/base/ours.ts';
import { pairedExtra } from './paired.ts';
import { writeProject } from './preload/project.ts';
import type { Row } from './row.ts';

export interface PreloadOptions {
  /** Measurements of each, alternating; the median counts. */
  rounds?: number;
  processes?: number;
  threads?: number;
  modules?: number;
  /** Of makes, four each: without, with, with, without. */
  fours?: number;
}

const HERE = path.join(import.meta.dirname, 'preload');
const LIBRARY = ours('native/build/libtacho-record.so');

/** What its users were told papiex costs, which records processes and threads in the same way (µs). */
const PAPIEX_PROCESS = 900;
const PAPIEX_THREAD = 120;

/** What it costs a program that its processes and threads record themselves, beside the same program without. */
export async function bench(options: PreloadOptions = {}): Promise<Row[]> {
  const { rounds = 11, processes = 400, threads = 5000, modules = 30, fours = 13 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const shared = fs.mkdtempSync('/dev/shm/tacho-bench-');
  try {
    const events = path.join(shared, 'events');
    for (const name of ['start-processes', 'start-threads']) {
      execFileSync('cc', ['-O2', '-pthread', '-o', path.join(folder, name), path.join(HERE, `${name}.c`)]);
    }
    const bare: Measured = { cpu: [], wall: [] };
    const recorded: Measured = { cpu: [], wall: [] };
    const thread = { bare: empty(), recorded: empty(), counted: empty() };
    const on = { LD_PRELOAD: LIBRARY, TACHO_RECORD: events };
    for (let round = 0; round < rounds; round++) {
      fs.rmSync(events, { force: true });
      const start = [path.join(folder, 'start-processes'), String(processes), '/bin/true'];
      const several = [path.join(folder, 'start-threads'), String(threads)];
      add(bare, start, {});
      add(recorded, start, { PRELOAD: LIBRARY, TACHO_RECORD: events });
      add(thread.bare, several, {});
      add(thread.recorded, several, { ...on, TACHO_RECORD_THREAD_MS: '0' });
      add(thread.counted, several, { ...on, TACHO_RECORD_THREAD_MS: '1000' });
    }
    // what was measured one after the other met the same noise
    const extra = (of: Measured, without: Measured): number => median(of.cpu.map((cpu, i) => cpu - without.cpu[i]!));
    return [
      row(
        'extra CPU of a short process, start and end',
        '≤ 0.2 ms',
        extra(recorded, bare) / 1e3,
        'ms',
        PAPIEX_PROCESS / 1e3,
      ),
      row('extra CPU of a thread, recorded', '≤ 70 µs', extra(thread.recorded, thread.bare), 'µs', PAPIEX_THREAD),
      row('extra CPU of a thread, counted', '≤ 10 µs', extra(thread.counted, thread.bare), 'µs', PAPIEX_THREAD),
      ...benchMake(path.join(folder, 'project'), modules, fours, on),
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
    fs.rmSync(shared, { recursive: true, force: true });
  }
}

interface Measured {
  cpu: number[];
  wall: number[];
}

const empty = (): Measured => ({ cpu: [], wall: [] });

function add(to: Measured, command: readonly string[], env: Record<string, string>): void {
  const output = execFileSync(command[0]!, command.slice(1), { env: { ...process.env, ...env }, encoding: 'utf8' });
  const [cpu, wall] = output.trim().split(' ').map(Number);
  to.cpu.push(cpu!);
  to.wall.push(wall!);
}

/** A make from nothing, with and without; every process that make started must have left its lines. */
function benchMake(folder: string, modules: number, fours: number, on: Record<string, string>): Row[] {
  writeProject(folder, modules);
  const bare = empty();
  const recorded = empty();
  const jobs = `-j${os.availableParallelism()}`;
  const make = (to: Measured, env: Record<string, string>): void => {
    spawnSync('make', ['clean'], { cwd: folder, stdio: 'ignore' });
    const before = childrenCpu();
    const began = performance.now();
    const done = spawnSync('make', ['-s', jobs], { cwd: folder, env: { ...process.env, ...env }, encoding: 'utf8' });
    to.wall.push((performance.now() - began) / 1e3);
    to.cpu.push(childrenCpu() - before);
    if (done.status !== 0) throw new Error(`make failed: ${done.stderr}`);
  };
  make(empty(), {});
  for (let four = 0; four < fours; four++) {
    fs.rmSync(on.TACHO_RECORD!, { force: true });
    make(bare, {});
    make(recorded, on);
    make(recorded, on);
    make(bare, {});
  }
  const lines = fs.readFileSync(on.TACHO_RECORD!, 'latin1').split('\n');
  const compilers = lines.filter((line) => line.startsWith('E4') && line.includes('/cc1\t')).length;
  const expected = 2 * (modules + 1);
  if (compilers < expected) throw new Error(`${compilers} compilers recorded of ${expected}`);
  const against = (name: keyof Measured, what: string, must: string): Row => {
    const { median: extra, quartiles } = pairedExtra(bare[name], recorded[name]);
    const spread = quartiles.map((quartile) => quartile.toFixed(1)).join(' to ');
    return {
      what: `make of ${modules} C files, all processes recorded: extra ${what}`,
      must,
      measured: extra,
      unit: '%',
      peer: `without ${median(bare[name]).toFixed(2)} s; half ${spread} %`,
      ratio: 1 + extra / 100,
    };
  };
  // beside others' work the CPU time is the surer one of the two
  return [against('wall', 'wall', '≤ 2 %'), against('cpu', 'CPU', '')];
}

/** CPU seconds of all children so far: the kernel's clock ticks are fine enough for a make. */
function childrenCpu(): number {
  const stat = fs.readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

function row(what: string, must: string, measured: number, unit: string, papiex: number): Row {
  return { what, must, measured, unit, peer: `papiex, as documented ${papiex} ${unit}`, ratio: measured / papiex };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
