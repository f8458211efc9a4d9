import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Frame } from '../../table/frame.ts';
import { Host } from '../host.ts';
import { insideId, type PidNamespaces, pidNamespaces } from '../process/pid-namespaces.ts';
import { RecordLines } from './lines.ts';
import { recordTables } from './tables.ts';

const OWN = 4026531836;
const [A, B] = [4026532500, 4026532501];

/** As the library writes them; times in microseconds. */
const start = (who: string, ppid: string | number, began: string, time: number): string =>
  ['S5', time, who, time, ppid, 1, 1, 0, began, '', '', '', '/', '/bin/prog', 'prog', '', '', '.'].join('\t');
const end = (who: string, ppid: string | number, began: number, user: number, children: number | '' = ''): string => {
  const metrics = [user, 0, children, children === '' ? '' : 0, ...Array(24).fill(1)];
  const texts = ['', '', '', '/', '/bin/prog', 'prog', '', ''];
  return ['E5', began + 900, who, began, ppid, 1, 1, 0, ...texts, 'exit', 0, 0, 1, 0, ...metrics, '.'].join('\t');
};
const waited = (who: string, teller: number, status: number, user: number): string =>
  ['W2', 9000, who, teller, status, user, 0, ...Array(7).fill(0), '.'].join('\t');

/** Processes that /proc shows, by their names in lines: id, parent. */
function spacesWith(pidsByName: Record<string, [pid: number, ppid: number]> = {}): PidNamespaces {
  return {
    own: String(OWN),
    saw: () => {},
    look: () => {},
    find(id, space) {
      const pidAndParent = pidsByName[`${id}@${space}`];
      return pidAndParent && { pid: pidAndParent[0], ppid: pidAndParent[1], start: 0 };
    },
  };
}

/** id, parent, who told, CPU time of every end. */
function ends(lines: readonly string[], spaces = spacesWith()): unknown[] {
  const parser = new RecordLines(recordTables([]), { spaces });
  for (const text of lines) {
    const bytes = Buffer.from(text);
    parser.take(bytes, 0, bytes.length);
  }
  parser.release(true);
  assert.deepEqual([parser.trouble.torn, parser.trouble.unknown], [0, 0]);
  const frame: Frame = parser.frames.end;
  const number = (row: number, name: string): number => frame.numbers[row * frame.numberWidth + frame.number(name)]!;
  return Array.from({ length: frame.rows }, (_, row) => [
    Number(frame.texts[row * frame.textWidth]),
    number(row, 'ppid'),
    frame.texts[row * frame.textWidth + frame.text('told_by')],
    number(row, 'usertime'),
  ]);
}

const outer = `77@${OWN}`;
const from77 = `77@${OWN}`;
const unshare = [start(outer, 5, 'exec', 100)];

test('one that who waits for it knows by another id is one process, and its time counts once', () => {
  const inner = [start(`1@${A}`, from77, 'fork', 200), start(`1@${A}`, 0, 'exec', 300), end(`1@${A}`, 0, 300, 5000)];
  const rest = [waited(`78@${OWN}`, 77, 0, 5100), end(outer, 5, 100, 40, 5100)];
  const id = insideId(1, A);
  assert.deepEqual(ends([...unshare, ...inner, ...rest]), [
    [id, 77, 'itself', 5000],
    [77, 5, 'itself', 40],
  ]);
  const spaces = spacesWith({ [`1@${A}`]: [78, 77] });
  assert.deepEqual(ends([...unshare, ...inner, ...rest], spaces)[0], [78, 77, 'itself', 5000]);
});

test('one that was killed in its namespace has what who waited for it tells', () => {
  const inner = [start(`1@${A}`, from77, 'fork', 200), start(`1@${A}`, 0, 'exec', 300)];
  assert.deepEqual(ends([...unshare, ...inner, waited(`78@${OWN}`, 77, 9, 5000)]), [
    [insideId(1, A), 77, 'parent', 5000],
  ]);
});

test('equal ids in two namespaces are two processes; who was waited for is told by what it used', () => {
  const both = [A, B].flatMap((space) => [
    start(`1@${space}`, from77, 'fork', 200),
    start(`2@${space}`, 1, 'fork', 210),
    end(`2@${space}`, 1, 210, space === A ? 30 : 60),
    end(`1@${space}`, from77, 200, 7, space === A ? 30 : 60),
  ]);
  const parents = [waited(`79@${OWN}`, 77, 0, 67), waited(`78@${OWN}`, 77, 0, 37)];
  assert.deepEqual(ends([...unshare, ...both, ...parents]), [
    [insideId(2, A), insideId(1, A), 'itself', 30],
    [insideId(1, A), 77, 'itself', 7],
    [insideId(2, B), insideId(1, B), 'itself', 60],
    [insideId(1, B), 77, 'itself', 7],
  ]);
});

test('a copy that says nothing, made with its namespace, is taken out of what its parent tells of it', () => {
  const lines = [
    ...unshare,
    start(`1@${A}`, from77, 'copy', 200),
    start(`2@${A}`, 1, 'fork', 210),
    start(`1@${A}`, from77, 'copy', 220),
    start(`3@${A}`, 1, 'fork', 230),
    end(`2@${A}`, 1, 210, 4000),
    end(`3@${A}`, 1, 230, 500),
    waited(`78@${OWN}`, 77, 0, 4510),
  ];
  assert.deepEqual(ends(lines), [
    [insideId(2, A), insideId(1, A), 'itself', 4000],
    [insideId(3, A), insideId(1, A), 'itself', 500],
    [insideId(1, A), 77, 'parent', 10],
  ]);
});

test('a silent program that makes a namespace is the parent of what runs there', () => {
  const toldLine = start(`80@${OWN}`, 77, 'told', 150);
  const inner = [start(`1@${A}`, 0, 'exec', 300), end(`1@${A}`, 0, 300, 5000)];
  assert.deepEqual(ends([...unshare, toldLine, ...inner, waited(`80@${OWN}`, 77, 0, 5004)]), [
    [insideId(1, A), 80, 'itself', 5000],
    [80, 77, 'parent', 4],
  ]);
});

test('one that was spawned into a namespace is not counted as told of and as itself', () => {
  const toldLine = start(`81@${OWN}`, 77, 'spawn', 290);
  const spaces = spacesWith({ [`4@${A}`]: [81, 77] });
  const inner = [start(`4@${A}`, 0, 'exec', 300), end(`4@${A}`, 0, 300, 5000)];
  const rest = waited(`81@${OWN}`, 77, 0, 5010);
  for (const order of [
    [toldLine, ...inner],
    [inner[0]!, toldLine, inner[1]!],
  ])
    assert.deepEqual(ends([...unshare, ...order, rest], spaces), [[81, 77, 'itself', 5000]]);
});

function frozen(t: TestContext): Host {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-namespaces-'));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const add = (pid: string, space: number, ids: string, ticks: number): void => {
    fs.mkdirSync(path.join(root, 'proc', pid, 'ns'), { recursive: true });
    fs.symlinkSync(`pid:[${space}]`, path.join(root, 'proc', pid, 'ns/pid'));
    fs.writeFileSync(path.join(root, 'proc', pid, 'status'), `Name:\tx\nNSpid:${ids}\nVmHWM:\t1 kB\n`);
    const rest = Array(40).fill(0);
    rest[17] = ticks;
    fs.writeFileSync(path.join(root, 'proc', pid, 'stat'), `${pid} (x y) S 77 1 1 ${rest.slice(2).join(' ')}\n`);
  };
  add('self', OWN, '\t50', 0);
  add('77', OWN, '\t77', 100);
  add('78', A, '\t78\t1', 200);
  add('79', B, '\t79\t5\t1', 300);
  fs.writeFileSync(path.join(root, 'proc/stat'), 'btime 1700000000\n');
  return new Host(root);
}

test('which process has an id in a namespace is found in /proc, also in one within another', (t) => {
  const spaces = pidNamespaces(frozen(t));
  const pidsOf = (id: string, space: number): number[] =>
    [1000, 2000, 3000].flatMap((ms) => spaces.find(id, String(space), 1_700_000_000_000 + ms)?.pid ?? []);
  assert.equal(spaces.own, String(OWN));
  assert.deepEqual([...new Set(pidsOf('1', A))], [78]);
  assert.deepEqual([...new Set(pidsOf('1', B))], [79]);
  assert.deepEqual(pidsOf('5', B), []);
  assert.equal(spaces.find('1', String(A), 1_700_000_100_000), undefined, 'one that began later has the id again');
});
