import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { reportPdf } from './pdf.ts';

test('every line of a card is on a page, in the column where it stands', () => {
  const lines = Array.from({ length: 130 }, (_, i) => (i === 0 ? 'Job <1>' : `  line ${i}`));
  const pdf = reportPdf(`${lines.join('\n')}\n`);
  const pdfText = pdf.toString('latin1');
  assert.match(pdfText, /\/Count 3 /);
  const contents = [...pdfText.matchAll(/stream\n/g)]
    .filter(({ index }) => !pdfText.slice(index - 3, index).includes('end'))
    .map(({ index }) => {
      const begin = index + 'stream\n'.length;
      return inflateSync(pdf.subarray(begin, pdfText.indexOf('\nendstream', begin))).toString('latin1');
    });
  const all = contents.join('\n');
  const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex');
  for (const line of lines) assert.ok(all.includes(`<${hex(line.trim())}> Tj`), line);
  // two blanks of six points each
  assert.match(all, new RegExp(`/F3 10 Tf 1 0 0 -1 64 68 Tm <${hex('line 1')}>`));
  assert.match(all, new RegExp(`/F4 10 Tf 1 0 0 -1 52 56 Tm <${hex('Job <1>')}>`));
});

test('a head is on the page of what it is the head of', () => {
  // 60 lines fit: the head would be the last of them
  const lines = ['Job 1', ...Array.from({ length: 57 }, (_, i) => `  line ${i}`), '', 'Phases', '  phase', '  solve'];
  const pdf = reportPdf(`${lines.join('\n')}\n`);
  const pdfText = pdf.toString('latin1');
  const pages = [...pdfText.matchAll(/\nstream\n/g)].map(({ index }) => {
    const begin = index + '\nstream\n'.length;
    return inflateSync(pdf.subarray(begin, pdfText.indexOf('\nendstream', begin))).toString('latin1');
  });
  const has = (text: string): boolean[] =>
    pages.map((page) => page.includes(`<${Buffer.from(text, 'latin1').toString('hex')}> Tj`));
  assert.deepEqual(
    [has('line 56'), has('Phases'), has('phase')],
    [
      [true, false],
      [false, true],
      [false, true],
    ],
  );
});

test('charts follow the card, none of them cut by the end of a page', () => {
  const chart = (name: string, height: number) => ({
    svg: `<svg width="720" height="${height}"><text x="10" y="20" font-size="14">${name}</text></svg>`,
    width: 720,
    height,
  });
  // 523 points of paper for 720 pixels: the third does not fit below the two before it
  const pdf = reportPdf('card\n', [chart('first', 500), chart('second', 500), chart('third', 500)]);
  const pdfText = pdf.toString('latin1');
  assert.match(pdfText, /\/Count 3 /);
  const contents = [...pdfText.matchAll(/\nstream\n/g)].map(({ index }) => {
    const begin = index + '\nstream\n'.length;
    return inflateSync(pdf.subarray(begin, pdfText.indexOf('\nendstream', begin))).toString('latin1');
  });
  const names = ['card', 'first', 'second', 'third'].map((name) => Buffer.from(name).toString('hex'));
  assert.deepEqual(
    contents.map((content) => names.map((name) => content.includes(name))),
    [
      [true, false, false, false],
      [false, true, true, false],
      [false, false, false, true],
    ],
  );
});
