import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Listed } from '../recording/folder/list.ts';
import { hiddenText, listText } from './list-text.ts';

// noon where the reader is: the same day in every time zone
const START = new Date(2026, 10, 15, 12, 49, 12).getTime() * 1000;
const listed = (more: Partial<Listed>): Listed => ({
  path: 'tacho-20261115-204912-4711',
  job: '20261115-204912-4711',
  name: 'train-a-rather-large-language-model',
  user: 'ada',
  start: START,
  end: START + 3600e6,
  nodes: 8,
  bytes: 123_456_789,
  state: 'sealed',
  job_state: 'completed',
  ...more,
});

test('in a pipe every column is whole', () => {
  const [heads, line] = listText([listed({})]).split('\n');
  assert.match(heads!, /^job +name +user +start +duration +ended +nodes +size +state +recording$/);
  assert.match(
    line!,
    /train-a-rather-large-language-model {2}ada .*1 h 00 min {2}COMPLETED .* 118 MiB {2}sealed {2}tacho-20261115-204912-4711$/,
  );
});

test('runs of a restarted job are told apart', () => {
  const text = listText([listed({ job: '32' }), listed({ job: '32', restart: 1 })]);
  assert.deepEqual(
    text.split('\n').map((line) => line.split(' ')[0]),
    ['job', '32', '32r1', ''],
  );
});

const NOW = START + 7200e6;
const at = (width: number, ...listedJobs: Listed[]): string[] => listText(listedJobs, width, NOW).trimEnd().split('\n');

test('a terminal gets no line wider than it is, with the path whole', () => {
  for (const width of [80, 100, 140]) {
    const lines = at(width, listed({}), listed({ path: 'b', name: 'x' }));
    for (const line of lines) assert.ok(line.length <= width, `${line.length}: ${line}`);
    assert.equal(lines.filter((line) => line.endsWith('  tacho-20261115-204912-4711')).length, 1);
  }
});

test('80 places: when it began, how long, how it ended and where; an id that the path has and a name that is too long go', () => {
  assert.deepEqual(at(80, listed({}), listed({ nodes: 12, job_state: 'out_of_memory', end: START + 61e6 })), [
    'start          duration  ended          nodes  recording',
    '11-15 12:49  1 h 00 min  COMPLETED          8  tacho-20261115-204912-4711',
    '11-15 12:49  1 min 01 s  OUT OF MEMORY     12  tacho-20261115-204912-4711',
  ]);
  const command = { path: 'tacho-20261115-204912-sleep', job: '20261115-204912-sleep', name: 'sleep' };
  assert.deepEqual(at(80, listed(command)), [
    'start               duration  ended      nodes  recording',
    '2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep',
  ]);
  assert.deepEqual(at(80, listed(command), listed({ ...command, user: 'bob' })), [
    'user  start          duration  ended      nodes  recording',
    'ada   11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep',
    'bob   11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep',
  ]);
  const local = { ...command, job: '20261115-204912-sleep-x7qa' };
  assert.deepEqual(at(80, listed(local), listed({ ...local, path: 'tacho-20261115-204912-sleep-2' })), [
    'start               duration  ended      nodes  recording',
    '2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep',
    '2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep-2',
  ]);
  assert.deepEqual(at(100, listed(command)), [
    'job                    start               duration  ended      nodes  recording',
    '20261115-204912-sleep  2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-20261115-204912-sleep',
  ]);
});

test('80 places: the command of local jobs instead of a start that their recordings have in their names', () => {
  const command = { path: 'tacho-20261115-124912-pipeline.sh', job: '20261115-124912-pipeline.sh-1kon', nodes: 1 };
  const jobs = [1, 2].map((n) => listed({ ...command, name: 'pipeline.sh', command: ['./pipeline.sh', String(n)] }));
  assert.deepEqual(at(80, ...jobs), [
    '  duration  ended      nodes  command          recording',
    '1 h 00 min  COMPLETED      1  ./pipeline.sh 1  tacho-20261115-124912-pipeline.sh',
    '1 h 00 min  COMPLETED      1  ./pipeline.sh 2  tacho-20261115-124912-pipeline.sh',
  ]);
  // a recording of another name does not say when it began
  assert.match(at(80, ...jobs, listed({ ...command, path: 'night' }))[0]!, /^start {10}/);
});

test('80 places: a short id and the name before the size and a user who is everybody’s', () => {
  const job = { path: 'tacho-4711', job: '4711', name: 'train' };
  assert.deepEqual(at(80, listed(job)), [
    'job   name   user  start               duration  ended      nodes  recording',
    '4711  train  ada   2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-4711',
  ]);
  assert.deepEqual(at(80, listed({ ...job, name: 'train-a-model-70b' })), [
    'name               start               duration  ended      nodes  recording',
    'train-a-model-70b  2026-11-15 12:49  1 h 00 min  COMPLETED      8  tacho-4711',
  ]);
  assert.deepEqual(at(100, listed(job)), [
    'job   name   user  start               duration  ended      nodes     size  state   recording',
    '4711  train  ada   2026-11-15 12:49  1 h 00 min  COMPLETED      8  118 MiB  sealed  tacho-4711',
  ]);
  assert.match(at(100, listed({ ...job, nodes: 1024 }))[1]!, / COMPLETED +1,024 /);
  // an id that is the end of another one is not told by it
  assert.match(at(80, listed({ ...job, job: '11' }))[1]!, /^11 /);
});

test('columns that are left out are named below; what another column says is not missing', () => {
  const below = (width: number, ...listedJobs: Listed[]): string => {
    const hidden: string[] = [];
    listText(listedJobs, width, NOW, hidden);
    return hiddenText(hidden, width);
  };
  const job = { path: 'tacho-4711', job: '4711', name: 'train', tags: { case: 'a' } };
  assert.equal(below(80, listed(job)), 'columns hidden: user, size; a wider terminal or a pipe shows them\n');
  assert.equal(below(140, listed(job)), '');
  assert.equal(below(Number.POSITIVE_INFINITY, listed(job)), '');
  const long = below(80, listed({ ...job, path: 'x'.repeat(70), findings: ['cpu-low'] }), listed({ user: 'bob' }));
  assert.match(long, /^columns hidden: .*tags.*findings/s);
  for (const line of long.split('\n')) assert.ok(line.length <= 80, line);
});

test('80 places: the state where it says more than how the job ended', () => {
  const job = { path: 'tacho-4711', job: '4711', name: 'train' };
  const { end: _, ...going } = listed({ ...job, state: 'running', job_state: 'running' });
  const lineWords = at(
    80,
    ...[going, listed({ ...job, state: 'damaged' }), listed({ ...job, state: 'newer version', job_state: 'unknown' })],
  ).map((line) => line.slice(line.indexOf(' h ')).trim());
  assert.deepEqual(lineWords.slice(1), [
    'h 00 min  running                 8  tacho-4711',
    'h 00 min  COMPLETED, damaged      8  tacho-4711',
    'h 00 min  newer version           8  tacho-4711',
  ]);
});

test('the year is told where it is not this one', () => {
  const start = new Date(2025, 10, 15, 12, 49).getTime() * 1000;
  assert.match(at(80, listed({ start, end: start + 60e6 }))[1]!, /^2025-11-15 12:49 /);
});

test('a path that does not fit stands below its line', () => {
  const long = `archive/${'x'.repeat(60)}`;
  const lines = listText([listed({ path: long })], 80)
    .trimEnd()
    .split('\n');
  assert.equal(lines.length, 3);
  assert.equal(lines[2], `  ${long}`);
  for (const line of lines) assert.ok(line.length <= 80, line);
  const array = listText([listed({ path: long, job: `4711_${'x'.repeat(60)}`, state: 'newer version' })], 80);
  for (const line of array.split('\n')) assert.ok(line.length <= 80, line);
});

test('names cannot move the cursor of the reader', () => {
  const text = listText([listed({ name: 'a\x1b[2J\rb', user: '\x9b31m', path: 'x\ny' })]);
  assert.match(text, /a\\x1b\[2J\\rb/);
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  assert.equal(text.split('\n').length, 3);
});

test('80 places: what was run stands there, before an id that Tacho made and the number of nodes where each has one', () => {
  const job = (folder: string, id: string, command: string): Listed =>
    listed({ path: folder, job: id, name: 'python3', nodes: 1, command: command.split(' ') });
  assert.deepEqual(
    at(
      80,
      job('A', '20261118-064729-python3-dxyg', 'python3 train.py --epochs 30 --config a-long-name.yaml'),
      job('tacho-20261118-064732-python3', '20261118-064732-python3-aci2', 'python3 test.py'),
    ),
    [
      'start          duration  ended      command        recording',
      '11-15 12:49  1 h 00 min  COMPLETED  python3 tra..  A',
      '11-15 12:49  1 h 00 min  COMPLETED  python3 tes..  tacho-20261118-064732-python3',
    ],
  );
});
