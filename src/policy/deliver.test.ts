import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { issue, makeAuthority, whyNoCertificates } from '../../test/hub/certificates.ts';
import { HOUR, pastJob } from '../../test/made/policy-history.ts';
import { temporary } from '../../test/make-recording.ts';
import { Fault } from '../base/fault.ts';
import { type Config, loadConfig } from '../config/config.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { parseCondition } from './condition.ts';
import { type Delivered, deliver, sendersFor } from './deliver.ts';
import { judge } from './evaluate.ts';
import { type Delivery, Ledger } from './ledger.ts';
import type { Policy } from './policy.ts';
import { signatureOf } from './send-webhook.ts';

const START = Date.parse('2026-03-20T00:00:00Z') * 1000;
const DAY = 24 * HOUR;

const POLICY: Policy = {
  name: 'low-cpu',
  origin: 'tacho.toml:1',
  enabled: true,
  help: 'Cores were idle',
  advice: 'Ask for fewer.',
  per: 'job',
  jobs: 'ended',
  window_seconds: 7 * 86_400,
  period_seconds: 7 * 86_400,
  when: [parseCondition('cpu_use < 25%')],
  total: [],
  unless: [],
  scope: {},
  actions: ['mail'],
  to: 'user',
};

interface Mail {
  from: string;
  to: string[];
  text: string;
}

type Hooks = Pick<SMTPServerOptions, 'onMailFrom' | 'onRcptTo' | 'onAuth'> & {
  /** Instead of taking a mail. */
  data?: (text: string, finish: (error?: Error) => void, cut: () => void) => void;
};

/** A real SMTP server; it can be stopped, and started again at the same port. */
async function mailServer(t: TestContext, hooks: Hooks = {}, options: SMTPServerOptions = {}, host = '127.0.0.1') {
  const mails: Mail[] = [];
  const sockets = new Set<net.Socket>();
  let server: SMTPServer | undefined;
  const start = async (port = 0): Promise<number> => {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      ...options,
      ...hooks,
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const take = (error?: Error | null): void => {
            if (!error) {
              const { mailFrom, rcptTo } = session.envelope;
              mails.push({
                from: (mailFrom as { address: string }).address,
                to: rcptTo.map(({ address }) => address),
                text,
              });
            }
            done(error ?? null);
          };
          if (hooks.data === undefined) take();
          else hooks.data(text, take, () => [...sockets].map((socket) => socket.destroy()));
        });
      },
    });
    server.on('error', () => {});
    server.server.on('connection', (socket: net.Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server!.listen(port, host, () => resolve()));
    return (server.server.address() as AddressInfo).port;
  };
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server!.close(() => resolve());
    });
  const port = await start();
  t.after(stop);
  return { mails, port, stop, start: () => start(port) };
}

const configured = (values: Record<string, unknown>): Promise<Config> =>
  loadConfig(values, undefined, { folder: '/', environment: {}, site: '/nowhere', uid: 0 });

const mailConfig = (port: number, more: Record<string, unknown> = {}): Promise<Config> =>
  configured({
    'mail.server': `smtp://127.0.0.1:${port}`,
    'mail.from': 'Tacho <tacho@site.test>',
    'mail.domain': 'site.test',
    ...more,
  });

/** One run of the policy over these jobs, at that time. */
function runAt(
  state: string,
  config: Config,
  policy: Policy,
  now: number,
  jobs: readonly JobSummary[],
): Promise<Delivered[]> {
  return Ledger.hold(state, async (ledger) => {
    const senders = await sendersFor(config, [policy], ledger, (text) => assert.fail(text));
    return deliver([{ policy, judged: judge(policy, jobs) }], ledger, { now: () => now, senders });
  });
}

/** Why messages were not taken. */
const errorsIn = (state: string): string[] =>
  Ledger.read(state)
    .messages()
    .flatMap(({ message }) => message.sendings.mail?.error ?? []);

const states = (state: string): (Delivery | undefined)[] =>
  Ledger.read(state)
    .messages()
    .map(({ message }) => message.sendings.mail?.state);

test('a mail: who, which jobs, what they cost, what to do; once per user and period, each job once', async (t) => {
  const { mails, port } = await mailServer(t);
  const config = await mailConfig(port, {
    'mail.administrators': ['ops@site.test'],
    'mail.reply_to': 'help@site.test',
  });
  const state = temporary();
  const policy: Policy = { ...POLICY, to: 'both' };
  const asked = { asked_cpus: 10, asked_nodes: 1, time_limit_seconds: 36_000, asked_memory_bytes: 2 ** 34 };
  const jobs = [
    pastJob('4711', START - HOUR, 10, 10, asked),
    pastJob('4712', START - 2 * HOUR, 10, 10, asked),
    pastJob('4713', START - HOUR, 1, 1, { user: 'bob' }),
  ];
  const first = await runAt(state, config, policy, START, jobs);
  assert.deepEqual(
    first.map(({ user, plan, message }) => [user, plan, message?.sendings.mail?.state]),
    [
      ['ada', 'tell', 'sent'],
      ['bob', 'tell', 'sent'],
    ],
  );
  assert.deepEqual(
    mails.map(({ from, to }) => [from, ...to]),
    [
      ['tacho@site.test', 'ada@site.test', 'ops@site.test'],
      ['tacho@site.test', 'bob@site.test', 'ops@site.test'],
    ],
  );
  const text = mails[0]!.text.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  for (const expectedText of [
    /^Subject: Cores were idle: 2 jobs\r$/m,
    /^Reply-To: help@site\.test\r$/m,
    /^Auto-Submitted: auto-generated\r$/m,
    /^Hello ada,\r$/m,
    /2 jobs with 200 core-hours \(180 not used\)/,
    /^ {2}4711 {2}train, .*cpu_use 10 %\r$/m,
    /What to do: Ask for fewer\./,
    /What to ask for next time, from 2 runs of train:\r\n\r\n {2}#SBATCH --nodes=1\r\n/,
    /#SBATCH --cpus-per-task=1\r/,
  ])
    assert.match(text, expectedText);
  // an hour later: nothing new; a day later: a new job, but the period is not over
  assert.deepEqual(
    (await runAt(state, config, policy, START + HOUR, jobs)).map(({ plan }) => plan),
    ['notified', 'notified'],
  );
  const more = [...jobs.slice(0, 2), pastJob('4800', START + DAY, 5, 10)];
  const [early] = await runAt(state, config, policy, START + 2 * DAY, more);
  assert.deepEqual([early!.plan, early!.next], ['later', START + 7 * DAY]);
  const [late] = await runAt(state, config, policy, START + 7 * DAY, more);
  assert.deepEqual([late!.plan, late!.message?.jobs.map(({ job }) => job)], ['tell', ['4800']]);
  assert.equal(mails.length, 3);
  assert.match(mails[2]!.text, /1 job with 50 core-hours/);
});

test('a server that is down: nothing is lost, and all is sent later, once', async (t) => {
  const server = await mailServer(t);
  const config = await mailConfig(server.port);
  const state = temporary();
  const jobs = [pastJob('1', START - HOUR, 10, 10), pastJob('2', START - HOUR, 1, 10, { user: 'bob' })];
  await server.stop();
  const first = await runAt(state, config, POLICY, START, jobs);
  assert.deepEqual(states(state), ['waiting', 'waiting']);
  // who is not there is asked once
  assert.deepEqual(
    first.map(({ message }) => message?.sendings.mail?.attempts),
    [1, 0],
  );
  assert.match(first[0]!.message!.sendings.mail!.error!, /ECONNREFUSED/);
  assert.deepEqual(
    (await runAt(state, config, POLICY, START + HOUR, jobs)).map(({ plan }) => plan),
    ['waiting', 'waiting'],
  );
  await server.start();
  const after = await runAt(state, config, POLICY, START + 2 * HOUR, jobs);
  assert.deepEqual(states(state), ['sent', 'sent']);
  assert.deepEqual(
    after.map(({ plan }) => plan),
    ['notified', 'notified'],
  );
  await runAt(state, config, POLICY, START + 3 * HOUR, jobs);
  assert.deepEqual(
    server.mails.map(({ to }) => to),
    [['ada@site.test'], ['bob@site.test']],
  );
});

test('a server that fails in the middle: what it refused for now is tried again, what it may have taken is not', async (t) => {
  let how = 'busy';
  const { mails, port } = await mailServer(t, {
    data(_, respond, cut) {
      if (how === 'cut') cut();
      else if (how === 'busy') respond(Object.assign(new Error('try later'), { responseCode: 451 }));
      else respond();
    },
  });
  const config = await mailConfig(port);
  const state = temporary();
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  await runAt(state, config, POLICY, START, jobs);
  assert.deepEqual(states(state), ['waiting']);
  // the whole mail was out when the connection went: nobody knows
  how = 'cut';
  await runAt(state, config, POLICY, START + HOUR, jobs);
  assert.deepEqual(states(state), ['unsure']);
  how = 'well';
  const [again] = await runAt(state, config, POLICY, START + 2 * HOUR, jobs);
  assert.deepEqual([again!.plan, states(state)], ['later', ['unsure']]);
  // the next period tells of it
  const [next] = await runAt(state, config, POLICY, START + HOUR + 7 * DAY, jobs);
  assert.deepEqual([next!.plan, states(state)], ['tell', ['unsure', 'sent']]);
  assert.equal(mails.length, 1);
});

test('an address that the server does not know is refused; a wrong sender or password can be mended', async (t) => {
  let refusing = 'rcpt';
  const refuse = (which: string, code: number) => (_: unknown, __: unknown, done: (error?: Error | null) => void) =>
    done(refusing === which ? Object.assign(new Error('no'), { responseCode: code }) : null);
  const { port, mails } = await mailServer(t, { onRcptTo: refuse('rcpt', 550), onMailFrom: refuse('from', 553) });
  const config = await mailConfig(port);
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  const [one, two] = [temporary(), temporary()];
  await runAt(one, config, POLICY, START, jobs);
  assert.deepEqual(states(one), ['refused']);
  refusing = 'from';
  await runAt(two, config, POLICY, START, jobs);
  assert.deepEqual(states(two), ['waiting']);
  refusing = '';
  await runAt(two, config, POLICY, START + HOUR, jobs);
  assert.deepEqual([states(two), mails.length], [['sent'], 1]);
  // a user whose name is no part of an address has none
  await runAt(two, config, POLICY, START, [pastJob('9', START - HOUR, 1, 1, { user: 'a b' })]);
  assert.deepEqual(states(two).sort(), ['refused', 'sent']);
});

test('a server that wants a password', async (t) => {
  const { port, mails } = await mailServer(
    t,
    {
      onAuth: ({ username, password }, _, done) =>
        username === 'tacho' && password === 's3cret' ? done(null, { user: 'tacho' }) : done(new Error('wrong')),
    },
    { authOptional: false, allowInsecureAuth: true },
  );
  const file = path.join(temporary(), 'password');
  fs.writeFileSync(file, 'wrong\n', { mode: 0o600 });
  const values = { 'mail.server': `smtp://tacho@127.0.0.1:${port}`, 'mail.password_file': file };
  const state = temporary();
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  await runAt(state, await mailConfig(port, values), POLICY, START, jobs);
  assert.deepEqual(states(state), ['waiting']);
  fs.writeFileSync(file, 's3cret\n');
  await runAt(state, await mailConfig(port, values), POLICY, START + HOUR, jobs);
  assert.deepEqual([states(state), mails.length], [['sent'], 1]);
  fs.chmodSync(file, 0o644);
  await assert.rejects(runAt(state, await mailConfig(port, values), POLICY, START, jobs), /can be read by others/);
});

test('over TLS: smtps and STARTTLS, by the certificates of mail.ca; who is somebody else gets nothing', {
  skip: whyNoCertificates(),
}, async (t) => {
  const folder = temporary();
  const ca = makeAuthority(folder, 'site');
  const strangers = makeAuthority(folder, 'other');
  const own = issue(folder, 'site', 'IP:127.0.0.1');
  const [key, cert] = [fs.readFileSync(own.key), fs.readFileSync(own.certificate)];
  const secureSessions: boolean[] = [];
  const hooks: Hooks = {
    onMailFrom: (_, session, done) => {
      secureSessions.push(session.secure);
      done();
    },
  };
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  for (const [scheme, options] of [
    ['smtps', { secure: true, key, cert }],
    ['smtp', { key, cert, disabledCommands: [] }],
  ] as const) {
    const { port, mails } = await mailServer(t, hooks, options as SMTPServerOptions);
    const server = { 'mail.server': `${scheme}://127.0.0.1:${port}` };
    const state = temporary();
    await runAt(state, await mailConfig(port, { ...server, 'mail.ca': strangers }), POLICY, START, jobs);
    assert.deepEqual([states(state), mails.length], [['waiting'], 0], scheme);
    assert.match(errorsIn(state)[0]!, /certificate/, scheme);
    await runAt(state, await mailConfig(port, { ...server, 'mail.ca': ca }), POLICY, START + HOUR, jobs);
    assert.deepEqual([states(state), mails.length], [['sent'], 1], scheme);
  }
  assert.deepEqual(secureSessions, [true, true]);
});

test('no password goes over a network without TLS', async (t) => {
  const outward = Object.values(os.networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
  if (outward === undefined) return t.skip('this machine has no network');
  let asked = 0;
  const onAuth: Hooks['onAuth'] = (_, __, done) => {
    asked++;
    done(null, { user: 'tacho' });
  };
  const options = { authOptional: false, allowInsecureAuth: true };
  const { port, mails } = await mailServer(t, { onAuth }, options, outward);
  const file = path.join(temporary(), 'password');
  fs.writeFileSync(file, 's3cret\n', { mode: 0o600 });
  const values = { 'mail.server': `smtp://tacho@${outward}:${port}`, 'mail.password_file': file };
  const state = temporary();
  await runAt(state, await mailConfig(port, values), POLICY, START, [pastJob('1', START - HOUR, 10, 10)]);
  assert.deepEqual([states(state), asked, mails.length], [['waiting'], 0, 0]);
  assert.match(errorsIn(state)[0]!, /STARTTLS/);
});

test('killed between sending and noting: not sent again in the period, and not lost', async (t) => {
  const { port, mails } = await mailServer(t);
  const config = await mailConfig(port);
  const state = temporary();
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  await runAt(state, config, POLICY, START, jobs);
  // as it is on the disk when the process ends at that moment
  const { file, message } = Ledger.read(state).messages()[0]!;
  message.sendings.mail!.state = 'sending';
  fs.writeFileSync(file, JSON.stringify(message));
  const [soon] = await runAt(state, config, POLICY, START + HOUR, jobs);
  assert.deepEqual([soon!.plan, states(state), mails.length], ['later', ['unsure'], 1]);
  const [late] = await runAt(state, config, POLICY, START + 8 * DAY, jobs);
  assert.deepEqual([late!.plan, states(state), mails.length], ['tell', ['unsure', 'sent'], 2]);
  fs.writeFileSync(file, '{');
  assert.throws(
    () => Ledger.read(state),
    /cannot read .*000001\.json, in which a message of a policy is kept: it is damaged/,
  );
});

test('two runs at once send once', async (t) => {
  const { port, mails } = await mailServer(t);
  const config = await mailConfig(port);
  const state = temporary();
  const jobs = ['ada', 'bob', 'cleo'].map((user, i) => pastJob(String(i), START - HOUR, 10, 10, { user }));
  await Promise.all(Array.from({ length: 4 }, (_, i) => runAt(state, config, POLICY, START + i, jobs)));
  assert.deepEqual(mails.map(({ to }) => to[0]).sort(), ['ada@site.test', 'bob@site.test', 'cleo@site.test']);
});

test('a webhook: JSON, signed; an answer of 5xx waits, one of 422 is final, a cut is unsure, nobody waits', async (t) => {
  const posts: { headers: http.IncomingHttpHeaders; body: Buffer }[] = [];
  let httpStatus: number | 'cut' | 'long' = 503;
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (httpStatus === 'cut') {
      request.socket.destroy();
      return;
    }
    if (httpStatus === 'long') {
      response.writeHead(200, { 'content-length': 64 << 20 }).write(Buffer.alloc(8 << 20));
      return;
    }
    if (httpStatus === 200) posts.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(httpStatus).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const secret = path.join(temporary(), 'secret');
  fs.writeFileSync(secret, 'abc123\n', { mode: 0o600 });
  const config = await configured({ 'webhook.url': `http://127.0.0.1:${port}/hook`, 'webhook.secret_file': secret });
  const policy: Policy = { ...POLICY, actions: ['webhook'] };
  const jobs = [pastJob('1', START - HOUR, 10, 10)];
  const state = temporary();
  const hook = (): (string | undefined)[] =>
    Ledger.read(state)
      .messages()
      .map(({ message }) => message.sendings.webhook?.state);
  await runAt(state, config, policy, START, jobs);
  assert.deepEqual(hook(), ['waiting']);
  httpStatus = 200;
  await runAt(state, config, policy, START + HOUR, jobs);
  await runAt(state, config, policy, START + 2 * HOUR, jobs);
  assert.deepEqual([hook(), posts.length], [['sent'], 1]);
  const { headers, body } = posts[0]!;
  assert.equal(headers['x-tacho-signature'], signatureOf('abc123', String(headers['x-tacho-timestamp']), body));
  const data = JSON.parse(body.toString()) as { id: string; user: string; policy: string; jobs: { job: string }[] };
  assert.deepEqual([data.user, data.policy, data.jobs.map(({ job }) => job)], ['ada', 'low-cpu', ['1']]);
  assert.equal(headers['idempotency-key'], data.id);
  httpStatus = 422;
  const other = (id: string, user: string): JobSummary[] => [pastJob(id, START - HOUR, 10, 10, { user })];
  await runAt(state, config, policy, START, other('2', 'bob'));
  httpStatus = 'cut';
  await runAt(state, config, policy, START, other('3', 'cleo'));
  assert.deepEqual(hook(), ['sent', 'refused', 'unsure']);
  // the status counts, however much follows it
  httpStatus = 'long';
  await runAt(state, config, policy, START, other('4', 'dan'));
  assert.equal(hook()[3], 'sent');
  server.close();
  await runAt(state, config, policy, START, other('5', 'eve'));
  const last = Ledger.read(state).messages().at(-1)!.message.sendings.webhook!;
  assert.equal(last.state, 'waiting');
});

test('what is not configured is said before anything is sent', async () => {
  const refused = async (values: Record<string, unknown>, actions: Policy['actions']): Promise<string> => {
    try {
      await runAt(temporary(), await configured(values), { ...POLICY, actions }, START, []);
      return 'accepted';
    } catch (error) {
      assert.ok(error instanceof Fault);
      return error.message;
    }
  };
  assert.match(await refused({}, ['mail']), /the mail server that policies send through is not configured/);
  assert.match(
    await refused({ 'mail.server': 'smtp://x' }, ['mail']),
    /who sends the mails of policies is not configured/,
  );
  assert.match(
    await refused({ 'mail.server': 'http://x', 'mail.from': 'a@b' }, ['mail']),
    /"http:\/\/x" is no mail server/,
  );
  assert.match(
    await refused({ 'mail.server': 'smtp://u:secret@x', 'mail.from': 'a@b' }, ['mail']),
    /"smtp:\/\/u:…@x" is no mail/,
  );
  assert.match(await refused({}, ['webhook']), /where policies post to is not configured/);
  assert.match(await refused({ 'webhook.url': 'http://x/' }, ['webhook']), /the secret with which posts are signed/);
});

test('cancelled only where configured, after the warnings, and told of', async (t) => {
  const { port, mails } = await mailServer(t);
  const config = await mailConfig(port);
  const folder = temporary();
  const log = path.join(folder, 'cancelled');
  const command = [
    'sh',
    '-c',
    `test "$1" != 13 || { echo no such job >&2; exit 1; }; echo "$1 $2" >> ${log}`,
    'sh',
    '{job}',
    '{user}',
  ];
  const state = path.join(folder, 'state');
  const policy: Policy = {
    ...POLICY,
    jobs: 'running',
    period_seconds: 3600,
    unless: [parseCondition('node_busy < 50%')],
    cancel: { warnings: 2, command },
  };
  const running = (id: string, user = 'ada'): JobSummary => {
    const { end_time: _, ...job } = pastJob(id, START, 10, 10, { state: 'running', user });
    return job;
  };
  const cancelled = (): string[] => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n') : []);
  const at = async (hours: number, jobs: JobSummary[], areFiguresKnown = true): Promise<Delivered[]> =>
    Ledger.hold(state, async (ledger) => {
      const senders = await sendersFor(config, [policy], ledger, (text) => assert.fail(text));
      const judged = judge(policy, jobs, () => (areFiguresKnown ? { node_busy: 1 } : {}));
      return deliver([{ policy, judged }], ledger, { now: () => START + hours * HOUR, senders });
    });
  await at(0, [running('11')]);
  await at(0.5, [running('11')]);
  assert.match(mails[0]!.text, /^Subject: Cores were idle: job 11 \(warning 1 of 2\)\r$/m);
  assert.match(mails[0]!.text, /This is warning 1 of 2\./);
  // another job appears: it has its own warnings to come
  await at(1, [running('11'), running('12')]);
  assert.deepEqual([mails.length, cancelled()], [2, []]);
  // whether it is exempt is not known: it is not cancelled
  const [unknown] = await at(2, [running('11')], false);
  assert.deepEqual([unknown!.plan, cancelled()], ['notified', []]);
  const [done] = await at(2, [running('11'), running('12')]);
  assert.deepEqual([done!.plan, done!.cancelled, cancelled()], ['cancel', ['11'], ['11 ada']]);
  assert.match(mails[2]!.text, /^Subject: job 11 cancelled: Cores were idle\r$/m);
  const [warned] = await at(3, [running('11'), running('12')]);
  assert.deepEqual([warned!.plan, warned!.message?.jobs.map(({ job }) => job)], ['tell', ['12']]);
  // a command that fails is said, and tried again
  for (const hour of [10, 11]) await at(hour, [running('13', 'bob')]);
  const [failed] = await at(12, [running('13', 'bob')]);
  assert.deepEqual(failed!.not_cancelled, [{ job: '13', why: 'no such job' }]);
  assert.deepEqual(cancelled(), ['11 ada']);
  // without cancel = true nothing is ever cancelled
  const { cancel: _, ...harmless } = policy;
  const quiet = path.join(folder, 'quiet');
  for (let hour = 0; hour < 10; hour++)
    await runAt(quiet, config, harmless, START + hour * HOUR, [running('14', 'cleo')]);
  assert.deepEqual(cancelled(), ['11 ada']);
});
