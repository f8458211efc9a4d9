import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { buildIndex } from '../src/history/index/build.ts';
import { indexFolder } from '../src/history/index/index-files.ts';
import { TABLES_MARK } from '../src/history/index/index-version.ts';
import { joinMonths } from '../src/history/index/months.ts';
import { jobsTable } from '../src/history/tables/jobs.ts';
import type { Row } from './row.ts';

export interface HistoryOptions {
  jobs?: number;
  /** Small recordings that are indexed. */
  recordings?: number;
  /** Of each, alternating; the median counts. */
  rounds?: number;
  tacho?: string;
}

const TACHO = process.env.TACHO ?? path.join(import.meta.dirname, '..', 'tacho');
const YEAR = ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'] as const;

/** A year of 1,000 nodes and a million jobs: questions beside DuckDB on the bare files; and what making an index takes. */
export async function bench(options: HistoryOptions = {}): Promise<Row[]> {
  const { jobs = 1_000_000, recordings = 10_000, rounds = 5, tacho = TACHO } = options;
  const archive = await yearOf(jobs);
  const period = ['--from', YEAR[0], '--to', YEAR[1]];
  const heat = [tacho, 'history', archive, '--by', 'hour-weekday', '--timezone', 'Europe/Oslo', ...period];
  const filter = [tacho, 'jobs', archive, '--user', 'user17', '--max', 'cpu_use=0.3', '--sort', 'core_hours_wasted'];
  const times = { heat: [] as number[], bare: [] as number[], filter: [] as number[] };
  let memory = 0;
  for (let round = 0; round < rounds; round++) {
    times.bare.push(timed(() => execFileSync(process.execPath, ['-e', bareQuery(archive)], { cwd: HERE })));
    times.heat.push(timed(() => (memory = Math.max(memory, run(heat)))));
    times.filter.push(timed(() => run(filter)));
  }
  const bare = median(times.bare);
  const made = await indexing(recordings, tacho);
  const plain = { peer: '', ratio: Number.NaN };
  return [
    {
      what: `history of ${jobs} jobs by hour × weekday`,
      must: '≤ 1.5 ×',
      measured: median(times.heat),
      unit: 's',
      peer: `DuckDB on the bare files ${bare.toPrecision(3)} s`,
      ratio: median(times.heat) / bare,
    },
    { what: 'its memory', must: '≤ 1000', measured: memory, unit: 'MB', ...plain },
    { what: `jobs of ${jobs}, filtered`, must: '≤ 0.5', measured: median(times.filter), unit: 's', ...plain },
    {
      ...plain,
      what: `index of ${recordings} recordings`,
      must: '≤ 60',
      measured: made.all,
      unit: 's',
      peer: `CPU ${made.allCpu.toPrecision(3)} s, two threads`,
    },
    {
      ...plain,
      what: 'adding one more',
      must: '≤ 50',
      measured: made.one,
      unit: 'ms',
      peer: `CPU ${made.oneCpu.toPrecision(3)} ms`,
    },
  ];
}

const HERE = path.join(import.meta.dirname, '..');

/** The index of a year, made once: a job lasts minutes to two days. */
async function yearOf(jobs: number): Promise<string> {
  const archive = path.join(os.tmpdir(), `tacho-bench-history-${jobs}-${TABLES_MARK}`);
  const index = indexFolder(archive);
  if (fs.existsSync(path.join(index, 'version'))) return archive;
  fs.rmSync(archive, { recursive: true, force: true });
  fs.mkdirSync(path.join(index, 'jobs'), { recursive: true });
  const connection = await (await DuckDBInstance.create()).connect();
  const start = `epoch_us(timestamptz '${YEAR[0]}')`;
  const made: Record<string, string> = {
    job: '(i + 1)::varchar',
    cluster: "'big'",
    user: "'user' || (hash(i) % 400)::varchar",
    account: "'project' || (hash(i) % 60)::varchar",
    partition: "case when hash(i) % 5 = 0 then 'gpu' else 'cpu' end",
    state: "case when hash(i) % 11 = 0 then 'failed' else 'completed' end",
    name: "'run' || (hash(i + 7) % 1000)::varchar",
    program: "'app' || (hash(i + 7) % 50)::varchar",
    origin: "'recorded'",
    recording: "'user=' || (hash(i) % 400)::varchar || '/job=' || i::varchar",
    node_list: "'n' || (hash(i + 3) % 1000)::varchar",
    nodes: '1',
    cpus: 'cpus',
    wall_seconds: 'wall',
    end_time: 'begin_us + (wall * 1e6)::bigint',
    submit_time: 'begin_us - (hash(i + 5) % 7200)::bigint * 1000000',
    wait_seconds: '(hash(i + 5) % 7200)::double',
    core_hours: 'cpus * wall / 3600',
    node_hours: 'wall / 3600',
    cpu_use: 'use',
    core_hours_wasted: 'cpus * wall / 3600 * (1 - use)',
    energy_joules: 'wall * cpus * 5.0',
  };
  const type = (kind: string): string => (kind === 'text' ? 'varchar' : kind === 'int' ? 'bigint' : 'double');
  const columns = [
    ...jobsTable.keys.map(({ name }) => `${made[name]} as "${name}"`),
    ...jobsTable.columns.map(({ name, type: kind }) => `(${made[name] ?? 'null'})::${type(kind)} as "${name}"`),
  ];
  await connection.run(`copy (
    select make_timestamptz(begin_us) as time, ${columns.join(', ')}, make_timestamp(begin_us + (wall * 1e6)::bigint)::date as day from (
      select i, ${start} + (hash(i + 1) % 31536000)::bigint * 1000000 as begin_us,
        60 + (hash(i + 2) % 10000)::double * (hash(i + 2) % 10000)::double / 1e8 * 86400 / 3 as wall,
        (1 + hash(i + 4) % 64)::bigint as cpus, (hash(i + 6) % 1000)::double / 1000 as use
      from range(${jobs}) t(i)) order by time)
    to '${index}/jobs' (format parquet, compression zstd, partition_by (day), filename_pattern 'part-0-{uuid}', overwrite_or_ignore)`);
  connection.closeSync();
  await joinMonths(index);
  fs.writeFileSync(path.join(index, 'version'), JSON.stringify({ tables: TABLES_MARK, changes: 1 }));
  return archive;
}

/** The same question to DuckDB on the bare files, in a process of its own. */
const bareQuery = (archive: string): string => `
  const { DuckDBInstance } = require('@duckdb/node-api');
  (async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    const [from, to] = [epoch('${YEAR[0]}'), epoch('${YEAR[1]}')];
    function epoch(text) { return Date.parse(text) * 1000; }
    await connection.runAndReadAll(\`select extract(isodow from local) as day, extract(hour from local) as hour, sum(part) from (
      select timezone('Europe/Oslo', make_timestamptz(slot * 3600000000)) as local,
        core_hours * (least(high, (slot + 1) * 3600000000) - greatest(low, slot * 3600000000)) * 1e0 / (end_time - begin_us) as part
      from (select *, unnest(range(low // 3600000000, (high - 1) // 3600000000 + 1)) as slot from (
        select epoch_us(time) as begin_us, end_time, core_hours, greatest(epoch_us(time), \${from}) as low, least(end_time, \${to}) as high
        from '${indexFolder(archive)}/jobs/*/*.parquet' where end_time > \${from} and epoch_us(time) < \${to}))) group by all\`);
  })();`;

interface Indexed {
  /** Seconds, and those of CPUs: on a machine that others use, only these can be compared. */
  all: number;
  allCpu: number;
  /** Milliseconds, medians. */
  one: number;
  oneCpu: number;
}

/** The index of many small recordings, and one more. */
async function indexing(count: number, tacho: string): Promise<Indexed> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const one = path.join(folder, 'one');
    execFileSync(tacho, ['run', '--no-report', '-o', one, '--', 'sleep', '1.2']);
    const many = path.join(folder, 'many');
    for (let i = 0; i < count + ONE_MORE; i++) copyOf(one, path.join(i < count ? many : folder, `job-${i}`), i);
    const begun = performance.now();
    const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%U %S', tacho, 'index', many], {
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const all = (performance.now() - begun) / 1000;
    const [user, system] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number);
    const times: number[] = [];
    const cpu: number[] = [];
    for (let i = count; i < count + ONE_MORE; i++) {
      fs.renameSync(path.join(folder, `job-${i}`), path.join(many, `job-${i}`));
      const [start, before] = [performance.now(), process.cpuUsage()];
      await buildIndex(many, { only: [`job-${i}`] });
      times.push(performance.now() - start);
      const used = process.cpuUsage(before);
      cpu.push((used.user + used.system) / 1000);
    }
    return { all, allCpu: user! + system!, one: median(times), oneCpu: median(cpu) };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const ONE_MORE = 15;

/** A copy by links: the files are the same, the folder and the job are not. */
function copyOf(one: string, target: string, i: number): void {
  const job = JSON.parse(fs.readFileSync(path.join(one, 'job.json'), 'utf8')) as { start: number; end: number };
  const later = i * 60e6;
  for (const name of fs.readdirSync(one).filter((each) => each.startsWith('node='))) {
    fs.mkdirSync(path.join(target, name), { recursive: true });
    for (const file of fs.readdirSync(path.join(one, name)))
      fs.linkSync(path.join(one, name, file), path.join(target, name, file));
  }
  const own = { ...job, id: String(i), start: job.start + later, end: job.end + later };
  fs.writeFileSync(path.join(target, 'job.json'), JSON.stringify(own));
}

/** Runs it, and returns how much memory it had, in MB. */
function run([program, ...args]: string[]): number {
  const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%M', program!, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stderr.trim().split('\n').at(-1)) / 1024;
}

function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return (performance.now() - begun) / 1000;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
