import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { makeAuthority, whyNoCertificates } from '../hub/certificates.ts';
import { eventually } from '../made/eventually.ts';
import { TACHO } from '../tacho.ts';
import { type SharedBroker, sharedBroker, whyNoKafka, whyNoKcat } from './broker.ts';
import { kcat } from './kcat.ts';

/** An agent that sends to Kafka, with settings as in a configuration file; it records this machine every 0.2 s. */
class Agent {
  output = '';
  private over = false;
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;

  constructor(t: TestContext, folder: string, kafka: Record<string, unknown>) {
    const config = path.join(folder, 'config.toml');
    const lines = Object.entries({ every: '0.2s', ...kafka }).map(
      ([key, value]) => `${key} = ${JSON.stringify(value)}`,
    );
    fs.writeFileSync(config, `[kafka]\n${lines.join('\n')}\n`);
    const folderOptions = ['--spool', path.join(folder, 'spool'), '--jobs', path.join(folder, 'jobs'), '--hooks-only'];
    this.child = spawn(TACHO, [
      'agent',
      '--config',
      config,
      ...folderOptions,
      '--node',
      'c1',
      '--idle-interval',
      '0.2s',
    ]);
    for (const stream of [this.child.stdout!, this.child.stderr!])
      stream.on('data', (chunk: Buffer) => {
        this.output += chunk;
      });
    this.ended = new Promise((resolve) => this.child.once('close', resolve)).then(() => {
      this.over = true;
    });
    t.after(() => this.stop('SIGKILL'));
  }

  async says(pattern: RegExp): Promise<void> {
    await eventually(
      () => `${pattern} in: ${this.output}`,
      () => {
        if (pattern.test(this.output)) return true;
        assert.ok(!this.over, `it did not say ${pattern}: ${this.output}`);
        return false;
      },
    );
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.child.kill(signal);
    await this.ended;
  }
}

/** When the samples of the load were taken, as they are in the spool. */
function recorded(folder: string): number[] {
  return fs
    .globSync('spool/fleet-*/job.json', { cwd: folder })
    .flatMap((file) => openRecording(path.join(folder, path.dirname(file))).nodes)
    .filter(({ tables }) => tables.has('loadavg'))
    .flatMap((node) => [...readTable(node, 'loadavg', { columns: [] }).time]);
}

describe('a Kafka that asks who is there', {
  skip: whyNoKafka() || whyNoKcat() || whyNoCertificates(),
  concurrency: true,
}, () => {
  let broker: SharedBroker;
  let access: NonNullable<SharedBroker['access']>;
  let folder: string;
  let ca: string;
  let password: string;
  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-access-'));
    broker = await sharedBroker();
    access = broker.access!;
    ca = access.ca;
    makeAuthority(folder, 'other');
    password = path.join(folder, 'password');
    fs.writeFileSync(password, `${access.password}\n`, { mode: 0o600 });
  });
  after(() => {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  });
  const subfolder = (name: string): string => {
    const made = path.join(folder, name);
    fs.mkdirSync(made);
    return made;
  };
  /** Waits until some transactions are over, ends the agent, and returns when the samples in Kafka were taken. */
  const sent = async (agent: Agent, at: string, prefix: string, least = 2): Promise<number[]> => {
    const journal = path.join(at, 'spool/.sinks/kafka.jsonl');
    const transactions = (): number =>
      fs.existsSync(journal) ? fs.readFileSync(journal, 'latin1').split('\n').length - 1 : 0;
    await eventually(
      () => `four transactions; the agent said: ${agent.output}`,
      () => transactions() >= 4,
    );
    // a consumer that reads to the end finds none while rows arrive
    await agent.stop();
    // consumers see a transaction some time after the producer was told that it is stored
    let there = kcat(broker.address, `${prefix}.loadavg`);
    await eventually(
      () => `${least} rows in ${prefix}.loadavg (${there.length}); the agent said: ${agent.output}`,
      async () => {
        if (there.length >= least) return true;
        await sleep(1000);
        there = kcat(broker.address, `${prefix}.loadavg`);
        return false;
      },
    );
    return there.map(({ value }) => value.time as number);
  };
  const rowsOf = async (at: string, least: number): Promise<void> => {
    await eventually(
      () => `${least} rows of ${recorded(at).length}`,
      () => recorded(at).length >= least,
    );
  };

  const WAYS = {
    tls: () => ({ brokers: [broker.secure.SSL], ca }),
    'plain-in-tls': () => ({ brokers: [broker.secure.SASL_SSL], ca, ...by('PLAIN') }),
    'scram-in-tls': () => ({ brokers: [broker.secure.SASL_SSL], ca, ...by('SCRAM-SHA-512') }),
    'scram-alone': () => ({ brokers: [broker.secure.SASL_PLAINTEXT], ...by('SCRAM-SHA-512') }),
  };
  const by = (mechanism: string) => ({ user: access.user, password_file: password, mechanism });
  for (const [name, settings] of Object.entries(WAYS)) {
    test(`${name}: every row arrives, once`, async (t) => {
      const at = subfolder(name);
      const agent = new Agent(t, at, { ...settings(), prefix: name });
      const there = await sent(agent, at, name);
      assert.ok(there.length > 1);
      assert.deepEqual(there, recorded(at).slice(0, there.length));
    });
  }

  for (const mechanism of ['PLAIN', 'SCRAM-SHA-512']) {
    test(`a wrong password (${mechanism}) is told, and samples wait for the right one`, async (t) => {
      const name = `wrong-${mechanism}`;
      const at = subfolder(name);
      const wrong = path.join(at, 'password');
      fs.writeFileSync(wrong, 'guess', { mode: 0o600 });
      const settings = { brokers: [broker.secure.SASL_SSL], ca, prefix: name, ...by(mechanism), password_file: wrong };
      const first = new Agent(t, at, settings);
      await first.says(/kafka \S+: the broker does not accept who we say we are: .*kafka.password_file.*\n/);
      await rowsOf(at, 5);
      await first.stop('SIGKILL');
      t.diagnostic(first.output.split('\n')[1]!);
      assert.doesNotMatch(first.output, /guess/);
      const waiting = recorded(at);
      fs.writeFileSync(wrong, access.password);
      const second = new Agent(t, at, settings);
      const there = await sent(second, at, name, waiting.length);
      assert.deepEqual(there.slice(0, waiting.length), waiting);
      assert.deepEqual(there, recorded(at).slice(0, there.length));
    });
  }

  test('a password that others can read is refused', async (t) => {
    const at = subfolder('open');
    const file = path.join(at, 'password');
    fs.writeFileSync(file, access.password, { mode: 0o644 });
    const agent = new Agent(t, at, { brokers: [broker.secure.SASL_SSL], ca, ...by('PLAIN'), password_file: file });
    await agent.says(/the password in .* can be read by others/);
  });

  test('an authority that is not trusted, and a port of another kind, are told', async (t) => {
    const { SSL, SASL_SSL, SASL_PLAINTEXT } = broker.secure;
    const cases: [string, Record<string, unknown>, RegExp][] = [
      [
        'strange',
        { brokers: [SSL], ca: path.join(folder, 'other.pem') },
        /.*not issued by an authority .*: kafka\.ca.*/,
      ],
      ['no-tls', { brokers: [broker.address], tls: true }, /it does not speak TLS: .*/],
      ['not-tls', { brokers: [SSL] }, /.*TLS.*/],
      ['nobody', { brokers: [SASL_PLAINTEXT] }, /.*kafka\.user.*/],
      ['nobody-in-tls', { brokers: [SASL_SSL], ca }, /.*kafka\.user.*/],
    ];
    await Promise.all(
      cases.map(async ([name, settings, pattern]) => {
        const agent = new Agent(t, subfolder(name), { ...settings, prefix: name });
        await agent.says(new RegExp(`kafka \\S+: ${pattern.source}\\n`));
        t.diagnostic(`${name}: ${agent.output.split('\n')[1]}`);
        await agent.stop('SIGKILL');
      }),
    );
  });
});
