import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeList } from './node-list.ts';

test('nodes are written as schedulers write them', () => {
  assert.equal(nodeList(['c1']), 'c1');
  assert.equal(nodeList(['node01', 'node02', 'node03', 'node10']), 'node[01-03,10]');
  assert.equal(nodeList(['c9', 'c10', 'c11']), 'c[9-11]');
  assert.equal(nodeList(['c0', 'c9', 'c10', 'c011']), 'c[0,9-10],c011');
  assert.equal(nodeList(['gpu1', 'login', 'gpu2']), 'gpu[1-2],login');
  assert.equal(
    nodeList(['n01.a.site', 'n02.a.site', 'n01.b.site', 'login.site', '10.0.0.7', '10.0.0.8']),
    'n[01-02].a.site,n01.b.site,login.site,10.0.0.[7-8]',
  );
  assert.equal(nodeList(['r1n1', 'r1n2', 'r2n1']), 'r1n[1-2],r2n1');
});
