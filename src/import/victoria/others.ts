import type { StoredSeries } from '../../query/store/export-lines.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { TableRows } from '../../recording/read/table-rows.ts';
import { sources } from '../../sources/index.ts';
import type { Column, Table } from '../../table/table.ts';
import { type Unit, units } from '../../table/unit.ts';

/** Labels that say on which machine something was measured, the most telling first. */
const NODE_LABELS = ['node', 'nodename', 'hostname', 'host', 'instance'];

/** The label that names the node; undefined when there is none. */
export function nodeLabel(labels: Readonly<Record<string, string>>): string | undefined {
  return NODE_LABELS.find((name) => (labels[name] ?? '') !== '');
}

/** The node of a series, without a port; '' when no label names it. */
export function nodeOf(labels: Readonly<Record<string, string>>): string {
  const label = nodeLabel(labels);
  if (label === undefined) return '';
  return label === 'instance' ? labels[label]!.replace(/:\d+$/, '') : labels[label]!;
}

/** Words at the end of a name that belong to the column: units, and that it counts. */
const LAST_WORDS = new Set([
  ...Object.values(units).flatMap(({ base }) => (base === '' ? [] : base.split('_'))),
  ...['total', 'count', 'sum', 'bucket', 'info', 'percent', 'percentage', 'kilobytes', 'mhz', 'packets'],
]);

const COUNTS = /_(total|count|sum|bucket)$/;

/**
 * Series of any program as tables: what has the same labels and begins with the same word is one table, named by the
 * words that its metrics have in common. `node_disk_read_bytes_total{device}` and `node_disk_written_bytes_total{device}`
 * are the columns `read_bytes_total` and `written_bytes_total` of the table `node_disk`, with the key `device`.
 */
export function tablesOf(all: readonly StoredSeries[]): Batch[] {
  const same = constantLabels(all);
  const groups = Map.groupBy(all, ({ labels }) => {
    const keys = Object.keys(labels).filter((name) => !same.has(name));
    return JSON.stringify([nameOf(labels).split('_')[0], ...keys.sort()]);
  });
  const taken = new Set(sources.map(({ table }) => table.name));
  return [...groups].map(([key, group]) => {
    const [, ...keys] = JSON.parse(key) as string[];
    const names = [...new Set(group.map(({ labels }) => nameOf(labels)))].sort();
    const stem = commonWords(names);
    let name = stem;
    if (taken.has(name)) name = [stem, ...(keys.length > 0 ? ['by', ...keys] : ['metrics'])].join('_');
    for (let n = 2; taken.has(name); n++) name = `${stem}_${n}`;
    taken.add(name);
    return batchOf(name, stem, keys, names, group);
  });
}

const nameOf = (labels: Readonly<Record<string, string>>): string => labels.__name__ ?? '';

/** Labels that say the same everywhere, or name the node: they tell nothing apart. */
function constantLabels(all: readonly StoredSeries[]): Set<string> {
  const values = new Map<string, Set<string>>();
  for (const { labels } of all)
    for (const [name, value] of Object.entries(labels)) values.set(name, (values.get(name) ?? new Set()).add(value));
  const everywhere = (name: string): boolean => all.every(({ labels }) => labels[name] !== undefined);
  const same = [...values]
    .filter(([name, nodeValues]) => nodeValues.size === 1 && everywhere(name))
    .map(([name]) => name);
  const node = NODE_LABELS.find((name) => values.has(name));
  return new Set(['__name__', ...same, ...(node === undefined ? [] : [node])]);
}

function commonWords(names: readonly string[]): string {
  const [first, ...others] = names.map((name) => name.split('_'));
  let count = first!.length;
  while (count > 1 && LAST_WORDS.has(first![count - 1]!.toLowerCase())) count--;
  // a table of one metric has a column that is called like its last word
  if (others.length === 0 && count === first!.length) count--;
  for (const otherWords of others) while (count > 0 && otherWords[count - 1] !== first![count - 1]) count--;
  while (count > 0 && names.some((name) => name === first!.slice(0, count).join('_'))) count--;
  return count <= 0 ? first![0]! : first!.slice(0, count).join('_');
}

function batchOf(
  name: string,
  stem: string,
  keys: readonly string[],
  names: readonly string[],
  group: readonly StoredSeries[],
): Batch {
  const columnOf = (metric: string): string => (metric.startsWith(`${stem}_`) ? metric.slice(stem.length + 1) : metric);
  const whole = new Set(
    names.filter((metric) =>
      group.every(({ labels, values }) => nameOf(labels) !== metric || values.every(isWholeOrMissing)),
    ),
  );
  // what tells rows apart comes first in every row: a key that is called like a column would be lost
  const renamed = new Map(keys.map((key) => [key, names.some((m) => columnOf(m) === key) ? `${key}_label` : key]));
  const table: Table = {
    name,
    help: `Metrics that begin with ${stem}, imported.`,
    scope: 'node',
    keys: keys.map((key) => ({ name: renamed.get(key)!, help: '' })),
    columns: names.map((metric) => guess(columnOf(metric), metric, whole.has(metric))),
  };
  const rows = new TableRows(table);
  for (const { labels, values, times } of group) {
    const own = Object.fromEntries(keys.map((key) => [renamed.get(key)!, labels[key] ?? '']));
    rows.add(own, columnOf(nameOf(labels)), { times, values });
  }
  return rows.batch();
}

const isWholeOrMissing = (value: number): boolean => Number.isNaN(value) || Number.isSafeInteger(value);

function guess(name: string, metric: string, whole: boolean): Column {
  const word = metric.replace(COUNTS, '').split('_').at(-1)!;
  const unit = (Object.keys(units) as Unit[]).find((u) => units[u].base === word && units[u].factor === 1) ?? 'count';
  return {
    name,
    type: whole ? 'int' : 'float',
    unit,
    kind: COUNTS.test(metric) ? 'counter' : 'gauge',
    help: `${metric}, as it was stored.`,
    ...(whole ? {} : { exact: true as const }),
  };
}
