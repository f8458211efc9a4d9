import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { testAgent, testJob } from '../../../test/made/spool.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { bytesRead } from '../../recording/folder/record-file.ts';
import type { AppendReply } from '../../sinks/hub/protocol.ts';
import { Unwritable } from '../keep/archive-trouble.ts';
import { ArchiveFolders } from './archive-folder.ts';
import { Descriptors } from './descriptors.ts';
import { Filing, type FilingOptions } from './filing.ts';
import { ONE_OWNER } from './owner.ts';
import { writeReceived } from './received.ts';

function filingIn(t: TestContext, options: FilingOptions = {}): { archive: string; filing: Filing } {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-filing-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
  t.after(() => archiveFolders.close());
  return {
    archive,
    filing: new Filing({ folders: archiveFolders, descriptors: new Descriptors(16), rolled: () => {} }, options),
  };
}

test('whether a node is waited for is read from its own folder, and from nowhere a link leads to', (t) => {
  const { archive, filing } = filingIn(t);
  const job = testJob('1');
  const isWaiting = (): boolean => filing.isWaiting('job', job, 'c1');
  assert.equal(isWaiting(), false);
  const node = path.join(archive, 'user=ada/job=1/node=c1');
  fs.mkdirSync(node, { recursive: true });
  assert.equal(isWaiting(), true);
  writeReceived(node, { format: 1, tables: {}, done: true });
  assert.equal(isWaiting(), false);
  fs.renameSync(node, path.join(archive, 'elsewhere'));
  fs.symlinkSync(path.join(archive, 'elsewhere'), node);
  assert.throws(isWaiting, Unwritable);
});

test('jobs of the same number that somebody made by hand cost a bounded part of a request, and of those that follow', (t) => {
  const { archive, filing } = filingIn(t);
  const namesakes = (id: string, count: number, bytes: number): void => {
    for (let n = 1; n <= count; n++) {
      const folder = path.join(archive, `user=ada/job=${id}${n === 1 ? '' : `.${n}`}`);
      fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify({ end: 1, reason: 'x'.repeat(bytes) }));
    }
  };
  let before = 0;
  const open = (id: string, node: string, user = 'ada'): void => {
    before = bytesRead();
    const job = testJob(id, { user, nodes: ['c1', 'c2'] });
    filing.open({ protocol: 1, node, kind: 'job', job, agent: testAgent(node) }, { kind: 'anyone' });
  };
  const read = (): number => (bytesRead() - before) / 2 ** 20;
  // a number that was used before: once one node has found its place, the others need not look for it
  namesakes('7', 5, 100_000);
  open('7', 'c1');
  assert.ok(read() > 0.4);
  open('7', 'c2');
  assert.ok(read() < 0.1, `${read()} MiB`);
  assert.equal(fs.existsSync(path.join(archive, 'user=ada/job=7.6/node=c2')), true);
  namesakes('8', 99, 1_000_000);
  assert.throws(() => open('8', 'c1'), /^Error: cannot write user=ada\/job=8: .* too long to be read for one request/);
  assert.ok(read() < 16, `${read()} MiB`);
  let output = '';
  for (let i = 0; i < 20 && !output.includes('every request'); i++) {
    try {
      open('8', 'c2');
    } catch (error) {
      output = (error as Error).message;
    }
  }
  assert.match(output, /too long to be read again for every request/);
  assert.equal(read(), 0);
  open('8', 'c1', 'bob');
});

test('a busy hub asks for batches, but not of jobs that somebody watches or asks about', (t) => {
  const pace = { seconds: 0, shortest: 0 };
  const { filing } = filingIn(t, { pace, isWatched: (folder) => fs.realpathSync(folder).endsWith('job=2') });
  const opened = ['1', '2', '3'].map((id) => {
    const job = testJob(id, { nodes: ['c1'] });
    return filing.open({ protocol: 1, node: 'c1', kind: 'job', job, agent: testAgent('c1') }, { kind: 'anyone' })
      .stream;
  });
  const batches = (...streams: number[]): (number | undefined)[] =>
    streams.map((stream) => {
      const rows = Buffer.from('time\n');
      const reply = filing.append([[stream, 'counted', 1, 0, rows.length]], [rows], { kind: 'anyone' });
      return (JSON.parse(reply) as AppendReply).batch;
    });
  assert.deepEqual(batches(...opened), [undefined, undefined, undefined]);
  pace.seconds = 5;
  assert.deepEqual(batches(...opened), [5, undefined, 5]);
  filing.asked(filing.streams.get(opened[2]!)!.recording);
  assert.deepEqual(batches(...opened), [5, undefined, undefined]);
});

test('a request that its agent gave up and the network delivers after the end takes nothing back', (t) => {
  const { archive, filing } = filingIn(t);
  const job = testJob('1');
  const anyone = { kind: 'anyone' } as const;
  const agent = (ticks: number, more: Partial<AgentRecord> = {}) =>
    testAgent('c1', { start: job.start, ticks, ...more });
  const open = (record: AgentRecord): number =>
    filing.open({ protocol: 1, node: 'c1', kind: 'job', job, agent: record }, anyone).stream;
  const stored = (): AgentRecord =>
    JSON.parse(fs.readFileSync(path.join(archive, 'user=ada/job=1/node=c1/agent.json'), 'utf8'));
  const end = (record: AgentRecord) => filing.record({ stream: open(agent(1)), agent: record, job, end: {} }, anyone);
  assert.deepEqual(end(agent(5, { end: job.start + 5e6 })), { done: true });
  const stream = open(agent(1));
  // what the hub concludes when nobody says how it ended
  const { recording } = filing.streams.get(stream)!;
  recording.job = { ...recording.job, state: 'unknown' };
  filing.record({ stream, agent: agent(3), job }, anyone);
  assert.equal(recording.job.state, 'unknown');
  assert.deepEqual([stored().ticks, stored().end], [5, job.start + 5e6]);
  // the next agent of the recording goes on, also where the hub was started again
  filing.forget(filing.streams.get(stream)!);
  open(agent(1));
  assert.equal(stored().ticks, 5);
  open(agent(6));
  assert.deepEqual([stored().ticks, stored().end], [6, undefined]);
  // one that begins anew does not
  assert.deepEqual(end(agent(9, { end: job.start + 9e6 })), { done: true });
  open(agent(1, { start: job.start + 10e6 }));
  assert.equal(stored().ticks, 1);
});
