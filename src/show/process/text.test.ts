import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSet } from '../../../test/made/processes.ts';
import { sortProcesses } from '../../query/processes/sort.ts';
import { timelineOf } from '../../query/processes/timeline.ts';
import { textWidth } from '../terminal/text-table.ts';
import { cutMiddle } from './cells.ts';
import { processCsv, processJson } from './rows.ts';
import { processTable } from './table.ts';
import { timelineText } from './timeline.ts';
import { processTree } from './tree.ts';

const set = testSet([
  { pid: 10, ppid: 1, from: 0, to: 90, cpu: 1, exename: 'sh', argv0: '/bin/sh', args: 'job.sh', exitcode: 0 },
  { pid: 11, ppid: 10, from: 1, to: 50, cpu: 2, exename: 'sim', args: `${'x'.repeat(90)} end`, exitcode: 3 },
  {
    pid: 12,
    ppid: 11,
    from: 2,
    to: 3,
    cpu: 0.2,
    exename: 'cp',
    args: 'a,b "c"',
    exitcode: 0,
    metrics: { rssmax: 2048 },
  },
  { pid: 13, ppid: 10, from: 60, exename: 'lost', source: 'start' },
]);
const all = [0, 1, 2, 3];

test('a long command is cut in the middle', () => {
  assert.equal(cutMiddle('abcdefghij', 10), 'abcdefghij');
  assert.equal(cutMiddle('abcdefghijk', 8), 'abc..ijk');
  assert.equal(textWidth(cutMiddle('日本語日本語日本語', 9)) <= 9, true);
});

test('the table is 80 wide, the largest CPU time first, and marks what has no end', () => {
  const rows = [...all].sort(sortProcesses(set, 'cpu'));
  const lines = processTable(set, rows, undefined, 0).trimEnd().split('\n');
  assert.ok(lines.every((line) => textWidth(line) <= 80));
  assert.match(lines[1]!, /^ *11 +2\.0 s +\d\d % .* 3 +sim x+\.\.x+ end$/);
  assert.match(lines[4]!, /^ *13 +- .*no end +lost$/);
  assert.equal(lines.at(-1), 'no end: 1 process started, then killed or still running');
});

test('only the columns that are asked for', () => {
  assert.deepEqual(processTable(set, [2], ['pid', 'rss', 'parent', 'exename'], 3).split('\n'), [
    'pid   rssmax  parent  exename',
    ' 12  2.0 MiB      11  cp',
    '3 more processes; --limit 0 shows all',
    'no end: 1 process started, then killed or still running',
    '',
  ]);
});

test('the name that a process was called by is there where the command does not say it', () => {
  const called = testSet([
    { pid: 1, from: 0, to: 1, cpu: 1, exename: 'dash', argv0: '/bin/sh', args: '-c x' },
    { pid: 2, from: 0, to: 1, cpu: 1, exename: 'cc1', argv0: '/usr/bin/cc1' },
  ]);
  const [head, first, second] = processTable(called, [0, 1], undefined, 0, { width: 120 }).split('\n');
  assert.match(head!, / called +command$/);
  assert.match(first!, / sh +dash -c x$/);
  assert.match(second!, / {6,}cc1$/);
  assert.match(processJson(called, [0], ['pid', 'argv0']), /"argv0":"\/bin\/sh"/);
  assert.equal(processCsv(called, [1], ['argv0']), 'argv0\n/usr/bin/cc1\n');
  assert.doesNotMatch(processTable(called, [1], undefined, 0, { width: 120 }), /called/);
});

test('control characters in commands do not reach the terminal', () => {
  const bad = testSet([{ pid: 1, from: 0, to: 1, exename: 'x', args: '\x1b[2J' }]);
  assert.doesNotMatch(processTable(bad, [0], undefined, 0), /\x1b/);
});

test('the tree: CPU time in all and alone, and what is left out is counted', () => {
  const compare = sortProcesses(set, 'start');
  const lines = processTree(set, all, 2, compare).trimEnd().split('\n');
  assert.match(lines[1]!, /^ *3\.2 s +1\.0 s +100 % +10 {2}sh job\.sh$/);
  assert.match(lines[2]!, /^ *2\.2 s +2\.0 s +69 % +11 {4}sim x+/);
  assert.match(lines[3]!, /^ *200 ms {2,}\.\. 1 more process$/);
  assert.match(lines[4]!, /^ *0 s {2,}\.\. 1 more process$/);
  const filtered = processTree(set, [2], 10, compare);
  assert.match(filtered, /sh job\.sh\n.*sim.*\n.* cp a,b "c"\n/, 'with its ancestors');
  assert.doesNotMatch(filtered, /lost/);
});

test('a chain of any depth is drawn', () => {
  const deep = testSet(
    Array.from({ length: 20_000 }, (_, k) => ({ pid: k + 2, ppid: k + 1, from: k / 1000, to: 90, cpu: 1 })),
  );
  const text = processTree(deep, [19_999], 1, sortProcesses(deep, 'start'));
  assert.match(text, /\(level 20000\) p20001/);
});

test('CSV and JSON have the values as they were recorded; what is missing is empty or not there', () => {
  assert.equal(
    processCsv(set, [2, 3], ['pid', 'cpu_time', 'args', 'exitcode']),
    'pid,cpu_time,args,exitcode\n12,200000,"a,b ""c""",0\n13,,,\n',
  );
  assert.deepEqual(JSON.parse(processJson(set, [3], ['pid', 'cpu_time', 'source'])), [{ pid: 13, source: 'start' }]);
  const [whole] = JSON.parse(processJson(set, [1]));
  assert.equal(whole.inclusive_cpu_time, 2_200_000);
  assert.equal(whole.parent, 10);
  assert.equal(whole.duration, 49e6);
});

test('the time line of the longest', () => {
  const rows = timelineOf(set, all, 'process').slice(0, 2);
  const lines = timelineText(set, rows, { by: 'process', width: 60, hidden: 2 }).split('\n');
  assert.equal(lines[1]!.indexOf('#'), lines[0]!.indexOf('|0'), 'the shell runs from the start');
  assert.ok(lines.slice(0, 3).every((line) => textWidth(line) <= 60));
  assert.match(lines[1]!, /^10 sh job\.sh +#+ +1 min 30 s$/);
  assert.equal(lines[4], '2 more, shorter; --limit 0 shows all');
  const elsewhere = timelineText(set, rows, { by: 'process', hidden: 2, all: 'tacho timeline --limit 0' }).split('\n');
  assert.equal(elsewhere[4], '2 more, shorter; tacho timeline --limit 0 shows all', 'by the verb that has the flag');
});
