import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { findCluster, parseScheduler } from '../../src/dask/address.ts';
import { Comm } from '../../src/dask/comm.ts';
import { askMonitor, controlOf } from '../../src/dask/control.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import { daskPeaks } from '../../src/query/dask/peaks.ts';
import { prefixUse } from '../../src/query/dask/prefixes.ts';
import { daskUse } from '../../src/query/dask/task-use.ts';
import { readWorkerFiles } from '../../src/query/dask/worker-files.ts';
import { daskSamples } from '../../src/query/dask/workers.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { fakeGpu, hasCompiler } from '../fake-gpu/build.ts';
import { eventually } from '../made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from '../tacho.ts';
import { startCluster, type TestCluster, whyNoDask } from './cluster.ts';
import { attachTo, rowsOf } from './record.ts';

const CUSTOM = `
import time
from dask_metrics import custom_metric
@custom_metric('handles', per_device=False)
def handles(worker, handles): return len(handles)
@custom_metric('answer')
def answer(worker, handle): return 42.5
@custom_metric('broken', per_device=False)
def broken(worker, handles): raise RuntimeError('it throws')
@custom_metric('stuck', per_device=False)
def stuck(worker, handles): time.sleep(3600)
`;

describe('a real Dask cluster', { skip: whyNoDask }, () => {
  let cluster: TestCluster;
  const gpus: { undo: (() => void)[] } = { undo: [] };

  before(async () => {
    if (hasCompiler())
      fakeGpu({ after: (undo: () => void) => gpus.undo.push(undo) } as unknown as TestContext, 'nvml', 'cards 2\n');
    cluster = await startCluster();
  });
  after(async () => {
    await cluster?.end();
    for (const undo of gpus.undo) undo();
  });

  test('every task, graph, client and sample is recorded, with the job and graph that it belongs to', async (t) => {
    const folder = temporaryFolder(t);
    const custom = path.join(folder, 'custom.py');
    fs.writeFileSync(custom, CUSTOM);
    const messages: string[] = [];
    const attached = await attachTo(cluster.dashboard, folder, { custom, say: (text) => messages.push(text) });
    const { recording } = attached;
    assert.equal(attached.opened.way.name, 'feed');
    await cluster.run(['graphs', 'keys', 'errors']);
    const control = controlOf(recording)!;
    await eventually(
      'samples of both workers',
      () => new Set(rowsOf(recording, 'dask_worker').map((r) => r.worker)).size === 2,
    );
    for (const expectedText of ['it throws', 'custom metric stuck hangs'])
      await eventually(`that ${expectedText}`, () => messages.some((text) => text.includes(expectedText)));
    const { ok, workers } = await askMonitor(control, { op: 'status' });
    assert.ok(ok);
    assert.equal((workers as unknown[]).length, 2);
    await assert.rejects(askMonitor(control, { op: 'new-job' }), /counted by client/);
    await assert.rejects(attachTo(cluster.address, folder), /is a recording already/);
    await askMonitor(control, { op: 'detach' });
    assert.equal(await attached.ended, 'detached');

    const tasks = rowsOf(recording, 'dask_task');
    const inc = tasks.filter(({ prefix }) => prefix === 'inc');
    assert.deepEqual(
      [0, 1].map((dag) => inc.filter((r) => r.dask_job === 1 && r.dag === dag).length),
      [20, 10],
    );
    assert.equal(inc.filter(({ dask_job }) => dask_job === 2).length, 1);
    for (const { time, start_time } of inc) assert.ok(time - Number(start_time) >= 20_000, 'a task that sleeps 20 ms');
    const keys = tasks.map(({ key }) => key);
    for (const key of ['quote-\'"-1', 'two\nlines', 'comma, here', 'x'.repeat(10_000)])
      assert.ok(keys.includes(key), key);
    assert.deepEqual(
      keys.filter((key) => String(key).startsWith("('t-abc'")).sort(),
      [0, 1, 2].map((i) => `('t-abc',0,${i})`),
    );
    const failed = tasks.filter(({ prefix }) => prefix === 'fail');
    assert.deepEqual(failed.map(({ outcome, error }) => `${outcome} ${error}`).sort(), [
      "erred ValueError('no, 0')",
      "erred ValueError('no, 2')",
      'erred retried',
      'erred retried',
    ]);
    const graphs = rowsOf(recording, 'dask_graph').filter(({ event }) => event === 'graph');
    assert.deepEqual(
      graphs.slice(0, 3).map(({ dask_job, dag, tasks, wanted, name }) => ({ dask_job, dag, tasks, wanted, name })),
      [
        { dask_job: 1, dag: 0, tasks: 20, wanted: 20, name: 'inc' },
        { dask_job: 1, dag: 1, tasks: 10, wanted: 10, name: 'inc' },
        { dask_job: 2, dag: 0, tasks: 1, wanted: 1, name: 'inc' },
      ],
    );
    const samples = rowsOf(recording, 'dask_worker');
    assert.ok(
      samples.some(({ tasks }) => String(tasks).startsWith('inc-')),
      'executing keys',
    );
    assert.ok(samples.every(({ limit_bytes }) => limit_bytes === 1 << 30));
    assert.deepEqual(new Set(samples.map(({ name }) => name)), new Set(['0', '1']));
    if (hasCompiler()) {
      const metrics = rowsOf(recording, 'dask_metric');
      assert.deepEqual(
        new Set(metrics.map(({ metric, device, value }) => `${metric} ${device ?? ''} ${value}`)),
        new Set([
          ...['handles  2', 'answer 0 42.5', 'answer 1 42.5'],
          // without a value, so that they have columns
          ...['broken  undefined', 'stuck  undefined'],
        ]),
      );
    }
    await t.test('CSV files and peaks have the shapes of dask-metrics', () => checkCsv(recording, folder));
    await t.test('prefixes', () => {
      const [most] = prefixUse(daskUse(openRecording(recording)), { job: 1, dag: 0 });
      assert.equal(most!.prefix, 'inc');
      assert.equal(most!.tasks, 20);
      assert.ok(most!.seconds >= 0.4 && most!.cpu_seconds! >= 0 && most!.memory_peak_bytes! > 1e7);
    });
    await t.test('nothing is left on the cluster', () => nothingLeft(cluster));
  });

  test('samples go to the scheduler in the messages that tell it of tasks', async (t) => {
    const attached = await attachTo(cluster.address, temporaryFolder(t), { intervalSeconds: 0.2 });
    await eventually('a sample', () => rowsOf(attached.recording, 'dask_worker').length > 0);
    const messages = (await cluster.ask('messages')) as string[][];
    attached.detach('detached');
    await attached.ended;
    const withSamples = messages.filter((ops) => ops.some((op) => op.startsWith('tacho-')));
    const alone = withSamples.filter((ops) => !ops.includes('task-finished'));
    assert.ok(withSamples.length > 0);
    // on a loaded machine no task may end for a while: then they go alone
    assert.ok(alone.length < withSamples.length / 2, `${alone.length} of ${withSamples.length} alone`);
  });

  test('manual jobs, a pause, and a monitor that writes nothing before start', async (t) => {
    const folder = temporaryFolder(t);
    const attached = await attachTo(cluster.address, folder, { jobType: 'manual', paused: true });
    const { recording } = attached;
    const control = controlOf(recording)!;
    await cluster.run(['graphs']);
    await askMonitor(control, { op: 'start' });
    assert.equal((await askMonitor(control, { op: 'new-job', job: 42 })).job, 42);
    await cluster.run(['graphs']);
    await askMonitor(control, { op: 'stop' });
    await cluster.run(['graphs']);
    assert.equal((await askMonitor(control, { op: 'new-job' })).job, 43);
    attached.detach('SIGTERM');
    await attached.ended;
    const tasks = rowsOf(recording, 'dask_task');
    assert.deepEqual(
      [0, 1, 2].map((dag) => tasks.filter((r) => r.dask_job === 42 && r.dag === dag).length),
      [20, 10, 1],
    );
    assert.equal(tasks.length, 31);
    assert.deepEqual(
      rowsOf(recording, 'dask_graph').flatMap(({ event }) =>
        event === 'start' || event === 'stop' || event === 'job' ? [event] : [],
      ),
      ['start', 'job', 'stop', 'job'],
    );
  });

  test('a monitor that is killed leaves nothing behind', async (t) => {
    const folder = temporaryFolder(t);
    const child = spawn(
      TACHO,
      ['dask', 'attach', cluster.address, '-o', path.join(folder, 'rec'), '--format', 'json'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    t.after(() => child.kill('SIGKILL'));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const before = (await cluster.ask('left')) as { plugins: string[] };
    assert.ok(before.plugins.length > 0);
    await eventually('a sample', () => rowsOf(path.join(folder, 'rec'), 'dask_worker').length > 0);
    const pid = controlOf(path.join(folder, 'rec'))!.pid;
    process.kill(pid, 'SIGKILL');
    await nothingLeft(cluster);
    assert.equal(controlOf(path.join(folder, 'rec')), undefined);
    const { code, err } = tacho(['dask', 'status', path.join(folder, 'rec')]);
    assert.equal(code, 1);
    assert.match(err, /was killed/);
    // what it recorded is there
    assert.ok(rowsOf(path.join(folder, 'rec'), 'dask_worker').length > 0);
  });

  test('read-only calls run no code on the cluster and say what is missing', async (t) => {
    const folder = temporaryFolder(t);
    const attached = await attachTo(cluster.address, folder, { readOnly: true });
    const { way, passed } = attached.opened;
    assert.equal(way.name, 'calls');
    assert.ok(way.missing.some((what) => what.startsWith('graphs')));
    assert.match(passed[0]!, /read-only/);
    assert.deepEqual(((await cluster.ask('left')) as { plugins: string[] }).plugins, []);
    await cluster.run(['graphs', 'errors']);
    await way.settle();
    attached.detach('detached');
    await attached.ended;
    const tasks = rowsOf(attached.recording, 'dask_task');
    assert.equal(tasks.filter(({ outcome }) => outcome === 'ok').length, 31);
    assert.deepEqual(
      tasks.flatMap(({ outcome, error }) => (outcome === 'erred' ? [error] : [])),
      ["ValueError('no, 0')", "ValueError('no, 2')"],
    );
    assert.ok(rowsOf(attached.recording, 'dask_worker').some(({ tasks }) => String(tasks).startsWith('inc-')));
    const { unmeasured } = report(gather(openRecording(attached.recording)));
    assert.deepEqual(
      unmeasured.filter(({ why }) => why === 'Dask was recorded by read-only calls').map(({ what }) => what),
      way.missing,
    );
    // Dask's task stream goes on: a second monitor does not take what ended before it
    const second = await attachTo(cluster.address, temporaryFolder(t), { readOnly: true });
    await cluster.run(['errors']);
    await second.opened.way.settle();
    second.detach('detached');
    await second.ended;
    assert.deepEqual(
      rowsOf(second.recording, 'dask_task').map(({ prefix }) => prefix),
      ['fail', 'fail'],
    );
  });

  test('a key that is used again at once belongs to its new graph', async (t) => {
    const attached = await attachTo(cluster.address, temporaryFolder(t));
    await cluster.run(['again']);
    await attached.opened.way.catchUp();
    attached.detach('detached');
    await attached.ended;
    const tasks = rowsOf(attached.recording, 'dask_task').filter(({ key }) => key === 'again-1');
    assert.deepEqual(
      tasks.map(({ dag }) => dag),
      [0, 1, 2, 3, 4, 5],
    );
    assert.ok(tasks.every(({ start_time, worker }) => start_time !== undefined && worker !== undefined));
  });

  test('a worker that dies: its task is lost and computed again, and the new worker is sampled', async (t) => {
    const folder = temporaryFolder(t);
    const attached = await attachTo(cluster.address, folder);
    await cluster.run(['death'], { MARKER: path.join(folder, 'died') });
    await eventually('samples of a worker that came later', () => {
      const gone = rowsOf(attached.recording, 'dask_graph').find(({ event }) => event === 'worker-gone');
      if (gone === undefined) return false;
      const samples = rowsOf(attached.recording, 'dask_worker');
      const before = new Set(samples.flatMap(({ time, worker }) => (time <= gone.time ? [worker] : [])));
      return samples.some(({ worker }) => !before.has(worker));
    });
    attached.detach('detached');
    await attached.ended;
    const die = rowsOf(attached.recording, 'dask_task').filter(({ prefix }) => prefix === 'die');
    assert.deepEqual(
      die.map(({ outcome }) => outcome),
      ['lost', 'ok'],
    );
    const gone = rowsOf(attached.recording, 'dask_graph').find(({ event }) => event === 'worker-gone');
    assert.equal(die[0]!.worker, gone!.worker);
    const [use] = prefixUse(daskUse(openRecording(attached.recording)));
    assert.equal(use!.lost, 1);
  });

  test('a task that another worker has stolen is lost with that one', async (t) => {
    const folder = temporaryFolder(t);
    const attached = await attachTo(cluster.address, folder);
    await cluster.run(['stolen_death'], { MARKER: path.join(folder, 'died') });
    attached.detach('detached');
    await attached.ended;
    const gone = rowsOf(attached.recording, 'dask_graph').find(({ event }) => event === 'worker-gone');
    const die = rowsOf(attached.recording, 'dask_task').filter(({ prefix }) => prefix === 'die');
    assert.deepEqual(
      die.map(({ outcome, worker }) => [outcome, worker === gone!.worker]),
      [
        ['lost', true],
        ['ok', false],
      ],
    );
  });

  test('a task that cannot be read by its worker erred, and is not lost', async (t) => {
    // newer Dask reads it where its messages come in, and its workers die of it
    const own = await startCluster();
    t.after(() => own.end());
    const attached = await attachTo(own.address, temporaryFolder(t));
    await own.run(['unreadable']);
    attached.detach('detached');
    await attached.ended;
    const events = rowsOf(attached.recording, 'dask_graph').map(({ event }) => event);
    const outcomes = rowsOf(attached.recording, 'dask_task').map(({ outcome }) => outcome);
    assert.deepEqual(new Set(outcomes), new Set([events.includes('worker-gone') ? 'lost' : 'erred']));
  });

  test('a task whose input went with another worker has not failed', async (t) => {
    const folder = temporaryFolder(t);
    const attached = await attachTo(cluster.address, folder);
    await cluster.run(['lost_input'], { MARKER: path.join(folder, 'lost') });
    attached.detach('detached');
    await attached.ended;
    const outcomes = (task: string): unknown[] =>
      rowsOf(attached.recording, 'dask_task').flatMap(({ key, outcome }) => (key === task ? [outcome] : []));
    assert.deepEqual({ input: outcomes('input-1'), use: outcomes('use-1') }, { input: ['ok', 'ok'], use: ['ok'] });
  });

  test('who is not a Dask scheduler is told apart, and a scheduler that goes ends the recording', async (t) => {
    const other = net.createServer((socket) =>
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\nyou are not speaking HTTP here'),
    );
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const { port } = other.address() as net.AddressInfo;
    await assert.rejects(Comm.open(parseScheduler(`tcp://127.0.0.1:${port}`)), /is not a Dask scheduler/);
    await assert.rejects(
      Comm.open(parseScheduler(cluster.address.replace('tcp', 'tls'))),
      /cannot reach the Dask scheduler tls.*: it does not speak TLS/,
    );
    await assert.rejects(
      findCluster(cluster.address.replace('tcp', 'http')),
      /cannot reach a Dask dashboard at http.*: what listens there is no web server/,
    );
    const silent = net.createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => silent.close());
    const messages: string[] = [];
    const quiet = parseScheduler(`tcp://127.0.0.1:${(silent.address() as net.AddressInfo).port}`);
    await assert.rejects(
      Comm.open(quiet, {}, { limitMs: 4000, say: (text) => void messages.push(text) }),
      /takes connections, but does not answer/,
    );
    assert.deepEqual(messages, [
      `${quiet.text} says nothing yet: it is busy, or not a Dask scheduler; waiting for it for 60 s (a dashboard is named ${quiet.text.replace('tcp', 'http')}, a scheduler with TLS ${quiet.text.replace('tcp', 'tls')})`,
    ]);

    const folder = temporaryFolder(t);
    const own = await startCluster({ workers: 1, threads: 1 });
    const attached = await attachTo(own.address, folder);
    await own.run(['errors']);
    await eventually('its tasks', () => rowsOf(attached.recording, 'dask_task').length === 4);
    await own.end();
    assert.match(await attached.ended, /closed the connection/);
    const { job } = openRecording(attached.recording);
    assert.equal(job.state, 'completed');
    assert.equal(controlOf(attached.recording), undefined);
  });
});

async function nothingLeft(cluster: TestCluster): Promise<void> {
  await eventually('a cluster without plugins and samplers', async () => {
    const { plugins, threads } = (await cluster.ask('left')) as {
      plugins: string[];
      threads: Record<string, string[]>;
    };
    // a metric that hangs keeps its thread: Python cannot end one
    return plugins.length === 0 && Object.values(threads).every((names) => names.length <= 1);
  });
}

function checkCsv(recording: string, folder: string): void {
  const out = path.join(folder, 'csv');
  const { code, err } = tacho(['dask', 'csv', recording, '-o', out]);
  assert.equal(code, 0, err);
  assert.deepEqual(fs.readdirSync(out).sort(), ['worker_0.csv', 'worker_1.csv']);
  const [header, ...rows] = fs.readFileSync(path.join(out, 'worker_0.csv'), 'utf8').split('\n');
  const custom = hasCompiler() ? ',answer,broken,handles,stuck' : ',broken,handles,stuck';
  assert.equal(header, `job,dag,timestamp,tasks,total-mem,mem-util,compute-util${custom}`);
  const first = hasCompiler() ? /^\d,\d,[\d.]+,[^"]*,"\d+, \d+","[\d.]+, [\d.]+","\d+, \d+"/ : /^0,0,[\d.]+,,,,,/;
  assert.ok(
    rows.some((row) => first.test(row)),
    rows[0],
  );
  assert.deepEqual(
    rows.filter((row) => /^\d+,\d+,-/.test(row)),
    [],
    'no sample is from before the start',
  );
  const again = path.join(folder, 'csv of csv');
  assert.equal(tacho(['dask', 'csv', out, '-o', again]).code, 0);
  for (const name of fs.readdirSync(out))
    assert.equal(fs.readFileSync(path.join(again, name), 'utf8'), fs.readFileSync(path.join(out, name), 'utf8'));
  if (!hasCompiler()) return;
  const samples = daskSamples(openRecording(recording)).workers;
  const files = readWorkerFiles(out);
  for (const perJob of [false, true])
    for (const metric of ['total-mem', 'mem-util', 'compute-util', 'answer'])
      assert.deepEqual(
        daskPeaks(files, { metric, workers: [], perJob }),
        daskPeaks(samples, { metric, workers: [], perJob }),
      );
  assert.deepEqual(daskPeaks(samples, { metric: 'answer', workers: [1], perJob: false }), [[42.5, 42.5]]);
  assert.throws(() => daskPeaks(samples, { metric: 'answer', workers: [2], perJob: false }), /there is no worker 2/);
  assert.throws(() => daskPeaks(samples, { metric: 'none', workers: [], perJob: false }), /no worker has the metric/);
}
