import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobKey, recordTopic, rowTopic, topicHolds } from './kafka-names.ts';

const plain = { prefix: 'tacho', byUser: false };
const byUser = { prefix: 'site.tacho', byUser: true };

test('a topic for each table, or for each table and user', () => {
  assert.equal(rowTopic(plain, 'ada', 'meminfo'), 'tacho.meminfo');
  assert.equal(rowTopic(byUser, 'ada', 'meminfo'), 'site.tacho.ada.meminfo');
  assert.equal(rowTopic(byUser, '', 'meminfo'), 'site.tacho.fleet.meminfo');
  assert.equal(recordTopic(plain, 'ada', 'jobs'), 'tacho.jobs');
  assert.equal(recordTopic(byUser, 'ada', 'jobs'), 'site.tacho.ada.jobs');
  assert.equal(recordTopic(byUser, 'ada', 'tables'), 'site.tacho.tables');
});

test("no user's topics lie below another's, and no table's are those of records", () => {
  assert.equal(rowTopic(byUser, 'ada.b', 'meminfo'), 'site.tacho.ada-2e-b.meminfo');
  assert.equal(rowTopic(byUser, 'né e', 'x'), 'site.tacho.n-e9--20-e.x');
  assert.equal(rowTopic(plain, 'ada', 'jobs'), 'tacho.jobs-table');
});

test('what a topic holds', () => {
  assert.equal(topicHolds('tacho', 'tacho.meminfo'), 'rows');
  assert.equal(topicHolds('tacho', 'tacho.ada.meminfo'), 'rows');
  assert.equal(topicHolds('tacho', 'tacho.ada.nodes'), 'nodes');
  assert.equal(topicHolds('tacho', 'tacho.tables'), 'tables');
  assert.equal(topicHolds('tacho', 'tacho.jobs-table'), 'rows');
  assert.equal(topicHolds('tacho', 'tachometer.meminfo'), undefined);
  assert.equal(topicHolds('tacho', 'tacho.a.b.c'), undefined);
});

test('restarts and clusters are other jobs', () => {
  assert.equal(jobKey({ id: '4711' }), '4711');
  assert.equal(jobKey({ id: '4711', restart: 0 }), '4711');
  assert.equal(jobKey({ id: '4711', restart: 2, cluster: 'alps' }), 'alps/4711r2');
});
