import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileFace } from './made/file-face.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

/** Every verb that reads, with what its answer is about. */
const READING = [
  ['report', 'a', 'b', '--format', 'json'],
  ['report', 'a', '--phases', '--all'],
  ['list', '.', '--format', 'json'],
  ['export', 'a', '--table', 'loadavg'],
  ['export', 'a', '--table', 'process_end'],
  ['processes', 'a'],
  ['operations', 'a'],
  ['compare', 'a', 'b', '--format', 'json'],
  ['outliers', 'a', 'b'],
  ['verify', '--dry-run', 'a'],
];

/** Whose group is none of ours. */
const SOMEBODY = 12345;
const ENV = { PATH: `${path.dirname(TACHO)}:${process.env.PATH}`, HOME: '/nonexistent', TZ: 'UTC' };

/** Two recordings: one is whole, of the other only its scheduler could say how it ended. */
function twoRecordings(t: TestContext): string {
  const cwd = temporaryFolder(t);
  const phases = 'tacho mark begin one; sleep 0.3; tacho mark end one';
  for (const name of ['a', 'b']) {
    const args = ['run', '--no-report', '--interval', '0.1', '-o', name, '--', 'sh', '-c', phases];
    const ran = tacho(args, { cwd, env: ENV });
    assert.equal(ran.code, 0, ran.err);
  }
  const file = path.join(cwd, 'a/job.json');
  const { end: _, ...job } = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...job, scheduler: 'slurm', state: 'running' }));
  return cwd;
}

/** What every verb says; nobody finds a change in any file afterwards. */
function outputsOf(cwd: string, ...as: string[]): string[] {
  const before = fileFace(cwd);
  const messages = READING.map((args) => {
    const [program, ...rest] = [...as, TACHO, ...args];
    const { stdout, stderr, status } = spawnSync(program!, rest, { cwd, encoding: 'utf8', env: ENV });
    assert.doesNotMatch(stderr, /internal error|EACCES|EROFS|permission/, args.join(' '));
    return `${args.join(' ')}: ${status}\n${stdout}`;
  });
  assert.deepEqual(fileFace(cwd), before);
  return messages;
}

function lock(cwd: string): void {
  for (const name of ['.', ...fs.readdirSync(cwd, { recursive: true, encoding: 'utf8' })]) {
    const each = path.join(cwd, name);
    fs.chmodSync(each, fs.statSync(each).isDirectory() ? 0o555 : 0o444);
  }
}

test('who reads a recording changes nothing, and gets the same answers where nothing may be written', (t) => {
  const cwd = twoRecordings(t);
  const own = outputsOf(cwd);
  assert.match(own[0]!, /"state": "unknown"/);
  lock(cwd);
  // root may write everywhere
  const as = ['setpriv', `--reuid=${SOMEBODY}`, `--regid=${SOMEBODY}`, '--clear-groups'];
  assert.deepEqual(outputsOf(cwd, ...(process.getuid!() === 0 ? as : [])), own);
});
