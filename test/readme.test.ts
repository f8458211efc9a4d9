import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { tacho, temporaryFolder } from './tacho.ts';

test('the report card in README.md is what the demo prints, but for what … leaves out', (t) => {
  const readme = fs.readFileSync(path.join(import.meta.dirname, '../README.md'), 'utf8');
  const [, shown] = /^```\n(48213 .*?)^```/ms.exec(readme)!;
  const folder = path.join(temporaryFolder(t), 'demo');
  assert.equal(tacho(['demo', '-o', folder]).code, 0);
  const { out } = tacho(['report', folder], { env: { ...process.env, TZ: 'UTC' } });
  let from = 0;
  for (const excerpt of shown!.split(/^ *…\n/m)) {
    const at = out.indexOf(excerpt, from);
    assert.ok(at >= 0, `not printed:\n${excerpt}\nbut\n${out}`);
    from = at + excerpt.length;
  }
});
