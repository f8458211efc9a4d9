import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { importEpmt } from '../src/import/epmt/import.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { type Server, startPostgres, whyNoPostgres } from '../test/postgres/server.ts';
import { madeUp, ofSize } from './import.ts';
import type { Row } from './row.ts';

export interface SubmitBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
}

const HERE = path.join(import.meta.dirname, '..');
const TACHO = path.join(HERE, 'tacho');
/** A build of the Linux kernel that EPMT recorded, where it is at hand; otherwise one is made up. */
const REAL = path.join(HERE, '../shared/data/epmt/kern-6656-20190614-190245.tgz');
const PROCESSES = 10_600;
const JOBS = 4;
/** In a large one. */
const LARGE = 35_000;

/** Submitting to a real PostgreSQL with threads, tree and operations, beside psql that copies the same rows ready-made. */
export async function bench(options: SubmitBenchOptions = {}): Promise<Row[]> {
  if (whyNoPostgres() !== false) return [];
  const { runs = 7 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const server = await startPostgres();
  try {
    const { jobs, large } = await recordings(folder);
    const db = server.fresh();
    const name = db.slice(db.lastIndexOf('/') + 1);
    command(['db', 'migrate', '--db', db]);
    const one: number[] = [];
    const largeOne: number[] = [];
    const four: number[] = [];
    const plain: number[] = [];
    const read: number[] = [];
    for (let run = 0; run < runs; run++) {
      server.sql(name, 'delete from tacho.jobs');
      one.push(command(['submit', jobs[0]!, '--db', db]));
      if (run === 0) keepRows(db, server, name, folder);
      read.push(command(['processes', openRecording(jobs[0]!).job.id, '--db', db]));
      plain.push(copyRows(db, server, name, folder));
      server.sql(name, 'delete from tacho.jobs');
      four.push(command(['submit', ...jobs, '--db', db]));
      server.sql(name, 'delete from tacho.jobs');
      largeOne.push(command(['submit', large, '--db', db]));
    }
    const floor = PROCESSES / median(plain);
    const peer = `psql \\copy, rows ready-made: ${Math.round(floor)}`;
    const rate = (what: string, must: string, processes: number, times: readonly number[]): Row => {
      const measured = processes / median(times);
      return { what, must, measured, unit: 'processes/s', peer, ratio: measured / floor };
    };
    return [
      rate('submit, whole command: 1 job of 35,000', '≥ 20000 /s', LARGE, largeOne),
      rate('submit, whole command: 4 jobs of 10,600', '≥ 20000 /s', PROCESSES * JOBS, four),
      rate('submit, whole command: 1 job of 10,600', '≥ 30000 /s', PROCESSES, one),
      {
        what: 'processes --db, whole command: 1 job of 10,600',
        must: '',
        measured: median(read),
        unit: 's',
        peer: '',
        ratio: Number.NaN,
      },
    ];
  } finally {
    await server.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The same job four times, under different ids, and a large one. */
async function recordings(folder: string): Promise<{ jobs: string[]; large: string }> {
  const archive = fs.existsSync(REAL) ? REAL : madeUp(path.join(folder, 'one.tgz'));
  const imported = async (input: string, into: string): Promise<string> =>
    (await importEpmt([input], { folder: path.join(folder, into) })).imported[0]!.recording;
  const small = await imported(archive, 'small');
  const jobs = Array.from({ length: JOBS }, (_, i) => {
    const copy = path.join(folder, `job-${i}`);
    fs.cpSync(small, copy, { recursive: true });
    const file = path.join(copy, 'job.json');
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), id: `job-${i}` }));
    return copy;
  });
  return { jobs, large: await imported(await ofSize(archive, path.join(folder, 'large.tgz'), LARGE), 'large') };
}

const TABLES = ['processes', 'thread_rows'];

/** What was stored, as files that psql can load, and tables like those that it is in. */
function keepRows(db: string, server: Server, name: string, folder: string): void {
  psql(
    db,
    folder,
    TABLES.map((table) => `\\copy tacho.${table} to '${path.join(folder, table)}'`),
  );
  for (const table of TABLES) server.sql(name, `create table plain_${table} (like tacho.${table} including all)`);
}

function copyRows(db: string, server: Server, name: string, folder: string): number {
  server.sql(name, 'truncate plain_processes, plain_thread_rows');
  const copies = TABLES.map((table) => `\\copy plain_${table} from '${path.join(folder, table)}'`);
  return psql(db, folder, ['begin;', ...copies, 'commit;']);
}

/** Seconds that psql takes for these lines. */
function psql(db: string, folder: string, lines: readonly string[]): number {
  const file = path.join(folder, 'lines.sql');
  fs.writeFileSync(file, `${lines.join('\n')}\n`);
  const began = performance.now();
  execFileSync('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', db, '-f', file], { stdio: 'pipe' });
  return (performance.now() - began) / 1000;
}

/** Seconds that `tacho …` takes. */
function command(args: readonly string[]): number {
  const began = performance.now();
  const done = spawnSync(TACHO, args, { encoding: 'utf8', maxBuffer: 1e9 });
  if (done.status !== 0) throw new Error(`tacho ${args.join(' ')} failed:\n${done.stderr}`);
  return (performance.now() - began) / 1000;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
