import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import type { MessageRow } from '../src/policy/message-rows.ts';
import { archiveOf, HOUR, pastJob } from './made/policy-history.ts';
import { TACHO, tacho } from './tacho.ts';

const NOW = Date.now() * 1000;

const POLICIES = `
[[policy]]
name = "low-cpu"
help = "Cores were idle"
per = "user"
total = ["cpu_use < 25%", "core_hours >= 50"]
`;

async function site(toml: string): Promise<{ archive: string; config: string }> {
  const jobs = [
    pastJob('1', NOW - 5 * HOUR, 10, 10),
    pastJob('2', NOW - 6 * HOUR, 10, 10, { user: 'bob', cpu_use: 0.9 }),
    pastJob('3', NOW - 40 * HOUR, 10, 10, { user: 'cleo' }),
  ];
  const archive = await archiveOf(jobs);
  const config = path.join(archive, 'site.toml');
  fs.writeFileSync(config, toml);
  return { archive, config };
}

test('policies are listed, tried on the past, and applied, without sending anything', async () => {
  const { archive, config } = await site(POLICIES);
  const ask = (...args: string[]): string => {
    const { code, out, err } = tacho(['policy', ...args, '--config', config]);
    assert.equal(code, 0, err);
    return out;
  };
  assert.match(
    ask('list'),
    /^low-cpu +on +user +7 d +list +jobs; per user in 7 d: cpu_use < 25% and core_hours >= 50$/m,
  );
  const run = JSON.parse(ask('run', '--archive', archive, '--format', 'json')) as {
    policy: string;
    jobs: number;
    cases: { user: string; totals: Record<string, number>; jobs: { job: string; figures: object }[] }[];
  }[];
  assert.deepEqual(
    run.map(({ policy, jobs, cases }) => [policy, jobs, cases.map(({ user, jobs: own }) => [user, own[0]!.job])]),
    [
      [
        'low-cpu',
        3,
        [
          ['ada', '1'],
          ['cleo', '3'],
        ],
      ],
    ],
  );
  assert.deepEqual(run[0]!.cases[0]!.totals.core_hours, 100);
  assert.match(ask('run', '--archive', archive), /^ada: 1 job, 100 core-hours \(90 not used\)/m);
  assert.match(
    ask('run', '--archive', archive, '--format', 'markdown'),
    /^\| ada \| 1 \| 100 core-hours \(90 not used\) \| 1 \|$/m,
  );
  assert.match(ask('run', 'low-cpu', '--archive', archive, '--format', 'csv'), /\nlow-cpu,\d+,ada,1,k,train,/);
  const past = ask('test', 'low-cpu', archive, '--from', '-14d');
  assert.match(past, /it would have sent 2 messages to 2 users about 2\s+jobs\./);
  assert.match(past, /These jobs had 200 core-hours \(180 not used\)\. 3 jobs looked at, 0 exempt/);
  const init = tacho(['policy', 'init']).out;
  const begin = path.join(archive, 'begin.toml');
  fs.writeFileSync(begin, init);
  const list = JSON.parse(tacho(['policy', 'list', '--config', begin, '--format', 'json']).out) as {
    enabled: boolean;
  }[];
  assert.ok(list.length >= 10);
  assert.ok(list.every(({ enabled }) => !enabled));
  assert.match(tacho(['policy', 'columns']).out, /^gpu_idle_seconds +seconds +most +How long a GPU did nothing/m);
});

test('what is wrong in a policy is said with its line', async () => {
  const { archive, config } = await site(POLICIES.replace('per =', 'pre ='));
  const { code, err } = tacho(['policy', 'run', '--config', config, '--archive', archive]);
  assert.equal(code, 2);
  assert.match(err, /site\.toml:5: unknown key "pre" in \[\[policy\]\]; did you mean "per"\?/);
  // nobody else is kept from working by it
  assert.equal(tacho(['jobs', archive, '--config', config]).code, 0);
});

/** Without blocking this process, in which the server is. */
function tachoBeside(args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(TACHO, args);
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    texts.out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    texts.err += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...texts })));
}

test('mails are sent with --send only, once, also by two runs at once; what waits is sent later', async (t) => {
  const taken: string[] = [];
  const listen = async (port = 0): Promise<SMTPServer> => {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, session, done) {
        stream.resume();
        stream.on('end', () => {
          taken.push(session.envelope.rcptTo.map(({ address }) => address).join());
          done();
        });
      },
    });
    server.on('error', () => {});
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
    t.after(() => server.close());
    return server;
  };
  const first = await listen();
  const { port } = first.server.address() as AddressInfo;
  await new Promise<void>((resolve) => first.close(() => resolve()));
  const { archive, config } = await site(`
[mail]
server = "smtp://127.0.0.1:${port}"
from = "tacho@site.test"
domain = "site.test"
${POLICIES}actions = ["mail", "markdown"]
`);
  const run = (...args: string[]) => tachoBeside(['policy', 'run', '--config', config, '--archive', archive, ...args]);
  const status = (): MessageRow[] =>
    JSON.parse(
      tacho(['policy', 'status', '--config', config, '--archive', archive, '--format', 'json']).out,
    ) as MessageRow[];
  const dry = await run();
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /^ada: 1 job, 100 core-hours \(90 not used\); mail would be sent$/m);
  assert.deepEqual([status(), fs.existsSync(path.join(archive, '.tacho-policies'))], [[], false]);
  // nobody is there
  const down = await run('--send');
  assert.equal(down.code, 1);
  assert.match(down.err, /the mail to ada about low-cpu was not sent \(.*ECONNREFUSED.*\): it waits/s);
  assert.deepEqual(
    status().map(({ user, state }) => [user, state]),
    [
      ['ada', 'waiting'],
      ['cleo', 'waiting'],
    ],
  );
  await listen(port);
  const both = await Promise.all([run('--send'), run('--send')]);
  assert.deepEqual(
    both.map(({ code }) => code),
    [0, 0],
    both.map(({ err }) => err).join(),
  );
  assert.deepEqual(taken.sort(), ['ada@site.test', 'cleo@site.test']);
  assert.deepEqual(
    status().map(({ user, state, jobs }) => [user, state, jobs]),
    [
      ['ada', 'sent', ['1']],
      ['cleo', 'sent', ['3']],
    ],
  );
  const listed = tacho(['policy', 'status', '--config', config, '--archive', archive]).out;
  assert.match(listed, /low-cpu +ada +1 +mail +sent +2/);
  const [report] = fs.readdirSync(path.join(archive, '.tacho-policies/reports'));
  assert.match(report!, /^low-cpu-\d{8}T\d{6}Z\.md$/);
  const again = await run('--send', '--format', 'json');
  const [policyRun] = JSON.parse(again.out) as {
    cases: { user: string; outcome: { sent: boolean; plan: string } }[];
  }[];
  assert.deepEqual(
    policyRun!.cases.map(({ outcome: { sent, plan } }) => [sent, plan]),
    [
      [true, 'notified'],
      [true, 'notified'],
    ],
  );
  assert.equal(taken.length, 2);
});

test('killed after the server has the mail and before that is noted: it is not sent twice', async (t) => {
  let mails = 0;
  const hold: { kill?: () => void } = {};
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _, done) {
      stream.resume();
      stream.on('end', () => {
        mails++;
        // the answer never comes: who waits for it ends first
        if (hold.kill === undefined) done();
        else hold.kill();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.after(() => server.close());
  const { archive, config } = await site(`
[mail]
server = "127.0.0.1:${(server.server.address() as AddressInfo).port}"
from = "tacho@site.test"
domain = "site.test"
${POLICIES}actions = ["mail"]
users = ["ada"]
`);
  const args = ['policy', 'run', '--send', '--config', config, '--archive', archive];
  const child = spawn(TACHO, args, { stdio: 'ignore', detached: true });
  // the launcher and what it started
  hold.kill = () => process.kill(-child.pid!, 'SIGKILL');
  await new Promise<void>((resolve) => child.on('close', () => resolve()));
  delete hold.kill;
  const next = await tachoBeside(args);
  assert.equal(next.code, 0, next.err);
  assert.match(next.out, /^ada: 1 job, .*; heard of it in this period, again from /m);
  const status = tacho(['policy', 'status', '--config', config, '--archive', archive]).out;
  assert.match(status, /low-cpu +ada +1 +mail +unsure +1 .*Tacho was stopped while it was sent/);
  assert.equal(mails, 1);
});
