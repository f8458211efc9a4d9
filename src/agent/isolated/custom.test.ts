import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fakeGpu, hasCompiler } from '../../../test/fake-gpu/build.ts';
import { rowsOf } from '../../../test/fake-gpu/table-of.ts';
import { untilRead } from '../../../test/made/until-read.ts';
import type { CustomSource } from '../../sources/custom/custom.ts';
import type { Note } from '../../sources/host.ts';
import type { Scope } from '../../sources/scope.ts';
import { IsolatedSources } from './isolated.ts';

const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false };

/** The user's sources, asked every 30 ms until something has happened. */
function start(t: TestContext, custom: CustomSource[], kinds: string[] = [], limitSeconds = 30) {
  const rows = new Map<string, Record<string, number | string>[]>();
  const counts = new Map<string, number>();
  const notes: Note[] = [];
  const isolated = new IsolatedSources(kinds, {
    root: '/nonexistent',
    scope,
    custom,
    limitSeconds,
    deliver(frame) {
      rows.set(frame.table.name, rowsOf(frame));
      counts.set(frame.table.name, (counts.get(frame.table.name) ?? 0) + 1);
    },
    note: (note) => notes.push(note),
  });
  t.after(() => isolated.close());
  const until = untilRead(isolated, notes);
  return { isolated, rows, counts, notes, until };
}

function folderFor(t: TestContext): (name: string, text: string) => string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-custom-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 }));
  return (name, text) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, text);
    return file;
  };
}

const command = (name: string, line: string, more: Partial<CustomSource> = {}): CustomSource => ({
  name,
  command: line,
  format: 'prometheus',
  timeout: 30,
  ...more,
});
const module = (name: string, file: string, timeout = 30): CustomSource => ({
  name,
  module: file,
  format: 'prometheus',
  timeout,
});
const TABLE = `export const table = { columns: [{ name: 'value' }] };`;

test('a command that prints Prometheus text, one that prints JSON, a module', async (t) => {
  const write = folderFor(t);
  const counting = write(
    'counting.ts',
    `let n = 0;
     export const table = { help: 'Counts.', keys: ['who'], columns: [{ name: 'calls', kind: 'counter', type: 'int' }, { name: 'load_percent', unit: 'percent' }] };
     export async function read(): Promise<object[]> { n++; return [{ who: 'a', calls: n, load_percent: 12.5 }, { who: 'b' }]; }`,
  );
  const { rows, counts, notes, until, isolated } = start(t, [
    command('fans', 'echo "fan_rpm{fan=\\"1\\"} 1200"'),
    command('room', `echo '{"rack":"A","inlet_celsius":21.5}'`, { format: 'json' }),
    module('counting', counting),
  ]);
  await until('all three', () => rows.size === 3 && (counts.get('counting') ?? 0) > 1);
  assert.deepEqual(rows.get('fans'), [{ fan: '1', fan_rpm: 1200 }]);
  assert.deepEqual(rows.get('room'), [{ rack: 'A', inlet_celsius: 21.5 }]);
  assert.deepEqual(rows.get('counting'), [
    { who: 'a', calls: counts.get('counting')!, load_percent: 12.5 },
    { who: 'b', calls: Number.NaN, load_percent: Number.NaN },
  ]);
  const tables = await isolated.tables();
  assert.deepEqual(tables.find((table) => table.name === 'counting')!.columns[0], {
    name: 'calls',
    type: 'int',
    unit: 'count',
    kind: 'counter',
    help: 'calls.',
    exact: true,
  });
  assert.deepEqual(notes, []);
});

test('faulty sources are said in words, and the sound one goes on', async (t) => {
  const write = folderFor(t);
  const { counts, notes, until } = start(t, [
    command('fails', 'echo no sensor >&2; exit 1'),
    command('garbage', 'echo "<html>"'),
    command('silent', 'true'),
    command('sleeps', 'sleep 60', { timeout: 0.3 }),
    command('missing', '/no/such/program'),
    command('cpu', 'echo "a 1"'),
    module('throws', write('throws.ts', `${TABLE} export function read() { throw new Error('sensor gone'); }`)),
    module('shape', write('shape.ts', `${TABLE} export const read = () => ({ valeu: 1 });`)),
    module('type', write('type.ts', `${TABLE} export const read = () => [{ value: 'high' }];`)),
    module('never', write('never.ts', `${TABLE} export const read = () => new Promise(() => {});`), 1),
    module('empty', write('empty.ts', 'export {};')),
    module(
      'unit',
      write(
        'unit.ts',
        `export const table = { columns: [{ name: 'v', unit: 'furlongs' }] }; export const read = () => [];`,
      ),
    ),
    module('syntax', write('syntax.ts', 'export const = 1;')),
    module('absent', '/no/such/module.ts'),
    module('sound', write('sound.ts', `${TABLE} export const read = () => ({ value: 1 });`)),
  ]);
  const why = (name: string) => notes.filter((n) => n.table === name).map((n) => n.why)[0] ?? '';
  const all = [
    'fails',
    'garbage',
    'silent',
    'sleeps',
    'missing',
    'cpu',
    'throws',
    'shape',
    'type',
    'never',
    'empty',
    'unit',
    'syntax',
    'absent',
  ];
  await until('a word about each', () => all.every((name) => why(name) !== ''));
  const before = counts.get('sound') ?? 0;
  await until('the sound one again', () => (counts.get('sound') ?? 0) > before);
  assert.equal(why('fails'), 'ended with exit code 1: no sensor');
  assert.equal(why('garbage'), 'line 1 is not Prometheus text: <html>');
  assert.equal(why('silent'), 'printed no metric');
  assert.equal(why('sleeps'), 'did not end within 0.3 s');
  assert.match(why('missing'), /exit code 127: .*not found/);
  assert.equal(why('cpu'), 'Tacho has a table of this name; give the source another one');
  assert.equal(why('throws'), 'sensor gone');
  assert.equal(why('shape'), 'read gave valeu, which is no key or column of its table');
  assert.equal(why('type'), 'read gave "high" for value, which is a number');
  assert.equal(why('never'), 'reading took longer than 1 s');
  assert.equal(why('empty'), 'exports no table');
  assert.match(why('unit'), /^its column v has the unit furlongs; there are bytes, /);
  assert.match(why('absent'), /no\/such\/module\.ts/);
  assert.ok(notes.some((n) => n.table === 'fails' && /failed 3 times, from now on asked less often/.test(n.why)));
  assert.deepEqual([...counts.keys()], ['sound']);
});

test('a module that never returns is left out, and does not go on burning CPU time', async (t) => {
  const write = folderFor(t);
  const { counts, notes, until } = start(
    t,
    [
      module('spins', write('spins.ts', `${TABLE} export function read() { for (;;); }`)),
      module('sound', write('sound.ts', `${TABLE} export const read = () => ({ value: 1 });`)),
    ],
    [],
    3,
  );
  await until('the sound one, several times', () => (counts.get('sound') ?? 0) >= 3);
  assert.deepEqual([notes[0]!.table, notes[0]!.what], ['spins', 'spins']);
  assert.match(notes[0]!.why, /^does not answer since /);
});

test('a command keeps its columns when it is read by another process', async (t) => {
  const write = folderFor(t);
  const turn = write('turn', '');
  const { rows, counts, notes, until } = start(
    t,
    [
      // prints b before a from the second time on
      command(
        'swaps',
        `if [ -s ${turn} ]; then echo 'b 2'; echo 'a 1'; else echo 'a 1'; echo 'b 2'; echo x > ${turn}; fi`,
      ),
      module(
        'spins',
        write(
          'spins.ts',
          `let n = 0; ${TABLE} export function read() { if (n++ === 5) for (;;); return { value: n }; }`,
        ),
      ),
    ],
    [],
    3,
  );
  await until('the module hangs', () => notes.length > 0);
  const before = counts.get('swaps')!;
  await until('the command goes on', () => counts.get('swaps')! > before);
  assert.deepEqual(rows.get('swaps'), [{ a: 1, b: 2 }]);
  assert.deepEqual(
    notes.map((n) => n.table),
    ['spins'],
  );
});

describe('with GPUs', { skip: hasCompiler() ? false : 'no C compiler' }, () => {
  test('a module gets the GPUs, all at once or one by one', async (t) => {
    fakeGpu(t, 'nvml', 'cards 2\n');
    const write = folderFor(t);
    const table = `export const table = { keys: ['gpu'], columns: [{ name: 'uuid', type: 'text', unit: 'none', kind: 'info' }, { name: 'handle_known' }] };`;
    const all = write(
      'all.ts',
      `${table} export const read = (devices) => devices.map((d) => ({ gpu: d.gpu, uuid: d.uuid, handle_known: d.handle > 0n }));`,
    );
    const one = write(
      'one.ts',
      `${table} export const readDevice = (d) => { if (d.gpu === '1') throw new Error('not this one'); return { uuid: d.uuid }; };`,
    );
    const { rows, notes, until } = start(t, [module('all', all), module('one', one)], ['gpu']);
    await until('everything', () => rows.size === 3 && notes.length > 0);
    assert.deepEqual(rows.get('all'), [
      { gpu: '0', uuid: 'GPU-fake-0', handle_known: 1 },
      { gpu: '1', uuid: 'GPU-fake-1', handle_known: 1 },
    ]);
    assert.deepEqual(rows.get('one'), [{ gpu: '0', uuid: 'GPU-fake-0', handle_known: Number.NaN }]);
    assert.deepEqual(
      notes.map((n) => [n.table, n.why]),
      [['one', 'GPU 1: not this one']],
    );
  });
});
