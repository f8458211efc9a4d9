import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { warn, warnAll } from './warn.ts';

/** What is said on a stderr that is a terminal of so many columns; undefined: a pipe. */
function warningText(t: TestContext, columns: number | undefined, ...texts: string[]): string {
  const { stderr, env } = process;
  const before = { isTTY: stderr.isTTY, columns: stderr.columns, asked: env.COLUMNS };
  const written: string[] = [];
  const write = t.mock.method(stderr, 'write', (line: string) => written.push(line) > 0);
  delete env.COLUMNS;
  Object.assign(stderr, { isTTY: columns !== undefined, columns });
  try {
    if (texts.length === 1) warn(texts[0]!);
    else warnAll(texts);
  } finally {
    write.mock.restore();
    Object.assign(stderr, { isTTY: before.isTTY, columns: before.columns });
    if (before.asked !== undefined) env.COLUMNS = before.asked;
  }
  return written.join('');
}

const LONG = "the variable TACHO_INTERVALL is not one of Tacho's and is not used; did you mean TACHO_INTERVAL?";
const PATH = '/a/folder/with/a/name/that/is/longer/than/the/terminal/has/places';

test('a warning is told in lines that fit the terminal, a path whole; a pipe gets it as it is', (t) => {
  assert.equal(
    warningText(t, 60, `${LONG}\nsee ${PATH} for more`),
    [
      "tacho: the variable TACHO_INTERVALL is not one of Tacho's",
      '       and is not used; did you mean TACHO_INTERVAL?',
      '       see',
      `       ${PATH}`,
      '       for more\n',
    ].join('\n'),
  );
  assert.equal(warningText(t, undefined, `${LONG}\nsee ${PATH}`), `tacho: ${LONG}\n       see ${PATH}\n`);
});

test('what a warning quotes does not reach the terminal raw', (t) => {
  assert.equal(warningText(t, 60, 'a\x1b[2Jb 5 µs'), 'tacho: a\\x1b[2Jb 5 µs\n');
  assert.equal(warningText(t, undefined, 'a\x1b[2Jb 5 µs'), 'tacho: a\\x1b[2Jb 5 us\n');
});

test('of a thousand warnings ten are printed, and how many more there are', (t) => {
  const lines = warningText(t, undefined, ...Array.from({ length: 1023 }, (_, i) => `cannot read run-${i}`)).split(
    '\n',
  );
  assert.deepEqual(lines.slice(9), ['tacho: cannot read run-9', 'tacho: and 1,013 more warnings like these', '']);
  assert.equal(warningText(t, undefined, 'a', 'b'), 'tacho: a\ntacho: b\n');
});
