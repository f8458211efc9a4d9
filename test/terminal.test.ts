import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { textWidth } from '../src/show/terminal/text-table.ts';
import { makeRecording, START } from './make-recording.ts';
import { makeProcessRecording } from './process-recording.ts';
import { onTerminal, tacho, temporaryFolder, whyNoTerminal } from './tacho.ts';

/** Clears the screen and colours what follows: nobody's name or line may do that to a reader's terminal. */
const NASTY = 'a\x1b[2J\x1b[31mb';
const RAW = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;

test('what somebody recorded does not reach the terminal raw', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(folder, 'job.json');
  const job = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...job, name: NASTY, user: NASTY, id: `7${NASTY}` }));
  const lines = fs.readFileSync(path.join(folder, 'node=c1', 'load.csv'), 'utf8').split('\n');
  // a line that is quoted in what is said on stderr
  lines.splice(2, 0, `${lines[1]!.split(',')[0]},${NASTY}`);
  fs.writeFileSync(path.join(folder, 'node=c1', 'load.csv'), lines.join('\n'));
  for (const verb of ['list', 'report', 'status', 'verify']) {
    const { out, err } = tacho([verb, folder]);
    assert.match(out, /a\\x1b\[2J/, `${verb}: ${out}${err}`);
    assert.doesNotMatch(out + err, RAW, verb);
  }
});

test('what is left out is told in lines that fit, its path whole', { skip: whyNoTerminal }, async (t) => {
  const cwd = temporaryFolder(t);
  await makeRecording({ seconds: 5, folder: path.join(cwd, 'sound') });
  const newer = 'a-recording-of-a-newer-version-in-a-folder-with-a-long-name';
  fs.mkdirSync(path.join(cwd, newer));
  fs.writeFileSync(path.join(cwd, newer, 'job.json'), '{"format": 99}');
  for (const verb of ['verify', 'report']) {
    const env = { ...process.env, NO_COLOR: '1', COLUMNS: '200' };
    const lines = onTerminal(80, `${verb} . >/dev/null`, { cwd, env }).slice(0, -1);
    assert.deepEqual(lines.slice(0, 2), ['tacho: left out:', `       ${newer}/job.json was`]);
    for (const line of lines.slice(2)) assert.match(line, /^ {7}\S.{1,72}$/);
    assert.match(lines.join('\n'), /newer Tacho .*update\s+Tacho on this machine$/s);
    const { err } = tacho([verb, '.'], { cwd, env: { ...process.env, COLUMNS: '80' } });
    assert.match(err, new RegExp(`^tacho: left out: ${newer}/job.json was .*update Tacho on this machine\n$`));
  }
});

test('tables fit the terminal, use its width, and are whole in a pipe', { skip: whyNoTerminal }, async (t) => {
  const cwd = temporaryFolder(t);
  const id = (n: number): string => `1234567890_17.an-array-of-rather-long-names.${n}`;
  const name = 'ESM4_historical_D151_ocean_annual_rho2_1x1deg_18840101';
  const node = (n: number): string => `compute-node-${n}.cluster.site.example`;
  const args = `--input ${'/archive/a-long-folder'.repeat(6)}/input.nc`;
  for (const n of [1, 2, 3, 4]) {
    const process = (pid: number, ppid: number) => ({
      ...{ pid, ppid, end: 7000 * n + pid, cpu: 3000 * n, exename: 'timavg.csh', args, threads: [1500 * n, 1500 * n] },
      tags: `op:an-operation-with-a-name-that-is-long-${pid}`,
    });
    const nodes = { [node(1)]: [process(100, 1), process(101, 100)], [node(2)]: [process(200, 1)] };
    const job = { id: id(n), name, user: 'somebody-with-a-long-name', start: START, end: START + 8000e6 * n };
    await makeProcessRecording(nodes, job, path.join(cwd, `tacho-${id(n)}`));
  }
  const env = { ...process.env, NO_COLOR: '1', COLUMNS: undefined, TACHO_MODELS: cwd } as NodeJS.ProcessEnv;
  const [first, second, third, fourth] = [1, 2, 3, 4].map((n) => `tacho-${id(n)}`) as [string, string, string, string];
  assert.equal(tacho(['model', 'create', 'usual', first, second, third], { cwd, env }).code, 0);
  const on = (columns: number, verb: string): string[] => onTerminal(columns, verb, { cwd, env });
  const verbs: readonly [verb: string, whole: string][] = [
    [`list`, name],
    [`operations ${first} ${second}`, id(2)],
    [`compare ${first} ${fourth}`, id(4)],
    [`compare . --limit 0`, 'op:an-operation-with-a-name-that-is-long-200\n'],
    [`processes ${first} ${second}`, args],
    [`processes ${first} --columns exename,args,pid`, args],
    [`processes --tree ${first} ${second}`, args],
    [`outliers . --of operations`, 'left out: needs 20'],
    [`cause ${fourth} --model usual`, 'largest in baseline'],
    [`status ${first}`, node(1)],
  ];
  for (const [verb, whole] of verbs) {
    for (const columns of [80, 120]) {
      const lines = on(columns, verb);
      assert.ok(lines.length > 3, lines.join('\n'));
      for (const line of lines) assert.ok(textWidth(line) <= columns, `${verb}: ${textWidth(line)}: ${line}`);
    }
    const { out, err } = tacho(verb.split(' '), { cwd, env });
    assert.ok(out.includes(whole), `${verb} in a pipe: ${out}${err}`);
  }
  const noted = on(80, `annotate ${first} 'why=${'a reason of several words, '.repeat(8)}'`);
  assert.ok(noted.length > 4, noted.join('\n'));
  for (const line of noted) assert.ok(textWidth(line) <= 80, line);
  // jobs stay apart where their ids are cut
  const jobs = on(80, `operations ${first} ${second}`).map((line) => / {2}(\S+\.\.\S+) {2}/.exec(line)?.[1]);
  assert.equal(new Set(jobs.filter((job) => job !== undefined)).size, 2);
});
