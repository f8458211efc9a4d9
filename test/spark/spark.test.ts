import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { makeRecording, temporary } from '../make-recording.ts';
import { tacho } from '../tacho.ts';

const HERE = path.join(import.meta.dirname, '../..');
const SUBMIT = path.join(HERE, '.cache/spark/bin/spark-submit');
const skip = fs.existsSync(SUBMIT) ? false : 'PySpark is not installed: npm run test:spark gets it';

type Row = Record<string, unknown>;

/** What `tacho sql` is asked in the same words. */
const QUERIES = [
  'select user, origin, count(*) as jobs, sum(core_hours) as hours, max(cpu_use) as most from jobs group by user, origin',
  "select job, state, wall_seconds, asked_memory_bytes from jobs where day >= '2026-03-01' and core_hours > 1",
  'select node, sum(seconds) as seconds, max(cpu_use_max) as most, sum(energy_joules) as joules from node_hours group by node',
  'select finding, severity, count(*) as jobs from findings group by finding, severity',
  `select j.user, n.node, sum(n.cpu_seconds) as seconds from jobs j join job_nodes n on j.job = n.job and j.cluster = n.cluster
    group by j.user, n.node`,
];
const SEALED =
  'select node, gpu, count(*) as rows, avg(utilization_percent) as use, max(power_watts) as power from gpu group by node, gpu';

/** Engines add up in different orders, and do not sort alike. */
const near = (rows: readonly Row[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === 'number' ? Number(value.toPrecision(9)) : (value ?? null),
          ]),
        ),
      ),
    )
    .sort();

test('Spark gives the answers of tacho sql and tacho history', { skip }, async () => {
  const archive = temporary();
  await writeDemo({ folder: path.join(archive, 'demo'), nodes: 2, gpus: 2, seconds: 5400, interval: 10 });
  const start = Date.UTC(2026, 2, 28, 22, 30) * 1000;
  await makeRecording({
    folder: path.join(archive, 'tacho-7'),
    seconds: 20,
    // over the night in which clocks are put forward
    job: { id: '7', user: 'bob', start, end: start + 5 * 3600e6, state: 'completed', asked: { nodes: 1, cpus: 4 } },
  });
  const sacct = path.join(temporary(), 'sacct.txt');
  const from = start / 1e6 + 7200;
  fs.writeFileSync(
    sacct,
    `JobID|User|Account|State|Start|End|ElapsedRaw|AllocTRES|NodeList|TotalCPU
8|eve|physics|COMPLETED|${from}|${from + 3600}|3600|cpu=4,mem=8G,node=1|c9|02:00:00
`,
  );
  const done = (...args: string[]): string => {
    const { code, out, err } = tacho(args);
    assert.equal(code, 0, err);
    return out;
  };
  done('seal', archive);
  done('index', archive);
  done('import', 'slurm', sacct, '--archive', archive);
  const page = fs.readFileSync(path.join(HERE, 'docs/spark.md'), 'utf8');
  const history = /```sql\n([^`]+`group`[^`]+)```/.exec(page)![1]!;
  const spark = spawnSync(
    SUBMIT,
    [
      ...['--master', 'local[1]', '--conf', 'spark.ui.enabled=false', '--conf', 'spark.sql.shuffle.partitions=1'],
      ...[path.join(HERE, 'examples/spark/ask.py'), archive, '--table', 'gpu', ...QUERIES, SEALED, history],
    ],
    // it looks for PySpark with the first python3
    {
      encoding: 'utf8',
      cwd: temporary(),
      timeout: 900_000,
      env: { ...process.env, PATH: `${path.dirname(SUBMIT)}:${process.env.PATH}` },
    },
  );
  assert.equal(spark.status, 0, spark.stderr);
  const sparkRows = spark.stdout
    .split('\n')
    .filter((line) => line.startsWith('['))
    .map((line) => JSON.parse(line) as Row[]);
  assert.equal(sparkRows.length, QUERIES.length + 2);
  for (const [i, query] of QUERIES.entries()) {
    const own = JSON.parse(done('sql', query, archive, '--format', 'json')) as Row[];
    assert.ok(own.length > 0, query);
    assert.deepEqual(near(sparkRows[i]!), near(own), query);
  }
  const sealed = done('sql', SEALED, archive, '--recording', path.join(archive, 'demo'), '--format', 'json');
  assert.equal(sparkRows[QUERIES.length]!.length, 4);
  assert.deepEqual(near(sparkRows[QUERIES.length]!), near(JSON.parse(sealed) as Row[]));
  const args = ['--by', 'hour-weekday', '--timezone', 'Europe/Oslo', '--from', '2026-03-01', '--to', '2026-04-01'];
  const { rows } = JSON.parse(done('history', archive, ...args, '--format', 'json')) as {
    rows: { group: string; value?: number }[];
  };
  const own = rows.flatMap(({ group, value }) => (value === undefined ? [] : { group, value }));
  assert.ok(own.some(({ group }) => group === 'Sunday 03') && !own.some(({ group }) => group === 'Sunday 02'));
  assert.deepEqual(near(sparkRows.at(-1)!), near(own));
});
