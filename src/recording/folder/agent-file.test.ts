import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../../test/make-recording.ts';
import { readAgentJson } from './agent-file.ts';

const TABLES = [{ name: 'disk', keys: [], columns: [{ name: 'read_bytes', help: 'with "tables":[ in it, and ü' }] }];

test('what an agent.json holds is the same, whether its tables are known already or not', () => {
  const file = path.join(temporary(), 'agent.json');
  const read = (text: string): unknown => {
    fs.writeFileSync(file, text);
    return readAgentJson(file);
  };
  const tables = JSON.stringify(TABLES);
  const texts = [
    `{"format":1,"node":"é1","tables":${tables},"ticks":3}`,
    `{"format":1,"node":"é2","tables":${tables},"ticks":4}`,
    `{"format":1,"tables":${tables}}`,
    // the same bytes, and something else behind them or around them
    `{"format":1,"scope":{"tables":${tables}},"tables":[]}`,
    `{"tables":${tables},"tables":[{"name":"other"}]}`,
    `{"format":1,"node":${JSON.stringify(`"tables":${tables}`)},"tables":[1]}`,
    `{"format":1,"tables":[]}`,
    '{"format":1}',
    '[]',
    'null',
  ];
  for (const text of [...texts, ...texts]) assert.deepEqual(read(text), JSON.parse(text), text);
  for (const cut of [`{"format":1,"tables":${tables}`, `{"tables":${tables}${tables}}`, `"tables":${tables}`])
    assert.throws(() => read(cut), SyntaxError, cut);
});

test('agents that say the same of their tables share them', () => {
  const folder = temporary();
  const [one, other] = ['a', 'b'].map((node) => {
    const file = path.join(folder, node);
    fs.writeFileSync(file, JSON.stringify({ node, tables: TABLES }));
    return readAgentJson(file) as { node: string; tables: unknown };
  });
  assert.equal(other!.node, 'b');
  assert.equal(one!.tables, other!.tables);
});
