import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../made/eventually.ts';
import { Lab, read, whyNot } from './lab.ts';

const lab = new Lab();

/** A mail server on the login node, whose network is its own. */
async function mailServer(): Promise<{
  child: ChildProcess;
  port: number;
  mails: () => { to: string[]; text: string }[];
}> {
  const [login] = read(lab.folder, 'run/login.pid').split(' ');
  const file = path.join(import.meta.dirname, 'take-mails.ts');
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', file];
  const child = spawn('nsenter', ['--target', login!, '--net', ...node], { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually('the mail server listens', () => output.includes('\n'));
  const lines = (): string[] => output.trim().split('\n');
  return {
    child,
    port: Number(lines()[0]),
    mails: () =>
      lines()
        .slice(1)
        .map((line) => JSON.parse(line)),
  };
}

describe('policies on a real Slurm', { skip: whyNot() }, () => {
  let server: Awaited<ReturnType<typeof mailServer>>;
  before(async () => {
    lab.up(1);
    server = await mailServer();
  });
  after(() => {
    server?.child.stdin?.end();
    lab.down();
  });

  test('scancel ends a running job only where that is configured, with --send, after its warnings', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'idle');
    const id = await lab.submit(
      'tacho-a',
      workFolder,
      'tacho run --no-report --interval 0.5 -- sleep 300',
      '-c2',
      '-t10',
    );
    const other = await lab.submit('tacho-a', workFolder, 'sleep 300', '-c1', '-t10');
    const state = async (job: string): Promise<string> =>
      (await lab.on('login', 'root', 'squeue', '-h', '-o', '%T', '-j', job)).stdout.trim();
    await eventually(
      'the job is recorded',
      () => fs.existsSync(path.join(workFolder, `tacho-${id}/node=c1/agent.json`)),
      60,
    );
    await eventually('both run', async () => (await state(id)) === 'RUNNING' && (await state(other)) === 'RUNNING', 60);
    const config = path.join(lab.folder, 'policies.toml');
    const policy = (more: string): void =>
      fs.writeFileSync(
        config,
        `
[policies]
state = "${lab.folder}/policies"

[mail]
server = "smtp://127.0.0.1:${server.port}"
from = "tacho@site.test"
domain = "site.test"

[[policy]]
name = "idle"
help = "Cores were idle"
jobs = "running"
period = "1s"
when = ["wall_seconds > 1s", "cpu_use < 50%"]
actions = ["mail"]
${more}
`,
      );
    /** As an administrator would; the next period has begun by the next call. */
    const run = async (...args: string[]): Promise<string> => {
      const done = await lab.on(
        'login',
        'root',
        'tacho',
        'policy',
        'run',
        '--config',
        config,
        '--archive',
        workFolder,
        ...args,
      );
      assert.equal(done.code, 0, done.stderr);
      return done.stdout;
    };
    const sent = (what: string, isDone: () => boolean | Promise<boolean>): Promise<unknown> =>
      eventually(what, async () => {
        await run('--send');
        return isDone();
      });
    policy('cancel = true\nwarnings = 2');
    await eventually('the policy finds it', async () => new RegExp(`\\b${id}\\b`).test(await run()), 60);
    assert.deepEqual(server.mails(), []);
    await sent('the first warning', () => server.mails().length > 0);
    assert.deepEqual(server.mails()[0]!.to, ['tacho-a@site.test']);
    assert.match(server.mails()[0]!.text, new RegExp(`^Subject: Cores were idle: job ${id} \\(warning 1 of 2\\)`, 'm'));
    await sent('the second warning', () => server.mails().length > 1);
    assert.match(server.mails()[1]!.text, /warning 2 of 2/);
    assert.equal(await state(id), 'RUNNING');
    // without --send, and without cancel = true, nothing happens however often it runs
    await run();
    policy('');
    await run('--send');
    assert.equal(await state(id), 'RUNNING');
    policy('cancel = true\nwarnings = 2');
    await sent('it is cancelled', async () => (await state(id)) === '');
    assert.match(await lab.ended(id), /^CANCELLED/);
    assert.match(server.mails().at(-1)!.text, new RegExp(`^Subject: job ${id} cancelled: Cores were idle`, 'm'));
    assert.equal(await state(other), 'RUNNING', 'a job that no policy is about');
    await lab.on('login', 'root', 'scancel', other);
  });
});
