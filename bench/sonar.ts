import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Row } from './row.ts';

const TACHO = process.env.TACHO ?? path.join(import.meta.dirname, '..', 'tacho');

/** So many nodes are sampled every five minutes of a month, with so many jobs at once on each, of a day each. */
const SITE = { nodes: 20, days: 31, jobs: 10 };

/**
 * Jobs of one user in a month, from what Sonar sampled. Sonar's own `jobs` reads all text of the period again for each
 * question; it cannot be had here, so DuckDB does that in its place, with all cores and a compiled reader of CSV. Beside it,
 * `tacho jobs` on the index of the same samples after `tacho import sonar`. Most of its time is the start of Node and DuckDB, so
 * the ratio grows with the period.
 */
export async function bench({ rounds = 5, tacho = TACHO } = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const text = path.join(folder, 'samples.csv');
    await samples(text);
    const archive = path.join(folder, 'archive');
    execFileSync(tacho, ['import', 'sonar', text, '-o', archive], { stdio: 'ignore' });
    execFileSync(tacho, ['index', archive], { stdio: 'ignore' });
    const period = ['--from', '2026-03-01', '--to', '2026-04-01'];
    const asked = [archive, '--user', 'user03', ...period, '--limit', '0', '--format', 'csv'];
    const times = { text: [] as Spent[], index: [] as Spent[] };
    for (let round = 0; round < rounds; round++) {
      times.text.push(spent(process.execPath, ['-e', fromText(text)]));
      times.index.push(spent(tacho, ['jobs', ...asked]));
    }
    const what = `jobs of one user, ${SITE.nodes * SITE.days * SITE.jobs * 288} samples of Sonar`;
    const row = (of: keyof Spent, must: string, name: string): Row => {
      const [again, index] = [times.text, times.index].map((all) => median(all.map((one) => one[of]))) as [
        number,
        number,
      ];
      const peer = `DuckDB, text again ${again.toPrecision(3)} s`;
      return { what: `${what}${name}`, must, measured: index, unit: 's', peer, ratio: again / index };
    };
    return [row('wall', '≥ 5 ×', ''), row('cpu', '', ', CPU time')];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const HERE = path.join(import.meta.dirname, '..');

/** The fields of Sonar 0.6: time, host, cores, user, job, command, CPU %, KiB, GPUs, GPU %, GPU memory %, GPU KiB. */
async function samples(file: string): Promise<void> {
  const connection = await (await DuckDBInstance.create()).connect();
  const { nodes, days, jobs } = SITE;
  await connection.run(`copy (
    select strftime(make_timestamp((1772323200 + slot * 300)::bigint * 1000000), '%Y-%m-%dT%H:%M:%S+00:00'),
      'c' || node || '.site', 64, 'user' || lpad(((node * ${jobs} + place) % 40)::varchar, 2, '0'),
      100000 + (slot // 288 * ${nodes} + node) * ${jobs} + place, 'app' || (place % 7),
      round(100 + (hash(slot * 7919 + node * 31 + place) % 3000) / 10.0, 1), 1000000 + hash(slot + place) % 4000000, 0, 0, 0, 0
    from range(${days * 288}) s(slot), range(${nodes}) n(node), range(${jobs}) p(place) order by 1, 2)
    to '${file}' (format csv, header false)`);
  connection.closeSync();
}

/** What Sonar's \`jobs\` computes: of each job its time, and mean and peak of CPU and memory. */
const fromText = (file: string): string => `
  const { DuckDBInstance } = require('@duckdb/node-api');
  (async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    await connection.runAndReadAll(\`select job, host, min(time), max(time), avg(cpu), max(cpu), avg(memory), max(memory), any_value(command)
      from read_csv('${file}', header = false, names = ['time', 'host', 'cores', 'user', 'job', 'command', 'cpu', 'memory', 'gpus', 'gpu', 'gpumem', 'gpukib'])
      where "user" = 'user03' group by job, host order by 3\`);
  })();`;

/** Seconds of a command, and those of CPUs. */
interface Spent {
  wall: number;
  cpu: number;
}

function spent(program: string, args: readonly string[]): Spent {
  const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%e %U %S', program, ...args], {
    cwd: HERE,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const [wall, user, system] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number) as [number, number, number];
  return { wall, cpu: user + system };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
