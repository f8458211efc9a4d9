import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { ours } from '../../src/base/ours.ts';
import { readJob } from '../../src/recording/folder/open.ts';
import { eventually } from '../made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from '../tacho.ts';
import { startVictoria, whyNoVictoria } from './server.ts';

const lacks = fs.existsSync(ours('native/build/libtacho-record.so')) ? false : 'needs gcc';

/** Nine processes at a time and one after the other, none of which uses a second of CPU time; five use 50 ms each. */
const SCRIPT = `
  work() { sh -c 'until read -r line </proc/$$/stat; set -- $line; [ $((\${14} + \${15})) -ge 5 ]; do :; done; sleep 0.1'; }
  work; work; work & work & wait; /bin/true; sleep 1.3; work`;

interface Card {
  nodes: { cpu_seconds: number; cpu_source: string; memory_peak_bytes: number }[];
}

const rounded = (one: object): unknown =>
  JSON.parse(JSON.stringify(one), (_, value) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value));

test('a job of short processes without a cgroup: the store has what its recording has', {
  skip: whyNoVictoria() || lacks,
}, async (t) => {
  const server = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => server.remove());
  const folder = temporaryFolder(t);
  const [spool, jobs] = [path.join(folder, 'spool'), path.join(folder, 'jobs')];
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    XDG_CONFIG_HOME: folder,
    TACHO_SERVICE_JOBS: jobs,
  };
  const agent = spawn(
    TACHO,
    ['agent', '--spool', spool, '--hooks-only', '--node', 'c1', '--victoria', server.url, '--job-interval', '500ms'],
    { env, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  t.after(() => agent.kill('SIGKILL'));
  let output = '';
  agent.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const over = new Promise((resolve) => agent.on('exit', resolve));
  await eventually(
    () => `the agent, which said: ${output}`,
    () => output.includes('records c1'),
  );

  const prolog = ours('packaging/slurm/task-prolog.sh');
  const task = fs
    .readFileSync(prolog, 'utf8')
    .replace(/^library=.*$/m, `library=${ours('native/build/libtacho-record.so')}`);
  fs.writeFileSync(path.join(folder, 'task-prolog.sh'), task);
  for (const [id, before] of [
    ['71', `eval "$(sh ${folder}/task-prolog.sh)"`],
    ['72', ':'],
  ] as const) {
    const facts = { ...env, SLURM_JOB_ID: id, SLURM_JOB_UID: `${process.getuid!()}`, SLURM_NODELIST: 'c1' };
    spawnSync('sh', [ours('packaging/slurm/prolog.sh')], { env: facts });
    const processes = path.join(spool, `job-${id}`, 'node=c1/process.csv');
    await eventually(`job ${id}`, () => fs.existsSync(processes) || output.includes(`job ${id}`));
    await new Promise((resolve) => spawn('sh', ['-c', `${before}\n${SCRIPT}`], { env: facts }).on('exit', resolve));
    spawnSync('sh', [ours('packaging/slurm/epilog.sh')], { env: facts });
    await eventually(`the end of job ${id}`, () => readJob(path.join(spool, `job-${id}`))?.end);
  }
  agent.kill('SIGTERM');
  await over;
  await server.flush();

  const card = (args: string[]): Card['nodes'][0] => {
    const { code, out, err } = tacho(['report', ...args, '--format', 'json']);
    assert.equal(code, 0, err);
    return (JSON.parse(out) as Card).nodes[0]!;
  };
  for (const id of ['71', '72']) {
    const wanted = card([path.join(spool, `job-${id}`)]);
    const summary = card(['--job', id, '--store', server.url]);
    // without records nobody can say what lived between two samples
    assert.ok(wanted.cpu_seconds >= (id === '71' ? 0.25 : 0), `${wanted.cpu_seconds}`);
    const [a, b] = [wanted, summary].map((one) => `${one.cpu_seconds} s, ${one.memory_peak_bytes} B`);
    const numbers = `${id}: ${a}; ${b}`;
    // a store has the sum of both
    assert.match(wanted.cpu_source, id === '71' ? /^records/ : /^processes$/);
    assert.equal(summary.cpu_source, id === '71' ? 'records and samples' : 'processes');
    // a process that was sampled when it had just ended has a clock tick more there than in its own record
    assert.ok(Math.abs(summary.cpu_seconds - wanted.cpu_seconds) < 0.05 + 0.01 * wanted.cpu_seconds, numbers);
    assert.ok(Math.abs(summary.memory_peak_bytes / wanted.memory_peak_bytes - 1) < 0.1, numbers);
    const imported = tacho(['import', 'victoria', server.url, '--job', id, '-o', path.join(folder, `back-${id}`)]);
    assert.equal(imported.code, 0, imported.err);
    // means are added up in another order
    assert.deepEqual(rounded(card([path.join(folder, `back-${id}`)])), rounded(summary));
    const verified = tacho(['verify', path.join(folder, `back-${id}`)]);
    assert.equal(verified.code, 0, verified.out + verified.err);
  }
});
