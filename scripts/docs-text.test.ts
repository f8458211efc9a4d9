import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';

/** What every page has to keep to: links that lead somewhere, short sentences, the words of the glossary; so has the program. */

const ROOT = path.join(import.meta.dirname, '..');
const MOST_WORDS = 30;

const documentation = fs.globSync('docs/**/*.md', { cwd: ROOT });
const pages = [
  ...documentation,
  'README.md',
  'CONTRIBUTING.md',
  ...fs.globSync('{packaging,examples}/**/*.md', { cwd: ROOT }),
];
const text = (page: string): string => fs.readFileSync(path.join(ROOT, page), 'utf8');

/** A page without its examples: fenced and indented blocks. */
const withoutExamples = (page: string): string =>
  text(page)
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/^(?: {4}|\t).*$/gm, '');

/** The anchors that GitHub makes of a page's headings. */
function anchors(page: string): Set<string> {
  const headings = text(page)
    .replace(/^```[\s\S]*?^```/gm, '')
    .matchAll(/^#+ +(.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test('every link in the documentation leads to a file and a heading that are there', () => {
  const broken = pages.flatMap((page) =>
    [...withoutExamples(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [file, anchor] = link.split('#') as [string, string?];
        const target = file === '' ? page : path.join(path.dirname(page), file);
        if (!fs.existsSync(path.join(ROOT, target))) return true;
        return anchor !== undefined && !anchors(target).has(anchor);
      })
      .map((link) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

/** Sentences of a page: a cell of a table and an item of a list are at least one of their own. */
function sentences(page: string): string[] {
  return withoutExamples(page)
    .split(/\n\s*\n|\n(?=[-*|#]|\d+\. )|\s\|\s/)
    .map((block) => block.replace(/\s+/g, ' '))
    .flatMap((block) => block.split(/(?<=[.;:!?])\s+/));
}

test(`no sentence of the documentation has more than ${MOST_WORDS} words`, () => {
  const long = documentation.flatMap((page) =>
    sentences(page)
      .filter((sentence) => (sentence.match(/[\p{L}\p{N}_'’]+/gu) ?? []).length > MOST_WORDS)
      .map((sentence) => `${page}: ${sentence}`),
  );
  assert.deepEqual(long, []);
});

const GENERATED = ['cli', 'findings', 'metrics', 'history-tables'].map((name) => `docs/${name}.md`);
const MOST_WORDS_OF_ALL = 39_000;

test('what users have to read stays short: README and pages written by hand, with their examples', () => {
  const wordCounts = ['README.md', ...documentation.filter((page) => !GENERATED.includes(page))].map((page) => {
    const byHand = text(page).replace(/<!-- made by npm run docs -->[\s\S]*?<!-- end -->/g, '');
    return byHand.split(/\s+/).filter(Boolean).length;
  });
  const sum = wordCounts.reduce((all, one) => all + one, 0);
  assert.ok(sum > 0 && sum < MOST_WORDS_OF_ALL, `${sum} words: say something shorter, or once instead of twice`);
});

/** Phrases that readers had to guess at, and what says the same. */
const HARD_PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\btold by\b/, 'reported by its parent'],
  [/\bin silence\b/, 'not recorded'],
  [/\bfor want of\b/, 'out of'],
  [/\bby who counts\b/, 'measured in different ways'],
  [/\bso (?:many|much|long|often)\b(?! (?:as|that)\b)/i, 'at most N, this many'],
  [/\bof the time on end\b/, 'without a break'],
  [/\bnobody says\b/, 'it is not known'],
  [/\b(?:no|a) word from|without a word\b/, 'without a message'],
  [/\btold apart\b|\b(?:said|reported) apart\b/, 'reported separately'],
  [/\b(?:were|was) seen\b/, 'sampled, recorded, found'],
  [/\blies outside\b/, 'differs from the baseline'],
  [/\bbears? (?:a|the) tags?\b/, 'has a tag'],
  [/\bhighest use and\b/, 'peak plus'],
  [/\bsound,? healed\b/, 'ok, repaired'],
  [/\bis told(?! by)\b/, 'is reported'],
  [/\btells? of\b/, 'reports'],
  [/\bwaited for files\b/, 'I/O wait'],
  [/\bidle for a disk\b/, 'I/O wait'],
  [/\b(?:a row a|one recording a|one file a|one line a) [a-z]/, 'one row per sample'],
];

/** In a page a space is no separator of thousands; in a program it may stand in a drawing. */
const THOUSANDS = [/\b\d{1,3} \d{3}\b(?! ?(?:ms|s|MB|kB)\b)/, 'thousands as 1,024'] as const;

test('the documentation has no phrase that readers had to guess at', () => {
  const hard = documentation.flatMap((page) =>
    withoutExamples(page)
      .split('\n')
      .flatMap((line) =>
        [...HARD_PHRASES, THOUSANDS]
          .filter(([phrase]) => phrase.test(line))
          .map(([phrase, better]) => `${page}: ${phrase} (${better}): ${line}`),
      ),
  );
  assert.deepEqual(hard, []);
});

/** What a source file may print: its texts, without comments. */
const textsOf = (file: string): string[] =>
  text(file)
    .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];

test('no text of the program has such a phrase', () => {
  const files = fs.globSync('{src,web/src}/**/*.{ts,tsx}', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
  const hard = files.flatMap((file) =>
    textsOf(file).flatMap((each) =>
      HARD_PHRASES.filter(([phrase]) => phrase.test(each)).map(
        ([phrase, better]) => `${file}: ${phrase} (${better}): ${each}`,
      ),
    ),
  );
  assert.ok(files.length > 500, String(files.length));
  assert.deepEqual(hard, []);
});
