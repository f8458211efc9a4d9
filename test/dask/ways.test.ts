import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/base/free-port.ts';
import { samplesOf } from '../../src/cli/dask/dask-source.ts';
import type { AttachOptions } from '../../src/dask/attach.ts';
import { noticeClusters } from '../../src/dask/notice.ts';
import { prefixUse } from '../../src/query/dask/prefixes.ts';
import { daskUse } from '../../src/query/dask/task-use.ts';
import { createRecording } from '../../src/recording/folder/create.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { eventually } from '../made/eventually.ts';
import { jobOf } from '../make-recording.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { PYTHON, startCluster, whyNoDask } from './cluster.ts';
import { attachTo, type Row, rowsOf } from './record.ts';

const WORKFLOW = path.join(import.meta.dirname, 'workflow.py');
const cli = (name: string, ...args: string[]): string[] => ['-m', `distributed.cli.dask_${name}`, ...args];

/** A dashboard that can be reached, of a scheduler that cannot: what a firewall makes of a cluster. */
async function behindFirewall(t: TestContext, dashboard: string): Promise<string> {
  const { hostname, port } = new URL(dashboard);
  const server = http.createServer(async ({ url }, response) => {
    const reply = await fetch(`http://${hostname}:${port}${url}`);
    response.writeHead(reply.status);
    response.end((await reply.text()).replace(/Scheduler tcp:[^ <]*/, 'Scheduler tcp://127.0.0.1:1'));
  });
  server.on('upgrade', ({ url, headers }, socket) => {
    const there = net.connect(Number(port), hostname);
    const lines = Object.entries({ ...headers, host: `${hostname}:${port}`, origin: `http://${hostname}:${port}` });
    there.write(`GET ${url} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    there.pipe(socket).pipe(there);
    for (const each of [there, socket]) each.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

describe('ways into real clusters', { skip: whyNoDask }, () => {
  test('the event stream of a dashboard whose scheduler cannot be reached', async (t) => {
    const folder = temporaryFolder(t);
    const cluster = await startCluster({ workers: 2, threads: 1 });
    t.after(() => cluster.end());
    const attached = await attachTo(`${await behindFirewall(t, cluster.dashboard)}/status`, folder);
    const { way, passed } = attached.opened;
    assert.equal(way.name, 'event stream');
    assert.match(passed[0]!, /cannot reach the Dask scheduler tcp:\/\/127\.0\.0\.1:1: nobody listens there/);
    assert.ok(way.missing.some((what) => what.startsWith('tasks that erred')));
    await cluster.run(['graphs']);
    await eventually('its tasks', () => rowsOf(attached.recording, 'dask_task').length === 31);
    await cluster.run(['fetched']);
    await eventually('two more', () => rowsOf(attached.recording, 'dask_task').length === 33);
    attached.detach('detached');
    assert.equal(await attached.ended, 'detached');
    const all = rowsOf(attached.recording, 'dask_task');
    const [data, fetch] = ['data-1', 'fetch-1'].map((key) => all.find((task) => task.key === key));
    assert.equal(data!.transfer_us, undefined);
    assert.ok(Number(fetch!.transfer_us) > 0, 'the time of fetching');
    const tasks = all.filter((task) => task !== data && task !== fetch);
    assert.deepEqual(new Set(tasks.map(({ prefix }) => prefix)), new Set(['inc']));
    assert.deepEqual(new Set(tasks.map(({ outcome }) => outcome)), new Set(['ok']));
    for (const { time, start_time } of tasks)
      assert.ok(time - Number(start_time) >= 20_000, 'a task that sleeps 20 ms');
    const use = prefixUse(daskUse(openRecording(attached.recording))).find(({ prefix }) => prefix === 'inc');
    assert.equal(use!.cpu_seconds, undefined, 'no sample, no CPU time');
    await assert.rejects(samplesOf(attached.recording), /no worker was sampled/);
  });

  test('a dashboard that cannot write who it is, as newer ones cannot while tasks run, is attached to', async (t) => {
    const cluster = await startCluster({ workers: 2, threads: 1, busy: true });
    t.after(() => cluster.end());
    const attached = await attachTo(cluster.dashboard, temporaryFolder(t));
    assert.equal(attached.opened.way.name, 'feed');
    assert.equal(attached.opened.cluster.scheduler?.text, cluster.address);
    attached.detach('detached');
    await attached.ended;
    // the stream has the names of workers from the dashboard alone
    const streamed = await attachTo(await behindFirewall(t, cluster.dashboard), temporaryFolder(t));
    assert.equal(streamed.opened.way.name, 'event stream');
    assert.deepEqual(
      streamed.monitor
        .status()
        .workers.map(({ name }) => name)
        .sort(),
      ['0', '1'],
    );
    streamed.detach('detached');
    await streamed.ended;
    assert.match(tacho(['dask', 'tasks', streamed.recording]).err, /no task ended while it recorded/);
  });

  test('a cluster inside of one process is noticed by its dashboard', async (t) => {
    const folder = temporaryFolder(t);
    const script = path.join(folder, 'in-process.py');
    fs.writeFileSync(
      script,
      `import glob, os, time
from distributed import Client, LocalCluster

def inc(x):
    time.sleep(0.02)
    return x + 1

with LocalCluster(processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
    for i in range(3000):
        client.submit(inc, i).result()
        if glob.glob(os.environ["TACHO_RECORDING"] + "/node=*/dask_task.csv"):
            break
    client.submit(inc, -1, key="last-1").result()
    time.sleep(1)
`,
    );
    const recording = path.join(folder, 'run');
    const { code, err } = tacho(['run', '-o', recording, '--no-report', '--', PYTHON, script], { cwd: folder });
    assert.equal(code, 0, err);
    assert.doesNotMatch(err, /Task was destroyed|Error/);
    const tasks = rowsOf(recording, 'dask_task');
    assert.deepEqual(new Set(tasks.map(({ prefix }) => prefix)), new Set(['inc', 'last']));
    for (const { worker } of tasks) assert.match(String(worker), /^inproc:/);
  });

  test('a scheduler that is too old is refused, before anything runs there', async (t) => {
    const cluster = await startCluster({ workers: 1, threads: 1, version: '2021.8.0' });
    t.after(() => cluster.end());
    for (const readOnly of [false, true])
      await assert.rejects(
        attachTo(cluster.address, temporaryFolder(t), { readOnly }),
        (error: Error & { hint?: string }) =>
          /runs Dask 2021\.8\.0: it is too old/.test(error.message) && error.hint!.includes('2022.12 and newer'),
      );
    assert.deepEqual(((await cluster.ask('left')) as { plugins: string[] }).plugins, []);
  });

  test('two monitors that start at once with one folder: one of them gets it', async (t) => {
    const folder = temporaryFolder(t);
    const cluster = await startCluster({ workers: 1, threads: 1 });
    t.after(() => cluster.end());
    const both = await Promise.allSettled([attachTo(cluster.address, folder), attachTo(cluster.address, folder)]);
    const [refused] = both.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
    const [attached, ...others] = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.deepEqual(others, []);
    assert.match(refused!.message, /is a recording already/);
    // inside one recording: the second says who the first is
    await assert.rejects(
      attachTo(cluster.address, folder, { into: attached!.recording }),
      /a monitor \(process \d+\) records tcp:.* already/,
    );
    await cluster.run(['errors']);
    await eventually('its tasks', () => rowsOf(attached!.recording, 'dask_task').length === 4);
    attached!.detach('detached');
    await attached!.ended;
    await eventually('a cluster without plugins', async () => {
      const { plugins } = (await cluster.ask('left')) as { plugins: string[] };
      return plugins.length === 0;
    });
  });

  test('a scheduler that is killed and comes back is recorded on', async (t) => {
    const folder = temporaryFolder(t);
    const port = String(await freePort());
    const address = `tcp://127.0.0.1:${port}`;
    const start = (): ChildProcess[] => {
      const children = [
        cli('scheduler', '--host', '127.0.0.1', '--port', port, '--no-dashboard'),
        cli('worker', address, '--nthreads', '1', '--no-dashboard', '--no-nanny', '--death-timeout', '120'),
      ].map((args) =>
        spawn(PYTHON, args, { cwd: folder, stdio: 'ignore', env: { ...process.env, PYTHONWARNINGS: 'ignore' } }),
      );
      for (const child of children) t.after(() => child.kill('SIGKILL'));
      return children;
    };
    const run = (): number | null =>
      spawnSync(PYTHON, [WORKFLOW, address, 'graphs'], {
        cwd: folder,
        env: { ...process.env, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT: '120s' },
      }).status;
    const first = start();
    assert.equal(run(), 0);
    const messages: string[] = [];
    const attached = await attachTo(address, folder, { returnSeconds: 120, say: (text) => void messages.push(text) });
    const ok = (): Row[] => rowsOf(attached.recording, 'dask_task').filter(({ outcome }) => outcome === 'ok');
    assert.equal(run(), 0);
    await eventually('tasks before', () => ok().length === 31);
    for (const child of first) child.kill('SIGKILL');
    await eventually('that it has gone', () => messages.some((text) => /looking for it for 120 s/.test(text)));
    start();
    await eventually('that it is back', () => messages.includes('the scheduler is back: recording goes on'));
    assert.equal(run(), 0);
    await eventually('tasks of both', () => ok().length === 62);
    attached.detach('detached');
    assert.equal(await attached.ended, 'detached');
    // each run has two clients; the numbers go on
    assert.deepEqual(
      [1, 2, 3, 4].map((job) => ok().filter(({ dask_job }) => dask_job === job).length),
      [30, 1, 30, 1],
    );
    const sampled = rowsOf(attached.recording, 'dask_worker').map(({ worker }) => worker);
    assert.equal(new Set(sampled).size, 2, 'the worker of each scheduler');
  });

  test('a scheduler file: attached by its name, and noticed by tacho run', async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, 'scheduler.json');
    const scheduler = cli(
      'scheduler',
      '--scheduler-file',
      file,
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--no-dashboard',
    );
    const worker = cli('worker', '--scheduler-file', file, '--nthreads', '1', '--no-dashboard', '--no-nanny');
    const environment = { ...process.env, PYTHONWARNINGS: 'ignore' };
    const start = (args: string[]) => {
      const child = spawn(PYTHON, args, { cwd: folder, stdio: 'ignore', env: environment });
      t.after(() => child.kill('SIGKILL'));
      return child;
    };
    start(scheduler);
    await eventually('the scheduler file', () => fs.existsSync(file));
    start(worker);
    const attached = await attachTo(file, folder);
    const run = (): number | null =>
      spawnSync(PYTHON, [WORKFLOW, 'FILE', 'errors'], { cwd: folder, env: { ...environment, SCHEDULER_FILE: file } })
        .status;
    assert.equal(run(), 0);
    await eventually('its tasks', () => rowsOf(attached.recording, 'dask_task').length === 4);
    const elsewhere = { cwd: temporaryFolder(t), env: { ...process.env, TACHO_RECORDINGS: folder } };
    assert.match(tacho(['dask', 'tasks', file], { cwd: folder }).out, /^fail +4 +4 /m);
    assert.match(tacho(['dask', 'tasks'], elsewhere).out, /^fail +4 +4 /m);
    attached.detach('detached');
    await attached.ended;

    const other = path.join(folder, 'other.json');
    const renamed = (args: string[]): string => [PYTHON, ...args].map((word) => word.replace(file, other)).join(' ');
    const script = `${renamed(scheduler)} >/dev/null 2>&1 & s=$!
until [ -s ${other} ]; do sleep 0.1; done
${renamed(worker)} >/dev/null 2>&1 & w=$!
for i in $(seq 300); do ls ${folder}/run/node=*/dask_worker.csv >/dev/null 2>&1 && break; sleep 0.2; done
SCHEDULER_FILE=${other} ${PYTHON} ${WORKFLOW} FILE errors
kill $w $s; wait`;
    const { code, err } = tacho(['run', '-o', path.join(folder, 'run'), '--no-report', '--', 'bash', '-c', script], {
      cwd: folder,
    });
    assert.equal(code, 0, err);
    const tasks = rowsOf(path.join(folder, 'run'), 'dask_task');
    assert.deepEqual(
      tasks.map(({ outcome }) => outcome),
      ['erred', 'erred', 'erred', 'erred'],
    );
    const shown = tacho(['report', path.join(folder, 'run')]);
    assert.match(shown.out, /\nDask\n {2}4 tasks of 2 graphs on 1 worker in /);
  });

  test('a cluster that a program makes late is noticed by its socket, once', async (t) => {
    const recording = path.join(temporaryFolder(t), 'run');
    createRecording(recording, jobOf({ id: '17', nodes: [os.hostname()] }));
    const messages: string[] = [];
    const say = (text: string): void => void messages.push(text);
    const notice = noticeClusters({ pid: process.pid, recording, intervalSeconds: 0.05, writer: {}, say, looks: [] });
    await sleep(1500);
    const cluster = await startCluster({ workers: 1, threads: 1 });
    t.after(() => cluster.end());
    await eventually('samples of its worker', () => rowsOf(recording, 'dask_worker').length > 0);
    await cluster.run(['errors']);
    await eventually('its tasks', () => rowsOf(recording, 'dask_task').length === 4);
    await cluster.end();
    // the jobs of one that comes later are counted on
    const later = await startCluster({ workers: 1, threads: 1 });
    t.after(() => later.end());
    const sampled = (): number => new Set(rowsOf(recording, 'dask_worker').map(({ worker }) => worker)).size;
    await eventually(
      () => `samples of the second cluster: ${messages}`,
      () => sampled() === 2,
    );
    await later.run(['errors']);
    await notice.stop();
    const jobs = rowsOf(recording, 'dask_task').map(({ dask_job }) => dask_job);
    assert.deepEqual(jobs, [1, 1, 1, 1, 2, 2, 2, 2]);
    assert.deepEqual(messages, []);
  });

  test('TLS: with the certificates of the cluster, and refused without', async (t) => {
    const folder = temporaryFolder(t);
    const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const files = ['-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...files, ...subject], {
      stdio: 'ignore',
    });
    const tls = { ca: cert, cert, key };
    const cluster = await startCluster({ workers: 1, threads: 1, tls });
    t.after(() => cluster.end());
    assert.match(cluster.address, /^tls:/);
    await assert.rejects(attachTo(cluster.address, folder), /cannot reach the Dask scheduler|closed the connection/);
    // Node's advice is not for users of Tacho, nor are OpenSSL's sources
    const refused = (certificates: AttachOptions['certificates']): Promise<string> =>
      attachTo(cluster.address, folder, { certificates }).then(
        () => 'not refused',
        ({ message, hint }: Error & { hint?: string }) => `${message}; ${hint}`,
      );
    const why = (reason: string): string =>
      `cannot reach the Dask scheduler ${cluster.address}: ${reason}; name the files of the cluster’s TLS with --tls-ca, --tls-cert and --tls-key`;
    assert.equal(await refused({}), why('self-signed certificate'));
    assert.equal(await refused({ ca: cert }), why('it wants a certificate, and got none'));
    const byDashboard = await attachTo(cluster.dashboard, path.join(folder, 'dashboard'));
    assert.deepEqual(byDashboard.opened.passed, [why('self-signed certificate')]);
    byDashboard.detach('detached');
    await byDashboard.ended;
    const attached = await attachTo(cluster.address, folder, { certificates: tls });
    await cluster.run(['errors']);
    await eventually('its tasks', () => rowsOf(attached.recording, 'dask_task').length === 4);
    attached.detach('detached');
    await attached.ended;
  });
});
