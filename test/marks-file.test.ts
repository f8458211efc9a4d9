import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { openRecording } from '../src/recording/folder/open.ts';
import { pairPhases, recordedMarkers } from '../src/recording/read/markers.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const env = { ...process.env, PATH: `${path.dirname(TACHO)}:${process.env.PATH}` };
const MARK = `mark() { printf '%s,%s,%s,%s,%s\\n' "\${EPOCHREALTIME/[.,]/}" "$1" "$2" "$3" "$BASHPID" >> "$TACHO_MARKS"; }`;

test('programs append marks by TACHO_MARKS, many at once, and bad lines are named', (t) => {
  const cwd = temporaryFolder(t);
  const script = `${MARK}
    for p in 1 2 3 4 5 6; do
      ( for i in $(seq 50); do mark begin "step, of $p"; mark end "step, of $p"; done ) &
    done; wait
    mark begin '"a ""quoted"", name"'; mark fom loss 2.5
    tacho mark end 'a "quoted", name'
    echo garbage >> "$TACHO_MARKS"; printf '1700000000,begin,seconds,,\\n' >> "$TACHO_MARKS"; mark starts x
    printf '%s' "$TACHO_MARKS" > link`.replaceAll('"step, of $p"', `'"same, step"'`);
  const { code, err } = tacho(['run', '--no-report', '-o', 'r', '--', 'bash', '-c', script], { cwd, env });
  assert.equal(code, 0, err);
  const phases = pairPhases(recordedMarkers(openRecording(path.join(cwd, 'r'))));
  const steps = phases.filter(({ begin }) => begin.name === 'same, step');
  assert.equal(steps.length, 300);
  for (const { begin, end } of steps) assert.equal(end?.pid, begin.pid);
  assert.equal(new Set(steps.map(({ begin }) => begin.pid)).size, 6);
  const { out } = tacho(['report', 'r', '--format', 'json'], { cwd });
  const report = JSON.parse(out) as {
    phases: { name: string }[];
    figures: { name: string; value: number }[];
    unmeasured: { what: string; why: string }[];
  };
  assert.deepEqual([...new Set(report.phases.map(({ name }) => name))].sort(), ['a "quoted", name', 'same, step']);
  assert.deepEqual(
    report.figures.map(({ name, value }) => [name, value]),
    [['loss', 2.5]],
  );
  const gaps = JSON.stringify(report.unmeasured);
  assert.match(gaps, /1 line could not be read, the first is line 605: \\"garbage\\" is no number/);
  assert.match(gaps, /2 lines could not be read, the first is the time 1700000000, which is not in microseconds/);
  // the link goes with the agent
  assert.ok(!fs.existsSync(path.dirname(fs.readFileSync(path.join(cwd, 'link'), 'utf8'))));
});

test('what is marked after the agent was killed is in the recording; a job without marks has no table of them', (t) => {
  const cwd = temporaryFolder(t);
  const script = `${MARK}
    tacho start -o r --interval 1s; export TACHO_MARKS="$(tacho mark file)"
    mark begin first
    kill -9 "$(sed -n 's/.*"pid": *\\([0-9]*\\).*/\\1/p' r/node=*/agent.json | head -1)"; sleep 0.1
    mark end first; mark fom after 7
    tacho stop --no-report
    TACHO_MARKS= tacho run --no-report -o without -- sh -c 'test -e "$TACHO_MARKS" && test -L "$TACHO_MARKS"'`;
  const { code, err } = tacho(
    ['run', '--no-report', '-o', 'around', '--', 'bash', '-c', `unset TACHO_RECORDING; ${script}`],
    {
      cwd,
      env,
    },
  );
  assert.equal(code, 0, err);
  const markers = recordedMarkers(openRecording(path.join(cwd, 'r')));
  assert.deepEqual(
    markers.map(({ action, name, value }) => [action, name, value]),
    [
      ['begin', 'first', undefined],
      ['end', 'first', undefined],
      ['fom', 'after', '7'],
    ],
  );
  for (const name of ['without', 'around']) {
    const [node] = openRecording(path.join(cwd, name)).nodes;
    assert.equal(node!.tables.has('marker'), false, name);
  }
});
