import type { NodeRecording, Recording, TableInMemory } from '../../recording/folder/open.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { samplingOf } from '../../recording/read/read.ts';
import { TableRows } from '../../recording/read/table-rows.ts';
import { measure } from '../../recording/sealed/measure.ts';
import { infoName } from '../../table/names.ts';
import type { Table } from '../../table/table.ts';
import type { WantedColumns } from '../summarise.ts';
import { columnsByMetric, keysOf, sampleOf, textsOf } from './columns.ts';
import { markerBatch } from './marker-rows.ts';
import { storedMarkers } from './markers.ts';
import type { StoredJob } from './records.ts';
import { chunks, selector } from './selector.ts';

/** Number of nodes in one request: the store's answer stays small enough to hold. */
const NODES_AT_ONCE = 4;

export interface DownloadOptions {
  /** Only these tables. */
  tables?: readonly string[];
  /** Keep all rows, where parts of the job are asked for, or these columns of them; else their statistics are enough. */
  rows?: true | WantedColumns;
}

/** A job in a store as a recording in memory: everything that is asked of files can be asked of it. */
export async function downloadJob(stored: StoredJob, { tables, rows }: DownloadOptions): Promise<Recording> {
  const markers = await storedMarkers(stored);
  const nodes = stored.recording.nodes.map((node) => {
    const memory = new Map<string, TableInMemory>();
    const own = markers.filter((marker) => marker.node === node.name);
    const held: NodeRecording & { memory: typeof memory } = { ...node, tables: new Map(), memory };
    if (own.length > 0) hold(held, markerBatch(own), true);
    return held;
  });
  for (const { table, members } of tablesOf(nodes, tables))
    for (const some of chunks(members, NODES_AT_ONCE))
      for (const [node, batch] of await storedTable(stored, some, table)) hold(node, batch, rows);
  return { ...stored.recording, nodes };
}

type MemoryNode = NodeRecording & { memory: Map<string, TableInMemory> };

function hold({ memory, ...node }: MemoryNode, batch: Batch, rows: DownloadOptions['rows']): void {
  const { name } = batch.table;
  const columns = rows === true ? [...batch.numbers.keys()] : rows?.get(name);
  const statistics = measure({ ...batch, ...samplingOf(node, name) });
  const numbers = new Map([...batch.numbers].filter(([column]) => columns?.includes(column)));
  memory.set(name, columns === undefined ? { statistics } : { statistics, rows: { ...batch, numbers } });
  node.tables.set(name, { parts: [] });
}

/** The tables of some nodes; nodes that describe a table alike are asked together. */
function tablesOf<N extends NodeRecording>(
  nodes: readonly N[],
  wanted: readonly string[] | undefined,
): { table: Table; members: N[] }[] {
  const groups = new Map<string, { table: Table; members: N[] }>();
  for (const node of nodes) {
    for (const { every: _, ...table } of node.agent?.tables ?? []) {
      if (table.events === true || (wanted !== undefined && !wanted.includes(table.name))) continue;
      const key = JSON.stringify([table.name, table.sparse, table.keys, table.columns]);
      const group = groups.get(key) ?? { table, members: [] };
      groups.set(key, group);
      group.members.push(node);
    }
  }
  return [...groups.values()];
}

/** All rows of a table of some nodes; those without any are left out. */
export async function storedTable<N extends NodeRecording>(
  { store, owner, from, to }: StoredJob,
  nodes: readonly N[],
  table: Table,
): Promise<Map<N, Batch>> {
  const columns = columnsByMetric(table);
  const info = infoName(table);
  const names = [...columns.keys(), ...(table.columns.some(({ type }) => type === 'text') ? [info] : [])];
  const members = new Map(nodes.map((node) => [node.name, { node, rows: new TableRows(table) }]));
  const series = selector({ ...owner, names, nodes: [...members.keys()] });
  for await (const { labels, values, times } of store.samples(series, from, to)) {
    const rows = members.get(labels.node ?? '')?.rows;
    if (rows === undefined) continue;
    const keys = keysOf(table, labels);
    const column = columns.get(labels.__name__ ?? '');
    if (labels.__name__ === info) {
      const texts = textsOf(table, labels);
      for (const time of times) rows.say(keys, { time, texts });
    } else if (column !== undefined)
      rows.add(keys, column.name, { times, values: values.map((value) => sampleOf(column, value)) });
  }
  const filledTables = [...members.values()].filter(({ rows }) => rows.columns().size > 0);
  return new Map(filledTables.map(({ node, rows }) => [node, rows.batch()]));
}
