import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { componentsOf } from '../../judge/outliers/components.ts';
import { componentsSvg } from './components-svg.ts';
import { componentsCsv, componentsText } from './components-text.ts';

/** Time and CPU time go together; bytes go their own way. Job 13 has much CPU time for its length. */
const jobs = Array.from({ length: 20 }, (_, i) => {
  const size = 1 + ((i * 7) % 20) / 20;
  const rchar = 1000 + ((i * 11) % 19);
  const wrong = i === 13 ? 3 : 1;
  return madeJob(`${i}`, [{ cpu_time: wrong * size * (1 + ((i * 3) % 5) / 50) * 1e6, metrics: { rchar } }], {
    duration: size * 1e7,
  });
});

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
});
