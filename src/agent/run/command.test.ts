import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { ours } from '../../base/ours.ts';
import { runCommand } from './command.ts';

const built = fs.existsSync(ours('native/build/launch'));
const skip = !built && 'needs native/build/launch (no compiler when it was set up)';

test('exit codes and signals are those of the command', async () => {
  assert.equal((await (await runCommand(['sh', '-c', 'exit 7'], process.env)).ended).exitCode, 7);
  const killed = await (await runCommand(['sh', '-c', 'kill -USR1 $$'], process.env)).ended;
  assert.equal(killed.signal, 'SIGUSR1');
  assert.equal(killed.exitCode, undefined);
});

test('what was closed when Tacho was started is closed for the command, and nothing else is', { skip }, async () => {
  const look = 'for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && open=$open$fd; done; exit "1$open"';
  const open = async (named?: string): Promise<number | undefined> => {
    const env = { ...process.env, ...(named === undefined ? {} : { TACHO_DESCRIPTORS: named }) };
    return (await (await runCommand(['sh', '-c', look], env)).ended).exitCode;
  };
  // exit codes have eight bits
  assert.equal(await open(), 1012 % 256);
  assert.equal(await open(' -1'), 102);
  assert.equal(await open(' -0 -1 -2 5'), 1);
});

test('CPU time and wall time of a short command are the kernel’s', async () => {
  const { usage } = await (await runCommand(['sh', '-c', 'sleep 0.05'], process.env)).ended;
  assert.ok(usage!.wall_seconds >= 0.05, `wall ${usage!.wall_seconds}`);
  const busy = await (
    await runCommand(
      [process.execPath, '-e', 'const t = process.cpuUsage(); while (process.cpuUsage(t).user < 200000);'],
      process.env,
    )
  ).ended;
  assert.ok(busy.usage!.user_seconds >= 0.2 && busy.usage!.user_seconds < busy.usage!.wall_seconds * 8);
});

test('wall time begins when the command is said to start', async () => {
  const before = Date.now() * 1000;
  const { start, ended } = await runCommand(['sleep', '0.05'], process.env);
  const { usage } = await ended;
  assert.ok(start >= before, `${start - before} µs after it was asked for`);
  const left = (Date.now() + 1) * 1000 - (start + usage!.wall_seconds * 1e6);
  assert.ok(left >= 0, `${left} µs after its end`);
});

test('peak memory is the command’s, not that of the process that started it', { skip }, async () => {
  const small = await (await runCommand(['true'], process.env)).ended;
  assert.ok(small.usage!.max_rss_bytes! < 8 << 20, `true took ${small.usage!.max_rss_bytes} bytes`);
  const large = await (await runCommand([process.execPath, '-e', 'Buffer.alloc(200 << 20, 1)'], process.env)).ended;
  assert.ok(large.usage!.max_rss_bytes! > 200 << 20 && large.usage!.max_rss_bytes! < 320 << 20);
});

test('a command that does not exist is 127, one that may not run 126, as in shells', async () => {
  await assert.rejects(runCommand(['no-such-command-here'], process.env), { exit: 127, message: /command not found/ });
  await assert.rejects(runCommand(['/no/such/file'], process.env), { exit: 127, message: /no such file/ });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-command-'));
  try {
    fs.writeFileSync(path.join(folder, 'plain'), 'hello\n', { mode: 0o644 });
    await assert.rejects(runCommand([path.join(folder, 'plain')], process.env), {
      exit: 126,
      message: /permission denied/,
    });
    // a folder of the path that is none of ours to look into has nothing to say of what is in none
    const locked = path.join(folder, 'locked');
    fs.mkdirSync(locked, { mode: 0o000 });
    const env = (first: string): NodeJS.ProcessEnv => ({ ...process.env, PATH: `${first}:${process.env.PATH}` });
    await assert.rejects(runCommand(['no-such-command-here'], env(locked)), {
      exit: 127,
      message: /command not found/,
    });
    fs.rmdirSync(locked);
    await assert.rejects(runCommand(['plain'], env(folder)), { exit: 126, message: /permission denied/ });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('the command does not see the channel on which it is reported', { skip }, () => {
  const done = spawnSync(ours('native/build/launch'), ['3', '--', 'sh', '-c', 'test -e /proc/$$/fd/3'], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  assert.equal(done.status, 1);
  assert.match(String(done.output[3]), /^ended 256 /m);
});

test('variables are for the command alone, and the mark of what is Tacho’s own for the launcher', {
  skip,
}, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-command-'));
  try {
    const file = path.join(folder, 'out');
    const script = `echo "$SAID $TACHO_OWN"; tr '\\0' '\\n' </proc/$PPID/environ | grep -E 'SAID|TACHO_OWN'`;
    const command = await runCommand(['sh', '-c', `(${script}) >'${file}'`], process.env, { SAID: 'a b=c' });
    await command.ended;
    assert.equal(fs.readFileSync(file, 'utf8'), 'a b=c \nTACHO_OWN=1\n');
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('the launcher ignores signals to the group and still reports', { skip }, () => {
  const done = spawnSync(
    ours('native/build/launch'),
    ['1', '--', 'sh', '-c', 'trap "" TERM; kill -TERM $PPID; sleep 0.1; exit 3'],
    { encoding: 'utf8' },
  );
  assert.equal(done.status, 3);
  assert.match(done.stdout, /^ended 768 /m);
});
