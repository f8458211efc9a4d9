import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { processTable } from '../src/sources/tables.ts';
import { Terminal } from './made/terminal.ts';
import { agentOf, appendRows, jobOf } from './make-recording.ts';
import { TACHO, temporaryFolder, whyNoTerminal } from './tacho.ts';

const skip = whyNoTerminal;
const env = { ...process.env, NO_COLOR: '1', LC_ALL: 'C.UTF-8', TERM: 'xterm' };

/** A job that runs now: c1 uses one CPU and much memory, c2 three CPUs and little, c3 two CPUs. */
async function running(folder: string, names = ['c1', 'c2', 'c3']): Promise<string> {
  const recording = path.join(folder, 'tacho-77');
  const now = Date.now() * 1000;
  const start = now - 60e6;
  const { end: _, ...job } = jobOf({ id: '77', name: 'solve', nodes: names, start, state: 'running' });
  fs.mkdirSync(recording);
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  for (const [n, node] of names.entries()) {
    const nodePath = path.join(recording, `node=${node}`);
    fs.mkdirSync(nodePath);
    const { end: _end, end_reason: _reason, ...agent } = agentOf(node, [processTable], { start });
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify({ ...agent, scope: { members: 'tree' } }));
    const busy = [1, 3, 2][n % 3]!;
    const rows = Array.from({ length: 30 }, (_row, i) => ({
      ...{ time: now - (29 - i) * 1e6, pid: String(100 + n), start: String(Math.round(start / 1000)), ppid: 1 },
      ...{ name: `solver-${n + 1}`, user: 'ada', state: 'R', user_ms: i * 1000 * busy, system_ms: 0 },
      ...{ children_user_ms: 0, children_system_ms: 0, rss_bytes: [3, 1, 2][n % 3]! * 2 ** 30 },
    }));
    await appendRows(nodePath, processTable, rows);
  }
  return recording;
}

const nodesIn = (lines: readonly string[]): string[] => lines.flatMap((line) => /^[> ] (c\d)\b/.exec(line)?.[1] ?? []);

test('top fills a terminal of 80 × 24, sorts, opens a node, follows its size, and leaves all as it was', {
  skip,
}, async (t) => {
  const cwd = temporaryFolder(t);
  await running(cwd);
  const command = `stty -a >before; '${TACHO}' top tacho-77 --interval 0.5s; echo "ended with $?"; stty -a >after`;
  const terminal = new Terminal(t, command, { columns: 80, rows: 24, cwd, env });
  const first = await terminal.shows(/^> c1 /);
  assert.equal(first.length, 24);
  assert.match(first[0]!, /^77 solve +running 1 min.*, 3 nodes$/);
  assert.match(first.find((line) => line.startsWith('CPU'))!, / 6 CPUs, max 6 CPUs$/);
  assert.match(first[23]!, /^nodes {3}n g p f: views {2}s: sort {2}\/: filter {2}Enter: node {2}Esc: back {2}q: quit$/);
  assert.deepEqual(nodesIn(first), ['c1', 'c2', 'c3']);
  terminal.press('s');
  assert.deepEqual(nodesIn(await terminal.shows(/CPUs\*/)), ['c2', 'c3', 'c1']);
  terminal.press('s');
  assert.deepEqual(nodesIn(await terminal.shows(/memory\*/)), ['c1', 'c3', 'c2']);
  terminal.press('\x1b[B\r');
  const processes = await terminal.shows(/^processes of c3 /);
  assert.match(processes.find((line) => line.startsWith('> c3'))!, /102 +ada +R +2 +2 GiB +solver-3$/);
  await terminal.resize(60, 12);
  const small = await terminal.shows(/^processes of c3 /);
  assert.equal(small.length, 12);
  assert.match(small[11]!, /^processes of c3/);
  assert.ok(
    small.every((line) => [...line].length <= 60),
    small.join('\n'),
  );
  terminal.press('q');
  await terminal.shows(/ended with 0/);
  assert.equal(await terminal.ended(), 0);
  assert.equal(
    fs.readFileSync(path.join(cwd, 'after'), 'utf8').replace(/rows.*?;.*?;/, ''),
    fs.readFileSync(path.join(cwd, 'before'), 'utf8').replace(/rows.*?;.*?;/, ''),
  );
  // the other screen was left, and the cursor is there again
  const [entered, left] = [terminal.output.lastIndexOf('\x1b[?1049h'), terminal.output.lastIndexOf('\x1b[?1049l')];
  assert.ok(entered >= 0 && left > entered);
  // nothing stays on it: tmux, whose window grew meanwhile, would show it
  assert.ok(terminal.output.lastIndexOf('\x1b[2J', left) > terminal.output.lastIndexOf('\x1b[K', left));
  assert.ok(terminal.output.lastIndexOf('\x1b[?25h') > terminal.output.lastIndexOf('\x1b[?25l'));
});

test('top that is told to end leaves the terminal as it was', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  await running(cwd, ['c1']);
  const terminal = new Terminal(
    t,
    `stty -a >before; (sh -c 'echo $$ >pid; exec "${TACHO}" top tacho-77'; echo "ended with $?"); stty -a >after`,
    { columns: 80, rows: 24, cwd, env },
  );
  await terminal.shows(/^> c1 /);
  process.kill(Number(fs.readFileSync(path.join(cwd, 'pid'), 'utf8')), 'SIGTERM');
  await terminal.shows(/ended with 143/);
  await terminal.ended();
  assert.equal(fs.readFileSync(path.join(cwd, 'after'), 'utf8'), fs.readFileSync(path.join(cwd, 'before'), 'utf8'));
  assert.ok(terminal.output.includes('\x1b[?1049l'));
});
