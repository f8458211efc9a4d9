import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { shellText, unquoted, wordsOf } from './shell-words.ts';

const textOf = (commandWords: readonly string[]): string =>
  shellText(Buffer.from(commandWords.map((word) => `${word}\0`).join('')));

test('plain arguments are bare; those that a shell would read otherwise are quoted', () => {
  assert.equal(textOf(['one two', 'three']), "'one two' three");
  assert.equal(textOf(['one', 'two', 'three']), 'one two three');
  assert.equal(textOf(['', 'a', '']), "'' a ''");
  assert.equal(textOf([]), '');
  assert.equal(textOf(["it's", 'a:b%c', '-n', '--x=1,2', 'ü€', '/a/b.nc']), "'it'\\''s' a:b%c -n --x=1,2 ü€ /a/b.nc");
  assert.equal(textOf(['a\nb', '\\', '"', '*', '$x', '~', 'a;b', '#']), "'a\nb' '\\' '\"' '*' '$x' '~' 'a;b' '#'");
  assert.equal(textOf(['\u00a0', 'a\u2028b']), "'\u00a0' 'a\u2028b'");
  assert.equal(textOf(["$'a'"]), "'$'\\''a'\\'''");
  assert.equal(shellText(Buffer.from("a\xff'\0b\0", 'latin1')), "$'a\\xff\\'' b");
});

const anyArgument = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(' ', "'", '\\', '$', '"', '\n', '*', 'a', '€', '') }),
);
const argumentLists = fc.array(anyArgument.map((word) => word.replaceAll('\0', '')));

test('any arguments come back', () => {
  fc.assert(
    fc.property(argumentLists, (commandWords) => {
      assert.deepEqual(wordsOf(textOf(commandWords)).map(unquoted), commandWords);
    }),
  );
});

test('a shell reads the same arguments, bytes that are no UTF-8 too', () => {
  const print = (shell: string, text: string): Buffer =>
    spawnSync(shell, ['-c', `set -- ${text}\nprintf '<%s>' "$@"`], { env: { ...process.env, LC_ALL: 'C' } }).stdout;
  const shown = (bytes: Buffer): string =>
    bytes.length === 0 ? '<>' : bytes.toString('latin1').replaceAll('\0', '><').replace(/^/, '<').slice(0, -1);
  fc.assert(
    fc.property(argumentLists, (commandWords) => {
      const bytes = Buffer.from(commandWords.map((word) => `${word}\0`).join(''));
      assert.equal(print('sh', shellText(bytes)).toString('latin1'), shown(bytes));
    }),
    { numRuns: 30 },
  );
  if (spawnSync('bash', ['-c', ':']).status !== 0) return;
  const bytes = fc
    .array(fc.uint8Array({ min: 1 }))
    .map((list) => Buffer.concat(list.flatMap((b) => [b, Buffer.of(0)])));
  fc.assert(
    fc.property(bytes, (some) => {
      assert.equal(print('bash', shellText(some)).toString('latin1'), shown(some));
    }),
    { numRuns: 30 },
  );
});

test('a text that was joined without quotes has its words, whatever is in it', () => {
  assert.deepEqual(wordsOf('-c echo it\'s "a b"').map(unquoted), ['-c', 'echo', "it's", '"a', 'b"']);
  assert.deepEqual(wordsOf("a\\ 'b"), ['a\\', "'b"]);
  assert.equal(wordsOf("' ".repeat(100_001)).length, 50_001);
});
