import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { REPORT_FORMAT, report } from '../../src/judge/report.ts';
import { reportSchema, reportsSchema } from '../../src/judge/report-schema.ts';
import { PROCESS_ORIGINS } from '../../src/query/processes/set.ts';
import { reportHtml } from '../../src/show/report/html.ts';
import { reportJson } from '../../src/show/report/json.ts';
import { reportMarkdown } from '../../src/show/report/markdown.ts';
import { blink, days, killedNode, sleep, training } from '../made/report-jobs.ts';
import { reportText } from '../made/report-text.ts';

process.env.TZ = 'UTC';

const GOLDEN = path.join(import.meta.dirname, '../fixtures/report');
const stories = { sleep, blink, training, killedNode, days };

/** TACHO_GOLDEN=1 writes what is there now: look at the difference before you commit it. */
function golden(name: string, text: string): void {
  const file = path.join(GOLDEN, name);
  if (process.env.TACHO_GOLDEN === '1') fs.writeFileSync(file, text);
  assert.equal(text, fs.readFileSync(file, 'utf8'));
}

for (const [name, story] of Object.entries(stories)) {
  test(`the card of ${name}`, () => golden(`${name}.txt`, reportText([report(story())])));

  test(`the card of ${name} is plain and 80 columns wide`, () => {
    const text = reportText([report(story())], { all: true });
    for (const line of text.split('\n')) assert.ok(line.length <= 80, `${line.length} columns: ${line}`);
    assert.match(text, /^[\n\x20-\x7e]*$/);
  });

  test(`the report of ${name} is as its schema says`, () => {
    reportSchema.parse(JSON.parse(reportJson([report(story())])));
  });
}

test('all that a report can hold, its schema knows', () => {
  // the compiler refuses this line when the code can give a value that is not described
  const described: z.input<typeof reportSchema> = { ...report(training()), format: REPORT_FORMAT };
  described.processes = PROCESS_ORIGINS.map((source) => ({ ...described.processes[0]!, source }));
  assert.deepEqual(reportSchema.parse(described), described);
});

test('Markdown has every part', () => golden('training.md', reportMarkdown([report(training())])));

test('several jobs have a table before their cards', () => {
  const text = reportText([report(sleep()), report(training())]);
  assert.match(text, /^Jobs \(2\)\n/);
  assert.match(text, /4711 train-large +completed +2 h 00 min +18 % +38 % +91 % +3$/m);
  const json = JSON.parse(reportJson([report(sleep()), report(training())]));
  assert.equal(json[1].job.id, '4711');
  reportsSchema.parse(json);
  assert.throws(() => reportsSchema.parse([...json, { ...json[0], job: 'none' }]));
  const described = JSON.parse(
    fs.readFileSync(path.join(import.meta.dirname, '../../docs/report.schema.json'), 'utf8'),
  );
  const one = { $ref: '#/$defs/report' };
  assert.deepEqual(described.anyOf, [one, { type: 'array', items: one }]);
});

test('the page needs nothing from elsewhere and lets nothing in', () => {
  const odd = training();
  odd.job.name = '<script>alert(1)</script>';
  odd.job.tags = { note: '"><img src=x>' };
  const page = reportHtml([report(odd)]);
  assert.doesNotMatch(page, /<script|<img|<link|https?:|url\(/);
  assert.match(page, /&lt;script&gt;alert\(1\)/);
  assert.match(page, /default-src 'none'/);
});

test('on a narrow page what is the matter with a row stands below it, and names stay in sight', () => {
  const page = reportHtml([report(training())]);
  const below = [
    ...page.matchAll(/<tr><td>(c\d)<\/td>(?:(?!<tr).)*<\/tr><tr class="under"><td colspan="\d+"><mark>(.*?)</g),
  ];
  assert.deepEqual(
    below.filter(([, , text]) => !text!.startsWith('power')).map(([, name, text]) => [name, text]),
    [
      ['c6', 'never used'],
      ['c3', '8 GPUs differ'],
      ['c6', '1 GPU never used'],
    ],
  );
  const narrow = /@media \(max-width: 640px\) \{[^@]*/.exec(page)![0];
  assert.match(narrow, /\.wide td:first-child[^{]*\{ position: sticky; left: 0;/);
  assert.match(narrow, /\.under \{ display: table-row; \}/);
  assert.match(page.replace(narrow, ''), /\.under \{ display: none; \}/);
});

test('whatever is missing, there is a card, and nothing missing is shown as a number', () => {
  const choices = fc.record({
    story: fc.constantFrom(...Object.values(stories)),
    keep: fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
    agents: fc.boolean(),
    all: fc.boolean(),
  });
  fc.assert(
    fc.property(choices, ({ story, keep, agents, all }) => {
      const jobMaterial = story();
      const next = (): number => keep.next().value;
      for (const node of jobMaterial.nodes) {
        if (!agents) delete node.agent;
        for (const [name, statistics] of node.tables) {
          if (next() < 3) (node.tables as Map<string, unknown>).delete(name);
          for (const series of statistics.series) {
            for (const [column, value] of Object.entries(series.columns)) {
              const fate = next();
              if (fate < 2) delete series.columns[column];
              else if (fate < 4) series.columns[column] = { ...value, count: 0, mean: Number.NaN, max: Number.NaN };
              else if (fate === 4) delete series.columns[column]!.increase;
            }
          }
        }
      }
      const made = report(jobMaterial);
      const text = reportText([made], { all });
      for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
      assert.doesNotMatch(text, /NaN|undefined|Infinity|null/);
      assert.doesNotMatch(reportMarkdown([made]) + reportHtml([made]), /NaN|undefined|Infinity|>null/);
      reportSchema.parse(JSON.parse(reportJson([made])));
    }),
    { numRuns: 150 },
  );
});

test('names cannot steer the terminal', () => {
  const odd = sleep();
  odd.job.name = 'a\x1b[2Jb\nc';
  const text = reportText([report(odd)]);
  assert.ok(text.startsWith('a\\x1b[2Jb\\nc '), text);
  assert.doesNotMatch(text, /\x1b/);
});

test('a terminal gets colours and lines', () => {
  const before = { ...process.env };
  process.env.LANG = 'C.UTF-8';
  process.env.TERM = 'xterm';
  delete process.env.LC_ALL;
  delete process.env.LC_CTYPE;
  delete process.env.NO_COLOR;
  try {
    const text = reportText([report(sleep())], { stream: { isTTY: true } });
    assert.match(text, /\x1b\[32mCOMPLETED/);
    assert.match(text, /─{80}/);
    assert.match(text, /░{16}/);
  } finally {
    process.env = before;
  }
});
