import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';
import { reportJson, reportJsonParts } from './json.ts';

test('reports that come one by one give the same text as all at once', async () => {
  const one = report(sleep());
  for (const count of [0, 1, 2, 3]) {
    const reports = Array.from({ length: count }, (_, i) => ({ ...one, recording: `/runs/${i}` }));
    let text = '';
    for await (const chunk of reportJsonParts(each(reports))) text += chunk;
    assert.equal(text, reportJson(reports));
  }
});

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
