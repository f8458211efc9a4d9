import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOwnTopic, jobKey, namingFor, recordTopic, rowTopic, topicHolds } from './names.ts';

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

test('what users recorded themselves is in topics of its own', () => {
  const naming = { prefix: 'tacho', byUser: false };
  const own = namingFor(naming, { recorded_by: 'user' });
  assert.equal(rowTopic(own, 'ada', 'meminfo'), 'tacho-own.meminfo');
  assert.equal(recordTopic(own, 'ada', 'jobs'), 'tacho-own.jobs');
  assert.equal(recordTopic(own, 'ada', 'tables'), 'tacho-own.tables');
  assert.equal(
    rowTopic(namingFor({ ...naming, byUser: true }, { recorded_by: 'user' }), 'own', 'x'),
    'tacho-own.own.x',
  );
  assert.equal(rowTopic(namingFor(naming, {}), 'ada', 'meminfo'), 'tacho.meminfo');
  assert.equal(topicHolds('tacho', 'tacho-own.ada.meminfo'), 'rows');
  assert.equal(topicHolds('tacho', 'tacho-own.nodes'), 'nodes');
  assert.deepEqual(
    ['tacho-own.nodes', 'tacho.nodes', 'tacho.own.nodes'].map((topic) => isOwnTopic('tacho', topic)),
    [true, false, false],
  );
});

test('users, restarts and clusters are other jobs', () => {
  assert.equal(jobKey({ id: '4711', user: 'ada' }), 'ada/4711');
  assert.equal(jobKey({ id: '4711', user: 'ada', restart: 0 }), 'ada/4711');
  assert.equal(jobKey({ id: '4711', user: 'ada', restart: 2, cluster: 'alps' }), 'ada/alps/4711r2');
});
