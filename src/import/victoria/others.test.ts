import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoredSeries } from '../../query/store/export-lines.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { nodeOf, tablesOf } from './others.ts';

const series = (labels: Record<string, string>, values: number[]): StoredSeries => ({
  labels,
  values: Float64Array.from(values),
  times: Float64Array.from(values, (_, i) => 1000 * (i + 1)),
});

const shape = ({ table }: Batch): object => ({
  name: table.name,
  keys: table.keys.map(({ name }) => name),
  columns: table.columns.map(({ name, kind, unit, type }) => `${name} ${kind} ${unit} ${type}`),
});

test('metrics of a program become tables by their names and labels', () => {
  const at = { instance: 'c1:9100', job: 'node' };
  const batches = tablesOf([
    series({ __name__: 'node_load1', ...at }, [1.5, 2]),
    series({ __name__: 'node_memory_MemFree_bytes', ...at }, [10, 20]),
    series({ __name__: 'node_disk_read_bytes_total', ...at, device: 'sda' }, [1, 2]),
    series({ __name__: 'node_disk_read_bytes_total', ...at, device: 'sdb' }, [3, 4]),
    series({ __name__: 'node_disk_written_bytes_total', ...at, device: 'sda' }, [5, Number.NaN]),
    series({ __name__: 'node_cpu_seconds_total', ...at, cpu: '0', mode: 'idle' }, [1.25, 2.25]),
  ]);
  assert.deepEqual(batches.map(shape), [
    { name: 'node', keys: [], columns: ['load1 gauge count float', 'memory_MemFree_bytes gauge bytes int'] },
    {
      name: 'node_disk',
      keys: ['device'],
      columns: ['read_bytes_total counter bytes int', 'written_bytes_total counter bytes int'],
    },
    { name: 'node_cpu', keys: ['cpu', 'mode'], columns: ['seconds_total counter seconds float'] },
  ]);
  const disk = batches[1]!;
  assert.deepEqual([...disk.numbers.get('read_bytes_total')!], [1, 2, 3, 4]);
  assert.deepEqual([...disk.numbers.get('written_bytes_total')!], [5, Number.NaN, Number.NaN, Number.NaN]);
  assert.deepEqual([...disk.time], [1e6, 2e6, 1e6, 2e6]);
});

test("no table takes the name of one of Tacho's own", () => {
  const [firstBatch] = tablesOf([
    series({ __name__: 'process_cpu_seconds_total' }, [1]),
    series({ __name__: 'process_open_fds' }, [1]),
  ]);
  assert.equal(firstBatch!.table.name, 'process_metrics');
});

test('the node is what a label names, without a port', () => {
  assert.equal(nodeOf({ instance: 'c1:9100' }), 'c1');
  assert.equal(nodeOf({ instance: 'c1:9100', node: 'n7' }), 'n7');
  assert.equal(nodeOf({ job: 'x' }), '');
});

test('no sample is lost, whatever the names and labels', () => {
  const word = fc.constantFrom('a', 'b', 'a_b', 'a_bytes_total', 'a_b_c', 'node_x', 'gpu_x', 'gpu');
  const label = fc.dictionary(fc.constantFrom('x', 'y', 'instance', 'a', 'b'), fc.constantFrom('1', '2'));
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(word, label), { selector: (pair) => JSON.stringify(sorted(pair)) }), (all) => {
      const given = all.map(([name, labels], i) =>
        series({ ...labels, __name__: name, instance: 'n' }, [i + 1, i + 2]),
      );
      const distinct = new Set(given.map(({ labels }) => JSON.stringify(Object.entries(labels).sort())));
      if (distinct.size !== given.length) return;
      let values = 0;
      for (const batch of tablesOf(given))
        for (const numbers of batch.numbers.values()) values += numbers.filter((value) => !Number.isNaN(value)).length;
      assert.equal(values, given.length * 2);
    }),
  );
});

const sorted = ([name, labels]: [string, Record<string, string>]): unknown => [name, Object.entries(labels).sort()];
