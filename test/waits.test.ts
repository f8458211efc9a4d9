import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { eventually } from './made/eventually.ts';

const HERE = path.join(import.meta.dirname, '..');
const PAUSE = /\b(sleep|pause|setTimeout|setImmediate)\(/;
/** So many times, or until a moment. */
const COUNTED = /^[^;]*;\s*(?:Date\.now\(\)|performance\.now\(\)|[\w.]+) <=? [\w.\s+*]+;/;
/** What works until the test has seen enough, and waits for nothing. */
const WORKS = /^going\b/;

/** Loops in which somebody waits for what may never come: `eventually` has a limit, and says what it waited for. */
function endlessWaits(text: string): string[] {
  return [...text.matchAll(/\b(while|for) \(/g)].flatMap((loop) => {
    const open = loop.index + loop[0].length - 1;
    const close = endOf(text, open);
    const head = text.slice(open + 1, close);
    const begin = close + 1 + /^\s*/.exec(text.slice(close + 1))![0].length;
    const body = text.slice(begin, text[begin] === '{' ? endOf(text, begin) : text.indexOf(';', begin));
    if (!PAUSE.test(head + body)) return [];
    const ends = loop[1] === 'while' ? WORKS.test(head) : / of /.test(head) || COUNTED.test(head);
    return ends ? [] : [`line ${text.slice(0, loop.index).split('\n').length}: ${loop[0]}${head})`];
  });
}

/** Where the bracket that opens here is closed. */
function endOf(text: string, open: number): number {
  for (let i = open, depth = 0; i < text.length; i++) {
    if ('([{'.includes(text[i]!)) depth++;
    else if (')]}'.includes(text[i]!) && --depth === 0) return i;
  }
  return text.length;
}

test('no test waits without a limit', () => {
  const helpers = fs.globSync('test/**/*.ts', { cwd: HERE });
  const beside = fs.globSync('{src,bench,scripts,native,python}/**/*.test.ts', { cwd: HERE });
  const files = [...helpers, ...beside].filter((file) => file !== 'test/made/eventually.ts');
  assert.ok(files.length > 300, `${files.length} files`);
  const waits = files.flatMap((file) =>
    endlessWaits(fs.readFileSync(path.join(HERE, file), 'utf8')).map((loop) => `${file}: ${loop}`),
  );
  // the examples below
  assert.deepEqual(
    waits.filter((each) => !each.startsWith('test/waits.test.ts')),
    [],
  );
});

test('what is taken for a wait without a limit', () => {
  const endless = [
    'while (!x) await sleep(20);',
    'while (rows().length < 3) {\n  sink.wake();\n  await pause(5);\n}',
    'for (;;) {\n  if (x()) break;\n  await new Promise((resolve) => setTimeout(resolve, 20));\n}',
    'for (let i = 0; i < 2400 && !x(); i++) await sleep(50);',
    'for (const limit = Date.now() + 1000; ; await sleep(20)) if (x()) return;',
  ];
  for (const text of endless) assert.equal(endlessWaits(text).length, 1, text);
  const fine = [
    'while (reader.next()) rows++;',
    'while (going) await pause(10);',
    'for (const each of all) await sleep(20);',
    'for (let i = 0; i < 30; i++) await sleep(100);',
    'for (const end = Date.now() + 1000; Date.now() < end; tick++) await sleep(5);',
  ];
  for (const text of fine) assert.deepEqual(endlessWaits(text), [], text);
});

test('eventually: what came, what was waited for in vain, and what went wrong', async () => {
  let looks = 0;
  assert.equal(await eventually('the third look', () => ++looks === 3 && 'here'), 'here');
  assert.equal(await eventually('zero', async () => 0), 0);
  await assert.rejects(
    eventually('rain', () => false, 0.01),
    { message: 'waited 0.01 s in vain for rain' },
  );
  const description = (): string => `rain; it said: ${looks}`;
  await assert.rejects(
    eventually(description, () => undefined, 0.01),
    {
      message: 'waited 0.01 s in vain for rain; it said: 3',
    },
  );
  const broken = (): boolean => {
    throw new Error('it has ended');
  };
  await assert.rejects(eventually('rain', broken), { message: 'it has ended' });
});
