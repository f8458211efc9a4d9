import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, testSet } from '../../../test/made/processes.ts';
import { Fault } from '../../base/fault.ts';
import { filterProcesses } from './filter.ts';

const set = testSet([
  {
    pid: 1,
    from: 0,
    to: 90,
    cpu: 2,
    exename: 'sh',
    argv0: '/bin/sh',
    args: '-c make',
    exitcode: 0,
    metrics: { rssmax: 1024 },
  },
  {
    pid: 2,
    ppid: 1,
    from: 5,
    to: 6,
    cpu: 0.5,
    exename: 'cp',
    argv0: 'sh',
    args: 'a b',
    exitcode: 1,
    tags: 'op:copy;seq:1',
  },
  { pid: 3, ppid: 1, from: 50, cpu: 9, exename: 'cp', args: 'c=d e', node: 'c2', source: 'start' },
  { pid: 4, ppid: 1, from: 60, to: 61, exename: 'ls', metrics: { rssmax: 2 * 2 ** 20 } },
]);

const cases: [expressions: string[], pids: number[]][] = [
  [[], [1, 2, 3, 4]],
  [['exename=cp'], [2, 3]],
  [['exename=cp', 'node=c1'], [2]],
  [['cpu>1s'], [1, 3]],
  [
    ['cpu>=500ms', 'cpu<3'],
    [1, 2],
  ],
  [['rss>=2GiB'], [4]],
  [['rss<2GiB'], [1]],
  [['tag:op=copy'], [2]],
  [['tag:op='], [1, 3, 4]],
  [['tag:op!='], [2]],
  [['exitcode!=0'], [2]],
  [['exitcode='], [3, 4]],
  [['args~^.=d'], [3]],
  [['args!~[ab]'], [3, 4]],
  [['args=c=d e'], [3]],
  [['argv0=sh'], [1, 2]],
  [['argv0=/bin/sh'], [1]],
  [['argv0!=sh'], [3, 4]],
  [['argv0~^sh'], [2]],
  [['source=start'], [3]],
  [['pid=4'], [4]],
  [
    ['pid != 4', ' exename = cp '],
    [2, 3],
  ],
  [['at=@1794775757'], [1, 2]],
  [[`start>=@${(BEGAN + 50e6) / 1e6}`], [3, 4]],
  [['duration>1min'], [1]],
  [['share>50%'], [3]],
  [['depth=0'], [1, 3]],
  [['parent=1'], [2, 4]],
  [['command~^sh -c'], [1]],
];

for (const [expressions, pids] of cases) {
  test(`${expressions.join(' and ') || 'no filter'}: ${pids.join(', ')}`, () => {
    assert.deepEqual(
      filterProcesses(set, expressions).map((i) => set.pid[i]),
      pids,
    );
  });
}

const wrong: [expression: string, says: RegExp][] = [
  ['cp', /"cp" is not a filter/],
  ['=cp', /is not a filter/],
  ['colour=red', /no column "colour"/],
  ['exname=cp', /no column "exname"/],
  ['cpu>fast', /"fast" is not a duration/],
  ['rss>big', /"big" is not a size/],
  ['pid=x', /pid is a number/],
  ['exename>cp', /is a text/],
  ['args~(', /is not a regular expression: Unterminated group/],
  ['cpu>', /compares with nothing/],
  ['at>now', /is not a filter/],
];

for (const [expression, says] of wrong) {
  test(`${expression} is refused`, () => {
    assert.throws(
      () => filterProcesses(set, [expression]),
      (fault: unknown) =>
        fault instanceof Fault && fault.exit === 2 && says.test(fault.message) && fault.hint !== undefined,
    );
  });
}
