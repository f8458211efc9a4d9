import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsOf, prometheusFactor, prometheusName } from './names.ts';
import { counter, gauge, type Table, text } from './table.ts';

const table: Table = { name: 'disk', help: '', keys: [], columns: [], scope: 'node' };

test('names and values are in base units', () => {
  assert.equal(prometheusName(table, counter('read_bytes', 'bytes', '')), 'tacho_disk_read_bytes_total');
  assert.equal(prometheusName(table, counter('busy_ms', 'milliseconds', '')), 'tacho_disk_busy_seconds_total');
  assert.equal(prometheusFactor(counter('busy_ms', 'milliseconds', '')), 1e-3);
  assert.equal(prometheusName(table, gauge('utilisation_percent', 'percent', '')), 'tacho_disk_utilisation_ratio');
  assert.equal(prometheusName(table, counter('energy_mj', 'millijoules', '')), 'tacho_disk_energy_joules_total');
  assert.equal(prometheusName(table, gauge('start_time', 'epoch', '')), 'tacho_disk_start_timestamp_seconds');
  assert.equal(prometheusName(table, gauge('in_flight', 'count', '')), 'tacho_disk_in_flight');
});

test("the kernel's own names stay, as far as Prometheus allows", () => {
  assert.equal(
    prometheusName({ ...table, name: 'meminfo' }, gauge('MemFree_bytes', 'bytes', '')),
    'tacho_meminfo_MemFree_bytes',
  );
  assert.equal(prometheusName(table, gauge('Active(anon)_bytes', 'bytes', '')), 'tacho_disk_Active_anon_bytes');
});

test('texts are labels of one info metric', () => {
  assert.equal(prometheusName(table, text('model', '')), 'tacho_disk_info');
});

test('columns whose names differ only in signs are numbered, each kind of name by itself', (t) => {
  const names = ['a', 'a-', 'a', 'a--', 'a_2', 'a'];
  const metrics = metricsOf({ ...table, columns: names.map((name) => gauge(name, 'count', '')) });
  assert.deepEqual(
    metrics.map((metric) => metric?.name.slice('tacho_disk_'.length)),
    ['a', 'a__2', 'a_2', 'a__3', 'a_2_2', 'a_3'],
  );
  const columns = Array.from({ length: 300 }, (_, i) => gauge(`a${'-'.repeat(i)}`, 'count', ''));
  const looks = t.mock.method(Set.prototype, 'has');
  const last = metricsOf({ ...table, columns }).at(-1)?.name;
  const count = looks.mock.callCount();
  looks.mock.restore();
  assert.equal(last, 'tacho_disk_a__300');
  assert.ok(count <= 2 * columns.length, `${count}`);
});
