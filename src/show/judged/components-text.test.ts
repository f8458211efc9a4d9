import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobsWithOneOdd } from '../../../test/made/outlier-jobs.ts';
import { componentsOf } from '../../judge/outliers/components.ts';
import { componentsSvg } from './components-svg.ts';
import { componentsCsv, componentsText } from './components-text.ts';

const jobs = jobsWithOneOdd();

test('as a table, a plot, CSV and a picture', async () => {
  const components = await componentsOf(jobs);
  const text = componentsText(components, { width: 80, limit: 3 });
  assert.match(text, /^20 jobs, by 3 features: 2 components hold \d+ % of the variance\n/);
  assert.match(text, /\njob +distance +PC1 \d+ % +PC2 .*\n13 /);
  assert.match(text, /\n17 more; --limit 0 shows all\n/);
  assert.equal(text.match(/^ \|.*1.*$/gm)?.length, 1);
  for (const line of text.split('\n')) assert.ok(line.length <= 96, line);
  assert.equal(componentsCsv(components).split('\n').length, 1 + 20 * 3 + 3 * 3 + 1);
  const svg = componentsSvg(components);
  assert.equal(svg.match(/<circle/g)?.length, 20);
  assert.match(svg, />13<\/text>/);
  const thousand = { ...components, scores: Array.from({ length: 1023 }, () => components.scores[0]!) };
  assert.match(componentsSvg(thousand), /<title>Principal components of 1,023 jobs</);
});
