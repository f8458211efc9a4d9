import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { TableWriter } from '../src/recording/live/append.ts';
import { HubSink } from '../src/sinks/hub/sink.ts';
import { spoolStreams } from '../src/sinks/spool/streams.ts';
import { type HubProcess, startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from './made/spool.ts';
import { temporaryFolder } from './tacho.ts';

// what a user does to their own folder in the archive concerns nobody else on the nodes where they have jobs

const ROOT = process.getuid?.() === 0 ? false : 'needs root: else all recordings are one user’s';
const EVE = 54321;
const ADA = 54322;
const TODAY = new Date().toISOString().slice(0, 10);

/** An agent with jobs of two users and the node's own data, its hub, and what the archive has of them. */
class Node {
  readonly archive: string;
  readonly eve: string;
  hub!: HubProcess;
  private readonly spool: string;
  private readonly t: TestContext;
  private readonly writers: Record<string, TableWriter>;
  private sink!: HubSink;
  private written = 0;

  constructor(t: TestContext) {
    this.t = t;
    // users must be able to get there
    this.archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
    fs.chmodSync(this.archive, 0o755);
    t.after(async () => {
      await this.sink?.close(0);
      await this.hub?.kill('SIGKILL');
      spawnSync('umount', ['-l', this.eve]);
      fs.rmSync(this.archive, { recursive: true, force: true });
    });
    this.eve = path.join(this.archive, 'user=eve');
    this.spool = temporaryFolder(t);
    const folder = (job: Parameters<typeof testJob>) =>
      new TableWriter(testRecording(this.spool, `job-${job[0]}`, testJob(...job), testAgent('c1')), COUNTED);
    this.writers = {
      'user=eve/job=1': folder(['1', { user: 'eve', uid: EVE }]),
      'user=ada/job=2': folder(['2', { user: 'ada', uid: ADA }]),
      [`fleet/day=${TODAY}`]: folder([`fleet-${TODAY}`, { user: '', uid: -1 }]),
    };
  }

  async start(): Promise<void> {
    this.hub = await startHubProcess(this.t, this.archive);
    this.sink = new HubSink({
      addresses: [new URL(this.hub.address)],
      spool: this.spool,
      streams: spoolStreams(this.spool),
      node: 'c1',
      spreadSeconds: 0,
    });
    this.write();
    for (const recording of Object.keys(this.writers)) await this.until(() => this.has(recording));
  }

  async restartHub(): Promise<void> {
    await this.hub.kill('SIGKILL');
    this.hub = await startHubProcess(this.t, this.archive, ['--listen', new URL(this.hub.address).host]);
  }

  /** Ten rows more of everything. */
  write(): void {
    for (const writer of Object.values(this.writers)) writer.append(countedRows('c1', this.written, this.written + 10));
    this.written += 10;
  }

  /** The archive has every row of the recording, each once. */
  has(recording: string): boolean {
    let text: string;
    try {
      text = fs.readFileSync(path.join(this.archive, recording, 'node=c1/counted.csv'), 'utf8');
    } catch {
      return false;
    }
    const numbers = [...text.matchAll(/^\d+,c1,(\d+),/gm)].map(([, n]) => Number(n));
    assert.deepEqual(
      numbers,
      numbers.map((_, n) => n),
    );
    return numbers.length === this.written;
  }

  async until(holds: () => boolean): Promise<void> {
    const trouble = (): string => `what the sink does; agent: ${this.sink.trouble}\nhub: ${this.hub.outputText()}`;
    await eventually(trouble, () => {
      if (holds()) return true;
      this.sink.wake();
      return false;
    });
  }

  /** The others' samples come although Eve's do not; the agent and the hub's log say whose, and why. */
  async othersArrive(why: RegExp): Promise<void> {
    this.write();
    for (const recording of ['user=ada/job=2', `fleet/day=${TODAY}`]) await this.until(() => this.has(recording));
    await this.until(() => /^job-1 waits: /.test(this.sink.trouble ?? ''));
    assert.match(this.sink.trouble!, why);
    assert.equal(this.sink.trouble!.split('\n').length, 1, this.sink.trouble);
    assert.equal(this.has('user=eve/job=1'), false);
    assert.doesNotMatch(this.hub.outputText(), /cannot write to /);
  }

  async everythingArrives(): Promise<void> {
    for (const recording of Object.keys(this.writers)) await this.until(() => this.has(recording));
    await this.until(() => this.sink.trouble === undefined);
  }
}

const DENIED = /user=eve\/job=1: permission denied/;

for (const [what, where] of [
  ['their folder', '.'],
  ['their job’s folder', 'job=1'],
  ['their node’s folder', 'job=1/node=c1'],
] as const) {
  test(`chmod 000 on ${what}`, { skip: ROOT }, async (t) => {
    const node = new Node(t);
    await node.start();
    const folder = path.join(node.eve, where);
    fs.chmodSync(folder, 0);
    await node.restartHub();
    await node.othersArrive(DENIED);
    await node.until(() => DENIED.test(node.hub.outputText()));
    assert.match(
      node.hub.outputText(),
      /cannot write user=eve\/job=1: permission denied; its agents keep their samples/,
    );
    fs.chmodSync(folder, 0o700);
    await node.everythingArrives();
    await node.until(() => /user=eve\/job=1 can be written again/.test(node.hub.outputText()));
  });
}

test('folders where the hub wants to write files', { skip: ROOT }, async (t) => {
  const node = new Node(t);
  await node.start();
  const there = (name: string): string => path.join(node.eve, 'job=1/node=c1', name);
  fs.mkdirSync(there('agent.json.0.tmp/x'), { recursive: true });
  for (const name of ['agent.json.0.tmp', 'agent.json.0.tmp/x']) fs.chownSync(there(name), EVE, EVE);
  await node.restartHub();
  await node.othersArrive(/agent\.json\.0\.tmp is not an ordinary file/);
  fs.rmSync(there('agent.json.0.tmp'), { recursive: true });
  await node.everythingArrives();
  fs.renameSync(there('counted.csv'), there('kept'));
  fs.mkdirSync(there('counted.csv'));
  await node.restartHub();
  await node.othersArrive(/counted\.csv is not an ordinary file/);
  fs.rmdirSync(there('counted.csv'));
  fs.renameSync(there('kept'), there('counted.csv'));
  await node.restartHub();
  await node.everythingArrives();
});

test('a quota that is used up is told as the user’s, not as a full archive', { skip: ROOT }, async (t) => {
  const node = new Node(t);
  fs.mkdirSync(node.eve, { mode: 0o700 });
  fs.chownSync(node.eve, EVE, EVE);
  const options = `size=64k,mode=700,uid=${EVE},gid=${EVE}`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tacho-test', node.eve]).status !== 0)
    return t.skip('cannot mount a small file system');
  await node.start();
  const room = path.join(node.eve, 'room');
  spawnSync('dd', ['if=/dev/zero', `of=${room}`, 'bs=4k']);
  const [why, pattern] = [
    /user=eve\/job=1: no space left/,
    /cannot write user=eve\/job=1: no space left on the device; its/,
  ];
  // samples are in what is left of the last page for a while
  for (let i = 0; i < 40; i++) node.write();
  await node.othersArrive(why);
  await node.until(() => pattern.test(node.hub.outputText()));
  await node.restartHub();
  await node.othersArrive(why);
  await node.until(() => pattern.test(node.hub.outputText()));
  fs.rmSync(room);
  execFileSync('mount', ['-o', `remount,size=4m`, node.eve]);
  await node.everythingArrives();
});

test('thousands of files that look like tables', { skip: ROOT }, async (t) => {
  const node = new Node(t);
  await node.start();
  for (let n = 0; n < 3000; n++) {
    const file = path.join(node.eve, `job=1/node=c1/a${n}.csv`);
    fs.writeFileSync(file, '');
    fs.chownSync(file, EVE, EVE);
  }
  await node.restartHub();
  node.write();
  // also their own: what their agent writes is known by its record
  await node.everythingArrives();
});
