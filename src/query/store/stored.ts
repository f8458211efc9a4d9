import type { NodeRecording } from '../../recording/folder/open.ts';
import type { Marker } from '../../recording/read/markers.ts';
import type { TableStatistics } from '../../recording/sealed/statistics.ts';
import { infoName } from '../../table/names.ts';
import type { Table } from '../../table/table.ts';
import type { NodeSummary, SummariseOptions } from '../summarise.ts';
import { keysOf, textsOf } from './columns.ts';
import { reach } from './edges.ts';
import { type Asked, askTable } from './questions.ts';
import type { StoredJob } from './records.ts';
import { chunks, duration, selector } from './selector.ts';
import { statisticsOf, type ToldTexts } from './statistics.ts';

/** So many nodes are asked for at once: answers stay small enough to hold. */
const NODES_AT_ONCE = 32;

/** What every series of every table showed, by queries: `summarise` for a job in a store. */
export async function summariseStored(
  { store, owner, recording, from, to }: StoredJob,
  nodes: readonly NodeRecording[],
  options: SummariseOptions = {},
): Promise<NodeSummary[]> {
  const found = nodes.map((node): NodeSummary => ({ node, tables: new Map<string, TableStatistics>(), damage: [] }));
  const { interval_seconds } = recording.job;
  for (const some of chunks(found, NODES_AT_ONCE)) {
    for (const { table, every, members } of tablesOf(some, options.tables)) {
      const asked: Asked = {
        store,
        owner,
        nodes: members.map(({ node }) => node.name),
        table,
        every: Math.round(Math.max(every ?? 0, interval_seconds > 0 ? interval_seconds : 1) * 1000),
        from: options.from === undefined ? from : Math.max(from, Math.floor(options.from / 1000)),
        to: options.to === undefined ? to : Math.min(to, Math.floor(options.to / 1000)),
        confined: options.from !== undefined || options.to !== undefined,
      };
      if (asked.to < asked.from) continue;
      await addTable(asked, members);
    }
  }
  return found;
}

interface Asking {
  table: Table;
  every?: number;
  /** The nodes that have the table so. */
  members: NodeSummary[];
}

/** The tables of some nodes; nodes that describe a table alike are asked together. */
function tablesOf(nodes: readonly NodeSummary[], wanted: readonly string[] | undefined): Asking[] {
  const groups = new Map<string, Asking>();
  for (const summary of nodes) {
    for (const { every, ...table } of summary.node.agent?.tables ?? []) {
      if (table.events === true || (wanted !== undefined && !wanted.includes(table.name))) continue;
      const key = JSON.stringify([table.name, every, table.sparse, table.keys, table.columns]);
      const group = groups.get(key);
      if (group === undefined)
        groups.set(key, { table, members: [summary], ...(every === undefined ? {} : { every }) });
      else group.members.push(summary);
    }
  }
  return [...groups.values()];
}

async function addTable(asked: Asked, members: readonly NodeSummary[]): Promise<void> {
  const [told, infos] = await Promise.all([askTable(asked), askTexts(asked)]);
  const byNode = Map.groupBy(told, ({ labels }) => labels.node ?? '');
  for (const { node, tables } of members) {
    const own = infos.filter((info) => info.node === node.name);
    const statistics = statisticsOf(asked, byNode.get(node.name) ?? [], own, node.agent?.start);
    if (statistics !== undefined) tables.set(asked.table.name, statistics);
  }
}

async function askTexts(asked: Asked): Promise<(ToldTexts & { node: string })[]> {
  const { store, table, owner, nodes, from, to } = asked;
  if (!table.columns.some((column) => column.type === 'text')) return [];
  const series = selector({ ...owner, names: [infoName(table)], nodes });
  // a short part may have no sample of its own
  const back = asked.confined ? reach(asked) : 0;
  const found = await store.query(`tlast_over_time(${series}[${duration(to - from + 1 + back)}])`, to);
  return found.map(({ labels, value }) => ({
    node: labels.node ?? '',
    keys: keysOf(table, labels),
    texts: textsOf(table, labels),
    time: value,
  }));
}

/** The markers of a job: they are few, and each of them counts. */
export async function storedMarkers({ store, owner, recording, from, to }: StoredJob): Promise<Marker[]> {
  const nodes = recording.nodes.map((node) => node.name);
  const names = ['tacho_marker_phase', 'tacho_marker_fom'];
  const series = selector({ ...owner, names, nodes });
  const markers: Marker[] = [];
  for await (const { labels, values, times } of store.samples(series, from, to)) {
    const fom = labels.__name__ === 'tacho_marker_fom';
    times.forEach((time, i) => {
      markers.push({
        time: time * 1000,
        node: labels.node ?? '',
        action: fom ? 'fom' : values[i]! > 0 ? 'begin' : 'end',
        name: labels.name ?? '',
        ...(fom ? { value: String(values[i]) } : {}),
      });
    });
  }
  return markers.sort((a, b) => a.time - b.time || ORDER.indexOf(a.action) - ORDER.indexOf(b.action));
}

/** In the same millisecond one phase ends before the next begins. */
const ORDER: readonly Marker['action'][] = ['fom', 'end', 'begin'];
