import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { bytesOf } from '../../base/byte-text.ts';
import { Frame } from '../../table/frame.ts';
import { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import type { Source } from '../source.ts';
import { RecordLines } from './lines.ts';
import { processEnd, processStart, RECORD_KINDS, threadEnd } from './records.ts';
import { recordTables } from './tables.ts';
import { decoded } from './text.ts';

const METRICS = Array.from({ length: 28 }, (_, i) => String(1000 + i));

interface Line {
  pid?: number;
  start?: number;
  time?: number;
  ppid?: number;
  began?: string;
  name?: string;
  code?: string;
  ended?: string;
  args?: string;
  step?: string;
  threads?: number;
}

const startLine = ({
  pid = 10,
  start = 100,
  ppid = 1,
  began = 'exec',
  name = '',
  args = 'a\\0b\\0',
  step = '0',
}: Line = {}): string =>
  [
    'S5',
    start,
    pid,
    start,
    ppid,
    2,
    3,
    4,
    began,
    '7',
    step,
    'op:x',
    '/dir',
    '/bin/prog',
    './call',
    name,
    args,
    '.',
  ].join('\t');

const endLine = ({
  pid = 10,
  start = 100,
  time = 900,
  ended = 'exit',
  ppid = 1,
  args = 'a\\0b\\0',
  name = '',
  threads = 1,
  code = '5',
  step = '0',
}: Line = {}): string => {
  const codes = ended === 'exec' ? ['', ''] : [code, '0'];
  const identity = [time, pid, start, ppid, 2, 3, 4, '7', step, 'op:x', '/dir', '/bin/prog', './call', name, args];
  return ['E5', ...identity, ended, ...codes, threads, 0, ...METRICS, '.'].join('\t');
};

const threadLine = (pid: number, tid: number): string =>
  ['T2', 800, pid, 100, tid, 200, 'end', ...METRICS.map((m, i) => (i === 2 || i === 3 ? '' : m)), '.'].join('\t');

interface Rows {
  starts: string[];
  ends: string[];
  threads: string[];
}

function read(lines: readonly string[], everything = true): Rows & { torn: number; unknown: number; frames: Frame[] } {
  const parser = new RecordLines(recordTables(['instructions']));
  for (const line of lines) {
    const bytes = Buffer.from(line);
    parser.take(bytes, 0, bytes.length);
  }
  parser.release(everything);
  const { start, end, thread } = parser.frames;
  const list = (frame: Frame, ...texts: number[]): string[] =>
    Array.from({ length: frame.rows }, (_, r) => texts.map((t) => frame.texts[r * frame.textWidth + t]).join(' '));
  return {
    starts: list(start, 0, 8),
    ends: list(end, 0, 8),
    threads: list(thread, 0, 2, 3),
    ...parser.trouble,
    frames: [start, end, thread],
  };
}

test('a start and an end become rows, an only thread is its process', () => {
  const { starts, ends, threads, frames } = read([startLine(), endLine()]);
  assert.deepEqual([starts, ends, threads], [['10 exec'], ['10 exit'], ['10 10 exit']]);
  const [start, end, thread] = frames as [Frame, Frame, Frame];
  const identity = ['10', '100', '7', 'op:x', '/dir', '/bin/prog', 'a b', 'prog'];
  assert.deepEqual(start.texts.slice(0, 11), [...identity, 'exec', './call', '0']);
  assert.deepEqual(end.texts.slice(0, 12), [...identity, 'exit', './call', 'itself', '0']);
  assert.deepEqual([...start.numbers.slice(0, 4)], [1, 2, 3, 4]);
  assert.deepEqual([start.times![0], end.times![0], thread.times![0]], [100, 900, 900]);
  const value = (name: string): number => end.numbers[end.number(name)]!;
  assert.deepEqual(
    ['exitcode', 'exitsignal', 'numtids', 'usertime', 'rchar', 'PERF_COUNT_SW_CPU_CLOCK'].map(value),
    [5, 0, 1, 1000, 1011, 1027],
  );
  assert.equal(thread.numbers[thread.number('usertime')], 1000);
  assert.equal(thread.numbers[thread.number('thread_start')], 100);
  assert.ok(Number.isNaN(thread.numbers[thread.number('cutime')]));
});

test('steps of Slurm that it makes itself have the names of its accounting', () => {
  const steps = ['', '3', '4294967290', '4294967291', '4294967292'].map((step) => {
    const [start, end] = read([startLine({ step }), endLine({ step })]).frames as [Frame, Frame];
    return [start.texts[start.text('step')], end.texts[end.text('step')]].join(' ');
  });
  assert.deepEqual(steps, [' ', '3 3', 'interactive interactive', 'batch batch', 'extern extern']);
});

test('of several threads each has its line', () => {
  const { threads } = read([startLine(), threadLine(10, 11), threadLine(10, 10), endLine({ threads: 2 })]);
  assert.deepEqual(threads, ['10 11 end', '10 10 end']);
});

test('events have columns by their names; others are noted', () => {
  const parser = new RecordLines(recordTables(['instructions']));
  const line = Buffer.from(endLine().replace(/\.$/, 'PERF_COUNT_HW_INSTRUCTIONS=77\tPERF_COUNT_OTHER=1\t.'));
  parser.take(line, 0, line.length);
  const { end, thread } = parser.frames;
  assert.equal(end.numbers[end.number('PERF_COUNT_HW_INSTRUCTIONS')], 77);
  assert.equal(thread.numbers[thread.number('PERF_COUNT_HW_INSTRUCTIONS')], 77);
  assert.deepEqual([...parser.trouble.events], ['PERF_COUNT_OTHER']);
});

test('a child that is forked to execute something is that program and nothing else', () => {
  const recordedRows = read([startLine({ began: 'fork' }), startLine({ start: 120 }), endLine({ start: 120 })]);
  assert.deepEqual([recordedRows.starts, recordedRows.ends], [['10 exec'], ['10 exit']]);
  assert.equal(recordedRows.frames[0]!.texts[1], '120');
});

test('a forked child that ends, works or is killed has its start', () => {
  assert.deepEqual(read([startLine({ began: 'fork' }), endLine()]).starts, ['10 fork']);
  const worked = read([
    startLine({ began: 'fork' }),
    endLine({ ended: 'exec' }),
    startLine({ start: 120 }),
    endLine({ start: 120 }),
  ]);
  assert.deepEqual(
    [worked.starts, worked.ends],
    [
      ['10 fork', '10 exec'],
      ['10 exec', '10 exit'],
    ],
  );
  // its pid is used again
  const killed = read([
    startLine({ began: 'fork' }),
    startLine({ began: 'fork', start: 500 }),
    endLine({ start: 500 }),
  ]);
  assert.deepEqual(killed.starts, ['10 fork', '10 fork']);
});

const toldLine = (line: Line = {}): string => startLine({ began: 'told', start: 120, ppid: 7, ...line });
const waitedLine = (status: number, { pid = 10, parent = 7, time = 950 } = {}): string =>
  ['W2', time, pid, parent, status, 3000, 2000, 777, 11, 12, 13, 14, 15, 16, '.'].join('\t');
const takenBack = (why: string): string => ['N2', 130, 10, why, '.'].join('\t');

test('a program that was told of and speaks for itself keeps its parent; one that is silent is its record', () => {
  const spoken = read([
    startLine({ began: 'fork', ppid: 7 }),
    toldLine(),
    startLine({ start: 140 }),
    endLine({ start: 140 }),
  ]);
  assert.deepEqual([spoken.starts, spoken.ends], [['10 exec'], ['10 exit']]);
  assert.deepEqual([spoken.frames[0]!.numbers[0], spoken.frames[1]!.numbers[0]], [7, 7]);
  const silent = read([startLine({ began: 'fork', ppid: 7 }), toldLine(), waitedLine(5 << 8)]);
  assert.deepEqual([silent.starts, silent.ends, silent.threads], [['10 told'], ['10 exit'], []]);
  const [, end] = silent.frames as [Frame, Frame, Frame];
  const value = (name: string): number => end.numbers[end.number(name)]!;
  assert.deepEqual(end.texts.slice(0, 2), ['10', '120']);
  assert.equal(end.texts[10], 'parent');
  assert.deepEqual(
    ['ppid', 'exitcode', 'exitsignal', 'usertime', 'systemtime', 'rssmax'].map(value),
    [7, 5, 0, 3000, 2000, 777],
  );
  assert.deepEqual(['minflt', 'invol_ctxsw', 'rchar'].map(value), [11, 16, Number.NaN]);
});

test('who spawns tells afterwards: a program that has spoken, or ended, is not told again', () => {
  const spawned = startLine({ began: 'spawn', start: 90, ppid: 7 });
  assert.deepEqual(read([startLine(), spawned, endLine(), waitedLine(0)]).starts, ['10 exec']);
  const late = read([startLine(), endLine(), spawned, waitedLine(0)]);
  assert.deepEqual([late.starts, late.ends], [['10 exec'], ['10 exit']]);
  assert.deepEqual(read([spawned, waitedLine(9)]).starts, ['10 told']);
});

test('who spawns tells afterwards: what the program has become since is not told again', () => {
  const became = [startLine(), endLine({ ended: 'exec' }), toldLine({ args: 'silent\\0' })];
  const spawned = startLine({ began: 'spawn', start: 90, ppid: 7, args: 'first\\0' });
  for (let place = 0; place <= became.length; place++) {
    const { starts, ends, frames } = read([...became.toSpliced(place, 0, spawned), waitedLine(0)]);
    assert.deepEqual(starts, ['10 exec', '10 told'], `at ${place}`);
    assert.deepEqual(ends, ['10 exec', '10 exit']);
    const args = frames.slice(0, 2).map((frame) => frame.texts[frame.textWidth + frame.text('args')]);
    assert.deepEqual(args, ['silent', 'silent']);
  }
});

test('a killed process has its end from its parent; one that has ended has nothing to add', () => {
  const killed = read([startLine(), waitedLine(9)]);
  assert.deepEqual([killed.starts, killed.ends], [['10 exec'], ['10 signal']]);
  const end = killed.frames[1]!;
  assert.deepEqual([end.numbers[end.number('exitsignal')], end.numbers[end.number('exitcode')]], [9, Number.NaN]);
  assert.deepEqual(read([startLine(), endLine(), waitedLine(5 << 8)]).ends, ['10 exit']);
});

test('what its children used before it executed another program is not that program’s, nor is its memory', () => {
  const use = (lines: string[]): number[] => {
    const [, end] = read(lines).frames as [Frame, Frame, Frame];
    const last = (end.rows - 1) * end.numberWidth;
    return ['usertime', 'systemtime', 'rssmax'].map((name) => end.numbers[last + end.number(name)]!);
  };
  const child = [startLine({ pid: 11, ppid: 10, start: 105 }), endLine({ pid: 11, ppid: 10, start: 105 })];
  const became = [endLine({ ended: 'exec' }), toldLine()];
  // 3000 less 1000 and 1002 of the child and its children
  assert.deepEqual(use([startLine(), ...child, ...became, waitedLine(0)]), [998, 0, Number.NaN]);
  assert.deepEqual(use([startLine(), ...child, ...became, startLine({ start: 140 }), waitedLine(9)]), [
    998,
    0,
    Number.NaN,
  ]);
  // the kernel has one peak for both programs: 777 is less than the first one's 1004
  assert.deepEqual(use([startLine(), ...became, waitedLine(0)]), [3000, 2000, Number.NaN]);
  assert.deepEqual(use([startLine(), toldLine(), waitedLine(0)]), [3000, 2000, 777]);
});

test('what its children used is not its own', () => {
  const child = { pid: 11, start: 130, ppid: 10 };
  const recordedRows = read([startLine(), startLine(child), endLine(child), waitedLine(9)]);
  const end = recordedRows.frames[1]!;
  const at = (name: string): number => end.numbers[end.numberWidth + end.number(name)]!;
  // 3000 less 1000 and 1002 of the child and its children; 2000 less 1001 and 1003 is nothing
  assert.deepEqual([at('usertime'), at('systemtime'), at('minflt')], [998, 0, Number.NaN]);
});

test('an exit code that only the parent knows is filled in', () => {
  const recordedRows = read([startLine(), endLine({ code: '' }), waitedLine(6 << 8)]);
  assert.deepEqual([recordedRows.ends, recordedRows.frames[1]!.numbers[4]], [['10 exit'], 6]);
  assert.deepEqual(read([startLine(), endLine({ code: '' })]).ends, ['10 exit']);
});

test('what is taken back was never told', () => {
  const failed = read([startLine(), endLine({ ended: 'exec' }), toldLine(), takenBack('failed'), endLine()]);
  assert.deepEqual([failed.starts, failed.ends], [['10 exec'], ['10 exit']]);
  const off = read([startLine({ pid: 7 }), startLine({ began: 'fork', ppid: 7 }), takenBack('off'), waitedLine(0)]);
  assert.deepEqual([off.starts, off.ends], [['7 exec'], []]);
});

test('a program that executed what is not to be recorded has ended with that', () => {
  for (const why of ['own', 'off']) {
    const left = read([startLine(), endLine({ ended: 'exec' }), toldLine(), takenBack(why), waitedLine(0)]);
    assert.deepEqual([left.starts, left.ends], [['10 exec'], ['10 exec']], why);
  }
});

test('a child that nobody has told of is a copy of its parent, unless earlier lines are unknown', () => {
  const recordedRows = read([startLine({ pid: 7, ppid: 3 }), waitedLine(25 << 8)]);
  assert.deepEqual(recordedRows.ends, ['10 exit']);
  assert.deepEqual([recordedRows.frames[1]!.numbers[0], recordedRows.frames[1]!.texts[7]], [7, 'prog']);
  assert.deepEqual(read([waitedLine(25 << 8)]).ends, []);
});

test('an exec that failed is not an end', () => {
  assert.deepEqual(read([startLine(), endLine({ ended: 'exec' }), endLine()]).ends, ['10 exit']);
  assert.deepEqual(read([startLine(), endLine({ ended: 'exec' }), endLine({ ended: 'exec' })]).ends, ['10 exec']);
});

test('what waits for the next line waits for one read, not longer', () => {
  const parser = new RecordLines(recordTables([]));
  const line = Buffer.from(startLine({ began: 'fork' }));
  parser.take(line, 0, line.length);
  parser.release(false);
  assert.equal(parser.frames.start.rows, 0);
  parser.release(false);
  assert.equal(parser.frames.start.rows, 1);
});

test('texts that are too long for a line come in pieces', () => {
  const argsChunk = (text: string): string => ['A2', 10, 100, 'args', text, '.'].join('\t');
  const euro = Buffer.from('€');
  const parser = new RecordLines(recordTables([]));
  const take = (bytes: Buffer): void => parser.take(bytes, 0, bytes.length);
  // a character that is divided between two lines
  take(Buffer.concat([Buffer.from(argsChunk('one ').slice(0, -2)), euro.subarray(0, 1), Buffer.from('\t.')]));
  take(Buffer.concat([Buffer.from('A2\t10\t100\targs\t'), euro.subarray(1), Buffer.from(' two\t.')]));
  take(Buffer.from(startLine({ args: '\\c' })));
  take(Buffer.from(endLine({ args: '\\c' })));
  const { start, end } = parser.frames;
  assert.equal(start.texts[6], "'one € two'");
  assert.equal(end.texts[6], "'one € two'");
});

test('arguments are left out of a redacted recording', () => {
  const parser = new RecordLines(recordTables([]), { redact: true });
  const line = Buffer.from(startLine({ args: 'secret' }));
  parser.take(line, 0, line.length);
  assert.equal(parser.frames.start.texts[6], '');
  assert.equal(parser.frames.start.texts[7], 'prog');
});

test('what the kernel does not count is missing, not 0', () => {
  for (const delays of [true, false]) {
    const parser = new RecordLines(recordTables([]), { delays });
    const line = Buffer.from(endLine());
    parser.take(line, 0, line.length);
    const { end, thread } = parser.frames;
    for (const frame of [end, thread]) {
      const value = frame.numbers[frame.number('delayacct_blkio_time')]!;
      assert.equal(value, delays ? 1021 : Number.NaN);
      assert.equal(frame.numbers[frame.number('guest_time')], 1022);
    }
  }
});

test('damaged lines are counted and leave no row', () => {
  const whole = endLine();
  const wrong = [
    '',
    'x',
    whole.slice(0, -1),
    whole.replace('\t5\t', '\tfive\t'),
    whole.replace('1005', '-1'),
    startLine().replace('op:x\t', ''),
    `${startLine()}${startLine()}`,
  ];
  const recordedRows = read(wrong);
  assert.deepEqual([recordedRows.starts, recordedRows.ends, recordedRows.threads], [[], [], []]);
  assert.equal(recordedRows.torn, wrong.length);
  assert.equal(read([whole.replace('E5', 'E3')]).unknown, 1);
});

test('no bytes at all make it fail, and a line that is cut off anywhere is none', () => {
  const lines = [startLine(), endLine(), threadLine(10, 11)];
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(2), fc.nat(), (noise, which, cut) => {
      const parser = new RecordLines(recordTables([]));
      const bytes = Buffer.from(noise);
      parser.take(bytes, 0, bytes.length);
      const line = Buffer.from(lines[which]!);
      const before = parser.trouble.torn + parser.trouble.unknown;
      const torn = line.subarray(0, cut % line.length);
      parser.take(torn, 0, torn.length);
      assert.equal(parser.trouble.torn + parser.trouble.unknown, before + 1);
    }),
  );
});

/** What native/record-text.c makes of a text. */
const escaped = (text: Buffer): Buffer =>
  Buffer.from(
    text
      .toString('latin1')
      .replaceAll(/[\0-\x1f\x7f\\]/g, (c) =>
        c === '\\' ? '\\\\' : c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === '\r' ? '\\r' : hex(c.charCodeAt(0)),
      ),
    'latin1',
  );
const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;

test('texts come back as they were; what is no text is told apart from what looks like it', () => {
  const of = (bytes: Buffer): string => decoded(escaped(bytes), 0, escaped(bytes).length);
  assert.equal(of(Buffer.from('plain: 100 % "q" \\d ümläut €')), 'plain: 100 % "q" \\d ümläut €');
  assert.equal(of(Buffer.from('a\nb\tc\x1b')), 'a\nb\tc\x1b');
  assert.equal(of(Buffer.from('a\\nb')), 'a\\nb');
  assert.equal(of(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xc3])), "$'a\\xffé\\xc3'");
  assert.equal(of(Buffer.from('a\\xff')), 'a\\xff');
  fc.assert(fc.property(fc.uint8Array(), (some) => assert.deepEqual([...bytesOf(of(Buffer.from(some)))], [...some])));
});

test('programs whose path is no UTF-8 keep it, relative and removed ones too', () => {
  const parser = new RecordLines(recordTables([]));
  const starts = ['/opt/\xff/p\xfe (deleted)', 'p\xfe', './plain'].map((program, i) =>
    Buffer.from(startLine({ pid: 10 + i }).replace('/bin/prog', program), 'latin1'),
  );
  for (const line of starts) parser.take(line, 0, line.length);
  parser.release(true);
  const { start } = parser.frames;
  const rowTexts = [0, 1, 2].map((row) => start.texts.slice(row * start.textWidth + 5, row * start.textWidth + 8));
  assert.deepEqual(
    rowTexts.map(([program, , name]) => [program, name]),
    [
      ["$'/opt/\\xff/p\\xfe'", "$'p\\xfe'"],
      ["$'/dir/p\\xfe'", "$'p\\xfe'"],
      ['/dir/plain', 'plain'],
    ],
  );
});

function tailed(t: TestContext): {
  file: string;
  host: Host;
  open(events?: string[], owner?: number): Source[];
  take(sources: Source[]): number[];
} {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-records-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'own', 'events');
  fs.mkdirSync(path.dirname(file));
  const host = new Host();
  return {
    file,
    host,
    open(events = [], owner) {
      const records = { file, events, ...(owner === undefined ? {} : { owner }) };
      const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false, records };
      return RECORD_KINDS.map((kind) => kind.open(host, scope));
    },
    take: (sources) =>
      sources.map((source) => {
        const frame = new Frame(source.table);
        frame.clear(1);
        source.read(frame);
        return frame.rows;
      }),
  };
}

const append = (file: string, ...lines: string[]): void =>
  fs.appendFileSync(file, lines.map((line) => `\n${line}\n`).join(''));

test('the file is read as it grows; a line that is not whole yet is read when it is', (t) => {
  const { file, open, take } = tailed(t);
  const sources = open();
  assert.deepEqual(take(sources), [0, 0, 0], 'nobody has written yet');
  append(file, startLine(), endLine());
  assert.deepEqual(take(sources), [1, 1, 1]);
  assert.deepEqual(take(sources), [0, 0, 0]);
  fs.appendFileSync(file, `\n${startLine({ pid: 11 }).slice(0, 20)}`);
  assert.deepEqual(take(sources), [0, 0, 0]);
  fs.appendFileSync(file, `${startLine({ pid: 11 }).slice(20)}\n`);
  assert.deepEqual(take(sources), [1, 0, 0]);
  for (const source of sources) source.close();
  assert.ok(!fs.existsSync(path.dirname(file)));
});

test('what has gathered is read in portions, each row once', (t) => {
  const { file, open, take } = tailed(t);
  const pids = Array.from({ length: 3000 }, (_, i) => i + 10);
  append(file, ...pids.flatMap((pid) => [startLine({ pid }), endLine({ pid })]));
  const sources = open();
  const sums = [0, 0, 0];
  let reads = 0;
  do {
    take(sources).forEach((rows, i) => {
      sums[i]! += rows;
    });
    reads++;
  } while (sources[0]!.behind!());
  assert.deepEqual(sums, [3000, 3000, 3000]);
  assert.ok(reads > 2);
});

test('a long file makes room for a new one, and nothing is lost in between', (t) => {
  const { file, open, take } = tailed(t);
  const sources = open();
  const sums = [0, 0, 0];
  const takeAll = (): void => {
    do
      take(sources).forEach((rows, i) => {
        sums[i]! += rows;
      });
    while (sources[0]!.behind!());
  };
  const long = 'x'.repeat(2000);
  const block = Array.from({ length: 4500 }, (_, i) => [
    startLine({ pid: i + 10, args: long }),
    endLine({ pid: i + 10, args: long }),
  ]).flat();
  append(file, ...block);
  takeAll();
  assert.ok(!fs.existsSync(file), 'it was moved away');
  // one that had the old file open, and one that opens the new one
  append(`${file}.old`, startLine({ pid: 7 }), endLine({ pid: 7 }));
  append(file, startLine({ pid: 8 }), endLine({ pid: 8 }));
  takeAll();
  takeAll();
  assert.deepEqual(sums, [4502, 4502, 4502]);
  assert.ok(!fs.existsSync(`${file}.old`));
});

test('an agent that takes over goes on where the one before it died', (t) => {
  const { file, open, take } = tailed(t);
  const first = open();
  append(file, startLine(), endLine());
  take(first);
  append(file, startLine({ pid: 11 }), endLine({ pid: 11 }));
  // says how far it came when it comes back, as only then its rows are written
  assert.deepEqual(take(first), [1, 1, 1]);
  const second = open();
  assert.deepEqual(take(second), [1, 1, 1], 'the rows of the last read may be lost: they come again');
});

test('at the end nothing waits, and what was cut off is noted', (t) => {
  const { file, host, open, take } = tailed(t);
  const sources = open();
  append(file, startLine({ began: 'fork' }), endLine().slice(0, 50));
  assert.deepEqual(take(sources), [0, 0, 0]);
  for (const source of sources) source.last!();
  assert.deepEqual(take(sources), [1, 0, 0]);
  for (const source of sources) source.close();
  assert.equal(host.notes.length, 1);
  assert.match(host.notes[0]!.why, /^1 line was cut off/);
});

test('an event that was asked for and that no process could count is named', (t) => {
  const counting = endLine().replace(/\.$/, 'PERF_COUNT_SW_PAGE_FAULTS=3\t.');
  const notes = (...lines: string[]): string[] => {
    const { file, host, open, take } = tailed(t);
    const sources = open(['instructions', 'page-faults']);
    append(file, ...lines);
    for (const source of sources) source.last!();
    take(sources);
    for (const source of sources) source.close();
    return host.notes.map(({ table, what, why }) => `${table}: ${what}: ${why.split(':')[0]}`);
  };
  assert.deepEqual(notes(startLine(), counting), ['process_end: instructions: no process could count it']);
  assert.deepEqual(notes(startLine()), [], 'nobody knows, as no process has told of its end');
});

test('a table that is not wanted does not fill the memory', (t) => {
  const { file, host } = tailed(t);
  const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false, records: { file, events: [] } };
  const source = processEnd.open(host, scope);
  const frame = new Frame(source.table);
  for (let i = 0; i < 3; i++) {
    append(file, startLine({ pid: 20 + i }), endLine({ pid: 20 + i }));
    frame.clear(1);
    source.read(frame);
    assert.equal(frame.rows, 1);
  }
  // the other tables were emptied each time
  const late = [processStart, threadEnd].map((kind) => kind.open(host, scope));
  for (const other of late) {
    const rows = new Frame(other.table);
    rows.clear(1);
    other.read(rows);
    assert.ok(rows.rows <= 1);
  }
});

test('a folder that somebody has removed is made again, and that is said', (t) => {
  const { file, host, open, take } = tailed(t);
  const sources = open();
  append(file, startLine());
  assert.deepEqual(take(sources), [1, 0, 0]);
  fs.rmSync(path.dirname(file), { recursive: true });
  assert.deepEqual(take(sources), [0, 0, 0]);
  append(file, startLine({ pid: 12 }));
  assert.deepEqual(take(sources), [1, 0, 0]);
  assert.match(host.notes[0]!.why, /was removed while the job ran/);
});

test('lines that wait for others do not fill the memory: the oldest become rows', () => {
  const lines = new RecordLines(recordTables([]));
  const text = 'x'.repeat(1000);
  const many = 20_000;
  let rows = 0;
  for (let pid = 1; pid <= many; pid++) {
    const line = Buffer.from(startLine({ pid, start: pid * 1000, began: 'told', args: text }));
    lines.take(line, 0, line.length);
    rows += lines.frames.start.rows;
    lines.frames.start.clear(0);
  }
  assert.ok(rows > many / 2, `${rows} of ${many} have become rows before anybody asked`);
  lines.release(true);
  assert.equal(rows + lines.frames.start.rows, many, 'each once');
});

test('texts of which nothing follows, names of events and wrong numbers do not fill the memory', () => {
  const lines = new RecordLines(recordTables([]));
  const take = (line: string): void => lines.take(Buffer.from(line), 0, Buffer.byteLength(line));
  for (let i = 0; i < 1000; i++) take(`${endLine({ pid: i + 1 }).slice(0, -1)}E${i}=1\t.`);
  assert.ok(lines.trouble.events.size <= 20, `${lines.trouble.events.size} events`);
  const { torn } = lines.trouble;
  for (const pid of ['abc', '', '-1', '0', '1e3']) take(startLine().replace('\t10\t', `\t${pid}\t`));
  assert.equal(lines.trouble.torn, torn + 5);
});

test('what is kept by a name has a short one: no field of 60,000 characters becomes a key', () => {
  const long = '1'.repeat(60_000);
  const lines = [
    `A2\t1\t${long}\targs\tx\t.`,
    `A2\t1\t100\t${long}\tx\t.`,
    startLine().replace('\t10\t', `\t${long}\t`),
    startLine().replace('\t10\t', `\t10@${long}\t`),
    startLine({ start: long as never }),
    startLine({ ppid: long as never }),
    endLine({ start: long as never }),
    ['W2', 9000, 10, long, ...Array(10).fill(0), '.'].join('\t'),
  ];
  const recordedRows = read(lines);
  assert.equal(recordedRows.torn, lines.length);
  assert.deepEqual([recordedRows.starts, recordedRows.ends], [[], []]);
});

test('a long text that every row asks for fills no memory: it is left out of some rows, and that is counted', () => {
  const parser = new RecordLines(recordTables([]));
  const take = (line: string): void => parser.take(Buffer.from(line), 0, Buffer.byteLength(line));
  const { start } = parser.frames;
  const lengths = (): number[] =>
    Array.from({ length: start.rows }, (_, r) => start.texts[r * start.textWidth + 4]!.length);
  for (let i = 0; i < 64; i++) take(`A2\t10\t100\tdirectory\t/${'x'.repeat(59_999)}\t.`);
  for (let i = 0; i < 600; i++) take(startLine({ name: 'p' }).replace('/dir', '\\c'));
  assert.deepEqual(lengths(), [3_840_000, 3_840_000, ...Array(598).fill(0)]);
  assert.equal(parser.trouble.leftOut, 598);
  start.clear(0);
  take(startLine({ name: 'p' }).replace('/dir', '\\c'));
  assert.deepEqual(lengths(), [3_840_000], 'the next read has room again');
});

test('of a job that writes faster than can be read the oldest is skipped, and counted', (t) => {
  const { file, open, take } = tailed(t);
  const line = startLine({ args: 'x'.repeat(1000) });
  // as the library writes it: a line begins with a newline, too
  const block = Buffer.from(`\n${line}\n`.repeat(1000));
  const fd = fs.openSync(file, 'a');
  let written = 0;
  for (; written * block.length <= 33 << 20; written++) fs.writeSync(fd, block);
  fs.closeSync(fd);
  const sources = open([], process.getuid!());
  let rows = 0;
  do rows += take(sources)[0]!;
  while (sources[0]!.behind!());
  const lost = sources[1]!.lost!()!;
  const total = written * 1000;
  assert.ok(rows * line.length < 17 << 20, `${rows} rows`);
  assert.ok(Math.abs(rows + lost.rows - total) <= total / 100, `${rows} read, ${lost.rows} skipped of ${total}`);
  assert.equal(lost.why, 'processes of the job wrote records faster than they could be read');
  assert.equal(sources[0]!.lost?.(), undefined, 'told once');
});
