import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineOf } from './where.ts';

const TOML = `# a comment with interval = 3
interval = "1s"
"odd key" = 1

[sources]
disable = ["nfs"]   # not [spool]
interval = 5

[[source]]
name = "first"

[[ source ]]
name = "second"
comand = "x"

spool.memory = 3
[spool]
inline = { deep = 1 }
`;

test('a key is found in its own section', () => {
  assert.equal(lineOf(TOML, ['interval']), 2);
  assert.equal(lineOf(TOML, ['odd key']), 3);
  assert.equal(lineOf(TOML, ['sources', 'disable']), 6);
  assert.equal(lineOf(TOML, ['sources', 'interval']), 7);
});

test('sections that repeat are told apart', () => {
  assert.equal(lineOf(TOML, ['source', 0, 'name']), 10);
  assert.equal(lineOf(TOML, ['source', 1, 'name']), 13);
  assert.equal(lineOf(TOML, ['source', 1, 'comand']), 14);
  assert.equal(lineOf(TOML, ['source', 1]), 12);
});

test('what has no line of its own is where its surroundings are', () => {
  assert.equal(lineOf(TOML, ['spool', 'inline', 'deep']), 18);
  assert.equal(lineOf(TOML, ['nowhere']), 1);
});
