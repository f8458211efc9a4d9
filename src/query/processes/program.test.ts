import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { unquoted, wordsOf } from '../../base/shell-words.ts';
import { plainWords, programName, scriptWord } from './program.ts';

/** Arguments with blanks, quotes and flags in any order. */
const args = fc
  .array(fc.constantFrom('-c', '-e', '--fast', 'make', 'a/b.sh', "'two words'", "'", "\\'", '\\', "$'\\xff'", '', ' '))
  .map((commandWords) => commandWords.join(' '));

test('plain words are all words of the arguments, without quotes and blanks', () => {
  fc.assert(
    fc.property(args, (text) => {
      const wordParts = wordsOf(text).flatMap((word) => unquoted(word).replaceAll("'", '').split(' '));
      assert.deepEqual(
        plainWords(text),
        wordParts.filter((word) => word !== ''),
      );
    }),
  );
});

test('the script of a shell is its first word that is no flag', () => {
  fc.assert(
    fc.property(args, (text) => {
      assert.equal(
        scriptWord('bash', text),
        plainWords(text).find((word) => !word.startsWith('-')),
      );
    }),
  );
});

test('a program in an argument has no name, also when words follow that look like one', () => {
  assert.equal(scriptWord('perl', "-w -e 'print 1' file.pl"), undefined);
  assert.equal(scriptWord('perl', '-w tools/check.pl -e x'), 'tools/check.pl');
});

test('a shell and an interpreter are named with what they run', () => {
  assert.equal(programName('sh', "-c 'make -j 4'"), 'sh -c make');
  assert.equal(programName('python3', '-u jobs/train.py --epochs 3'), 'python3 train.py');
  assert.equal(programName('gcc', '-c a.c'), 'gcc');
});
