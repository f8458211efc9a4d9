import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { eventually } from './made/eventually.ts';
import { Terminal } from './made/terminal.ts';
import { makeRecording } from './make-recording.ts';
import { TACHO, tacho, temporaryFolder, whyNoTerminal } from './tacho.ts';

const skip = whyNoTerminal;
const env = { ...process.env, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' };
const sizeOf = (png: Buffer): number[] => [png.readUInt32BE(16), png.readUInt32BE(20)];

test('plot saves what it draws as PNG, 192 dots an inch', async (t) => {
  const cwd = temporaryFolder(t);
  await makeRecording({ seconds: 60, folder: path.join(cwd, 'rec') });
  for (const kind of ['lines', 'heatmap']) {
    const args = ['plot', kind, 'rec', '--table', 'load', '--width', '6', '--height', '3', '--save', `${kind}.png`];
    const { code, err } = tacho(args, { cwd });
    assert.equal(code, 0, err);
    assert.match(err, /: 6 × 3 inches/);
    assert.deepEqual(sizeOf(fs.readFileSync(path.join(cwd, `${kind}.png`))), [1152, 576]);
  }
});

test('where a job is too short for a rate, plot and show say that, and name no option that was not given', async (t) => {
  const cwd = temporaryFolder(t);
  await makeRecording({ seconds: 1, folder: path.join(cwd, 'rec') });
  for (const verb of [
    ['show', 'rec', '--table', 'disk', '--columns', 'read_bytes'],
    ['plot', 'lines', 'rec', '--table', 'disk', '--metric', 'read_bytes'],
  ]) {
    const { code, err } = tacho(verb, { cwd });
    assert.equal(code, 1);
    assert.match(err, /a rate needs two samples while the job runs/);
    assert.doesNotMatch(err, /leave out/);
    assert.match(tacho([...verb, '--node', 'c9'], { cwd }).err, /leave out --node/);
  }
});

test('a picture of many processes says how many it leaves out, one of all of them does not', async (t) => {
  const cwd = temporaryFolder(t);
  const titles = [3, 50].map((count) => {
    const command = `for i in $(seq ${count}); do /bin/true; done; exit 0`;
    assert.equal(tacho(['run', '-o', `rec${count}`, '--', 'sh', '-c', command], { cwd }).code, 0);
    const { code, err } = tacho(['plot', 'gantt', `rec${count}`, '--save', `${count}.svg`], { cwd });
    assert.equal(code, 0, err);
    return /Processes of [^<]*/.exec(fs.readFileSync(path.join(cwd, `${count}.svg`), 'utf8'))![0];
  });
  assert.match(titles[0]!, /^Processes of [^ :]+$/);
  assert.match(titles[1]!, /: the 40 longest of 5\d$/);
});

/** What `tacho plot` prints on a terminal that answers like this; `\x1b[c` is the last question. */
async function plotted(t: Parameters<typeof temporaryFolder>[0], reply: string, text = ''): Promise<string> {
  const cwd = temporaryFolder(t);
  await makeRecording({ seconds: 60, folder: path.join(cwd, 'rec') });
  const command = `stty -a >before; '${TACHO}' plot lines rec --table load ${text}; echo "ended with $?"; stty -a >after`;
  const terminal = new Terminal(t, command, { columns: 60, rows: 24, cwd, env });
  if (reply !== '') {
    await eventually('the question', () => terminal.output.includes('\x1b[c'));
    terminal.press(reply);
  }
  await eventually('its end', () => /ended with \d/.test(terminal.output));
  await terminal.ended();
  assert.match(terminal.output, /ended with 0/);
  const [before, after] = ['before', 'after'].map((name) => fs.readFileSync(path.join(cwd, name), 'utf8'));
  assert.equal(after, before);
  return terminal.output;
}

test('where the terminal shows pictures the chart is one, as wide as its columns', { skip }, async (t) => {
  const output = await plotted(t, '\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;4c');
  const imageChunks = [...output.matchAll(/\x1b_G(?!i=31)[^;]*;([^\x1b]*)\x1b\\/g)].map(([, body]) => body);
  assert.equal(sizeOf(Buffer.from(imageChunks.join(''), 'base64'))[0], 600);
  assert.doesNotMatch(output, /█|▁/);
});

test('sixels where it has only these, block characters where it has none or they are wanted', { skip }, async (t) => {
  assert.match(await plotted(t, '\x1b[6;20;10t\x1b[?62;4c'), /\x1bP0;1q"1;1;600;\d+#0;2;/);
  assert.match(await plotted(t, '\x1b[?62;22c'), /load1[\s\S]*[▁▂▃▄▅▆▇█]/);
  const plain = await plotted(t, '', '--blocks');
  assert.match(plain, /load1[\s\S]*[▁▂▃▄▅▆▇█]/);
  assert.doesNotMatch(plain, /\x1b\[c/);
});
