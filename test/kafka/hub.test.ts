import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { summarise } from '../../src/query/summarise.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import { openRecording, type Recording } from '../../src/recording/folder/open.ts';
import { replaceJson } from '../../src/recording/folder/replace.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { KafkaSink } from '../../src/sinks/kafka/sink.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { eventually } from '../made/eventually.ts';
import { testAgent, testJob, testRecording } from '../made/spool.ts';
import { type Broker, sharedBroker, whyNoKafka } from './broker.ts';

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Hub {
  child: ChildProcess;
  outputText(): string;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

function startHub(archive: string, broker: string, prefix: string): Hub {
  const hub = ['hub', '--listen', '127.0.0.1:0', '--archive', archive];
  const kafka = ['--samples-from', 'kafka', '--kafka', broker, '--kafka-prefix', prefix];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...hub, ...kafka]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  return {
    child,
    outputText: () => output,
    async end(signal) {
      child.kill(signal);
      await ended;
    },
  };
}

const until = (what: string, is: () => boolean, hub: () => Hub): Promise<unknown> =>
  eventually(() => `${what}; the hub said: ${hub().outputText()}`, is, 240);

/** All rows of a recording, by node and table, in the order of keys and time. */
function rowsOf(recording: Recording): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const node of recording.nodes) {
    for (const name of node.tables.keys()) {
      const { table, time, numbers, texts, damage } = readTable(node, name);
      assert.deepEqual(damage, []);
      all[`${node.name} ${name}`] = {
        table: JSON.stringify(table),
        time: [...time],
        numbers: Object.fromEntries([...numbers].map(([column, values]) => [column, [...values]])),
        texts: Object.fromEntries(
          [...texts].map(([column, { codes, values }]) => [column, [...codes].map((code) => values[code])]),
        ),
      };
    }
  }
  return all;
}

function rowCount(folder: string): number {
  if (!fs.existsSync(path.join(folder, 'job.json'))) return 0;
  let rows = 0;
  for (const node of openRecording(folder).nodes) {
    for (const name of node.tables.keys()) rows += readTable(node, name, { columns: [] }).rows;
  }
  return rows;
}

describe('tacho hub --from kafka', { skip: whyNoKafka() }, () => {
  let broker: Broker;
  let scratch: string;
  before(async () => {
    broker = await sharedBroker();
    scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-hub-'));
  });
  after(() => {
    if (scratch !== undefined) fs.rmSync(scratch, { recursive: true, force: true });
  });

  const openDemoSink = (spool: string): KafkaSink =>
    new KafkaSink({
      folder: spool,
      streams: spoolStreams(spool),
      brokers: [broker.address],
      prefix: 'demo',
      byUser: true,
    });
  interface Streamed {
    spool: string;
    archive: string;
    recording: string;
    filed: string;
  }
  let streamed: Promise<Streamed>;

  test('the archive has the same rows and summary, although hub and broker are stopped and killed', async () => {
    streamed = stream();
    await streamed;
  });

  const stream = async (): Promise<Streamed> => {
    const spool = path.join(scratch, 'spool');
    const archive = path.join(scratch, 'archive');
    fs.mkdirSync(spool);
    const recording = await writeDemo({
      folder: path.join(spool, 'job-1'),
      live: true,
      nodes: 2,
      gpus: 2,
      seconds: 600,
    });
    const { username, uid } = os.userInfo();
    const job = JSON.parse(fs.readFileSync(path.join(recording, 'job.json'), 'utf8')) as Job;
    replaceJson(path.join(recording, 'job.json'), { ...job, user: username, uid });
    const filed = path.join(archive, `user=${username}`, `job=${job.id}`);
    const rows = rowCount(recording);
    assert.ok(rows > 5000, `${rows} rows`);

    let hub = startHub(archive, broker.address, 'demo');
    const current = (): Hub => hub;
    const sink = openDemoSink(spool);
    sink.wake();
    try {
      await until('the first rows', () => rowCount(filed) > 0, current);
      await hub.end('SIGKILL');
      hub = startHub(archive, broker.address, 'demo');
      await sleep(500);
      await broker.stop('SIGKILL');
      await broker.start();
      await sleep(500);
      await hub.end('SIGTERM');
      await sink.close(240);
      assert.equal(sink.trouble, undefined);
      assert.equal(sink.passedOver, 0);
      hub = startHub(archive, broker.address, 'demo');
      await until('all rows', () => rowCount(filed) >= rows, current);
      await hub.end('SIGTERM');
    } finally {
      await hub.end('SIGKILL');
    }
    const [there, here] = [openRecording(filed), openRecording(recording)];
    assert.deepEqual(rowsOf(there), rowsOf(here));
    assert.deepEqual(summary(there), summary(here));
    assert.deepEqual(there.job, here.job);
    assert.deepEqual(agents(there), agents(here));
    for (const node of here.nodes) {
      for (const { parts } of node.tables.values()) {
        const [one, other] = [recording, filed].map((folder) =>
          fs.readFileSync(path.join(folder, path.basename(node.folder), parts[0]!), 'utf8'),
        );
        assert.equal(other, one);
      }
    }
    return { spool, archive, recording, filed };
  };

  test('when the job is over, the recording in the archive is sealed', async () => {
    const { spool, archive, recording, filed } = await streamed;
    const expected = rowsOf(openRecording(recording));
    const { job, nodes } = openRecording(recording);
    const end = Math.max(...nodes.map(({ agent }) => agent!.last_sample ?? agent!.start)) + 1_000_000;
    for (const { agent, folder } of nodes) replaceJson(path.join(folder, 'agent.json'), { ...agent, end });
    replaceJson(path.join(recording, 'job.json'), { ...job, end, state: 'completed' });
    const hub = startHub(archive, broker.address, 'demo');
    try {
      const sink = openDemoSink(spool);
      sink.wake();
      await sleep(1500);
      await sink.close(240);
      const isSealed = (): boolean =>
        openRecording(filed).nodes.every(({ tables }) => [...tables.values()].every(({ parts }) => parts.length === 0));
      await until('sealed', isSealed, () => hub);
    } finally {
      await hub.end('SIGTERM');
    }
    const sealed = openRecording(filed);
    assert.equal(sealed.job.state, 'completed');
    assert.equal(sealed.job.end, end);
    assert.deepEqual(rowsOf(sealed), expected);
  });

  test('rows of a recording that cannot be written wait by themselves, also while the hub is killed', async () => {
    const spool = path.join(scratch, 'held-spool');
    const archive = path.join(scratch, 'held');
    const uid = process.getuid!();
    const users = { eve: uid === 0 ? 54321 : uid, ada: uid === 0 ? 54322 : uid };
    const node = (user: keyof typeof users): string => path.join(archive, `user=${user}/job=1/node=c1`);
    const write = (user: keyof typeof users, rows: number): void => {
      const job = testJob('1', { user, uid: users[user] });
      const folder = testRecording(spool, user, job, testAgent('c1', { start: job.start }));
      const lines = Array.from({ length: rows }, (_, n) => `${job.start + n * 1e6},${user},${n},\n`);
      fs.writeFileSync(path.join(folder, 'counted.csv'), `time,who,n,label\n${lines.join('')}`);
    };
    // a folder in the place of a table
    fs.mkdirSync(path.join(node('eve'), 'counted.csv'), { recursive: true, mode: 0o700 });
    fs.chmodSync(archive, 0o755);
    for (let folder = path.join(node('eve'), 'counted.csv'); folder !== archive; folder = path.dirname(folder))
      fs.chownSync(folder, users.eve, users.eve);
    const text = (user: keyof typeof users): string => {
      const file = path.join(node(user), 'counted.csv');
      return fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true ? fs.readFileSync(file, 'utf8') : '';
    };
    const wanted = (user: string): string => fs.readFileSync(path.join(spool, user, 'node=c1/counted.csv'), 'utf8');
    write('eve', 3000);
    let hub = startHub(archive, broker.address, 'held');
    const options = { folder: spool, streams: spoolStreams(spool), brokers: [broker.address], prefix: 'held' };
    const sink = new KafkaSink(options);
    try {
      sink.wake();
      await until(
        'it is told',
        () => hub.outputText().includes('cannot write user=eve/job=1'),
        () => hub,
      );
      write('ada', 3000);
      sink.wake();
      await until(
        'the rows of the other',
        () => text('ada') === wanted('ada'),
        () => hub,
      );
      await sink.close(240);
      assert.equal(text('eve'), '');
      await hub.end('SIGKILL');
      fs.rmdirSync(path.join(node('eve'), 'counted.csv'));
      hub = startHub(archive, broker.address, 'held');
      await until(
        'all rows',
        () => text('eve') === wanted('eve'),
        () => hub,
      );
      await until(
        'nothing waits',
        () => fs.readdirSync(path.join(archive, '.kafka-aside')).length === 0,
        () => hub,
      );
      await hub.end('SIGTERM');
    } finally {
      await hub.end('SIGKILL');
      await sink.close(0);
    }
  });
});

const summary = (each: Recording): unknown =>
  summarise([each]).map(({ nodes }) => nodes.map(({ node, ...rest }) => [node.name, rest]));
const agents = (each: Recording): unknown => each.nodes.map(({ agent }) => agent);
