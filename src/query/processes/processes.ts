import { count } from '../../base/figure.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import type { BatchOf } from '../../recording/read/batch.ts';
import type { Damage } from '../../recording/read/csv-read.ts';
import { lastAlive, processInterval, recordingBegan } from '../../recording/read/process-part.ts';
import { readDefined } from '../../recording/read/read.ts';
import type { SeriesOf } from '../../recording/sealed/statistics.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import type { NameIn, Table } from '../../table/table.ts';
import { summariseNode } from '../summarise.ts';
import { recordColumns, startColumns } from './columns.ts';
import { mergeProcesses } from './node-processes.ts';
import { SAMPLE_COLUMNS, type SampledProcess, samplesOfBatch, samplesOfStatistics } from './samples.ts';
import {
  joinColumns,
  makeColumns,
  type ProcessColumns,
  type ProcessJob,
  type ProcessSet,
  type ProcessSource,
} from './set.ts';
import { readThreads } from './threads.ts';
import { linkProcesses } from './tree.ts';

/** All processes of the recordings, with their tree. */
export function readProcesses(
  recordings: readonly Recording[],
  damaged?: Damaged,
  asRecorded?: AsRecorded,
): ProcessSet {
  return linkProcesses(readColumns(recordings, { damaged, asRecorded }));
}

/** Told of nodes whose processes are their end records, each one with the figures of its own. */
export type AsRecorded = (node: NodeRecording) => void;

/** Told of what could not be read. */
export type Damaged = (node: NodeRecording, damage: Damage & { table: string }) => void;

/** What seal left of sampled processes, or what was computed in its place, by the node's name. */
type Sampled = (node: string) => readonly SeriesOf<typeof processTable>[];

interface Options {
  /** Only these columns, and what every process has. */
  wanted?: readonly string[] | undefined;
  damaged?: Damaged | undefined;
  /** What sampling saw, where somebody has it already. */
  sampled?: Sampled;
  asRecorded?: AsRecorded | undefined;
}

/** Recordings as a place where processes come from. */
export function recordingsSource(recordings: readonly Recording[]): ProcessSource {
  return {
    processes: async (wanted) => readColumns(recordings, { wanted }),
    threads: async (process) => readThreads(recordings[process.job]!, process),
  };
}

/** All processes of the recordings as columns. */
export function readColumns(recordings: readonly Recording[], options: Options = {}): ProcessColumns {
  const columnSets = recordings.flatMap((recording) => {
    const job = processJob(recording.job, recording.path);
    // a job without nodes is still one of the jobs
    const none = { ...makeColumns(0, [], [job]), troubles: [...recording.troubles] };
    return [none, ...recording.nodes.map((node) => readNode(node, job, recording.job, options))];
  });
  return joinColumns(columnSets);
}

/** Tables of what processes recorded of themselves. */
export const RECORDS: readonly string[] = [processEndTable.name, processStartTable.name];

/** The processes of a recording whose processes recorded themselves, or were to, else undefined. */
export function recordedProcesses(recording: Recording, sampled: Sampled, damaged?: Damaged): ProcessSet | undefined {
  const hasRecords = recording.nodes.some((node) => RECORDS.some((table) => node.tables.has(table)));
  // a job of programs that cannot record themselves was to be recorded all the same
  if (!hasRecords && (recording.job.process_records === undefined || recording.nodes.length === 0)) return undefined;
  return linkProcesses(readColumns([recording], { sampled, damaged }));
}

/** The processes that sampling saw, from statistics alone: all that is known of a job in a store. */
export function sampledProcesses(recording: Recording, sampled: Sampled): ProcessColumns {
  const nodes = recording.nodes.map((node) => ({ ...node, tables: new Map() }));
  return readColumns([{ ...recording, nodes }], { sampled });
}

/** What sampling saw of the processes of one node. */
interface NodeSeries {
  node: string;
  agent: NodeRecording['agent'];
  series: readonly SeriesOf<typeof processTable>[];
}

/** The same with their tree, of whoever has the statistics and no recording. */
export function sampledSet(facts: Job, origin: string, nodes: readonly NodeSeries[]): ProcessSet {
  const job = processJob(facts, origin);
  const columnSets = nodes.map(({ node, agent, series }) => {
    const interval = processInterval(agent, facts);
    const samples = samplesOfStatistics(series, recordingBegan(agent, job), interval);
    const users = usersOf(facts, samples);
    return mergeProcesses({ job, node, samples, users, ends: undefined, starts: undefined });
  });
  return linkProcesses(joinColumns([makeColumns(0, [], [job]), ...columnSets]));
}

export function processJob(job: Job, origin: string): ProcessJob {
  return {
    id: job.id,
    name: job.name,
    user: job.user,
    nodes: job.nodes,
    start: job.start,
    end: job.end ?? Number.NaN,
    state: job.state,
    ...(job.exit_code === undefined ? {} : { exit_code: job.exit_code }),
    tags: job.tags,
    origin,
  };
}

function readNode(node: NodeRecording, job: ProcessJob, facts: Job, options: Options): ProcessColumns {
  const { wanted, damaged, sampled } = options;
  const troubles: string[] = [];
  const reportDamage = (damage: Damage, table: string): void => {
    troubles.push(damageText(damage));
    damaged?.(node, { ...damage, table });
  };
  const read = <T extends Table>(table: T, columns?: readonly NameIn<T>[]): BatchOf<T> | undefined => {
    if (!node.tables.has(table.name)) return undefined;
    const batch = readDefined(node, table, columns === undefined ? {} : { columns });
    for (const damage of batch.damage) reportDamage(damage, table.name);
    return batch;
  };
  const began = recordingBegan(node.agent, job);
  const samplesOf = (all: readonly SeriesOf<typeof processTable>[]): SampledProcess[] =>
    samplesOfStatistics(all, began, processInterval(node.agent, facts));
  const readSamples = (): SampledProcess[] => {
    let ticked: { end: number | undefined } | undefined;
    const lastTick = (): number | undefined => {
      ticked ??= { end: summariseNode(node, { tables: [agentTable.name] }).tables.get(agentTable.name)?.end };
      return ticked.end;
    };
    const sealed = sealedSeries(node, reportDamage)?.map((series) => ({
      ...series,
      end: lastAlive(series.texts.state, series.end, lastTick),
    }));
    if (sealed !== undefined) return samplesOf(sealed);
    const rows = read(processTable, SAMPLE_COLUMNS);
    return rows === undefined ? [] : samplesOfBatch(rows, began, lastTick);
  };
  const samples = sampled === undefined ? readSamples() : samplesOf(sampled(node.name));
  const ends = read(processEndTable, wanted && recordColumns(wanted));
  const starts = read(processStartTable, wanted && startColumns(wanted));
  const users = usersOf(facts, samples);
  const asRecorded = (): void => options.asRecorded?.(node);
  return { ...mergeProcesses({ job, node: node.name, samples, users, ends, starts, asRecorded }), troubles };
}

/** What seal left of the samples of each process; undefined when there is more than that, or it leaves processes out. */
function sealedSeries(
  node: NodeRecording,
  reportDamage: (damage: Damage, table: string) => void,
): readonly SeriesOf<typeof processTable>[] | undefined {
  const { name } = processTable;
  const files = node.tables.get(name);
  if (files?.statistics === undefined || files.parts.length > 0) return undefined;
  const { tables, damage } = summariseNode(node, { tables: [name] });
  const sampled = tables.get(name);
  if (sampled === undefined || sampled.series.length < sampled.series_total) return undefined;
  for (const each of damage) reportDamage(each, name);
  return sampled.series;
}

/** Records have user ids; names are known from the job and from sampling. */
function usersOf(job: Job, samples: readonly SampledProcess[]): Map<number, string> {
  const users = new Map<number, string>();
  for (const { uid, user } of samples) if (user !== '' && !Number.isNaN(uid)) users.set(uid, user);
  if (job.uid >= 0 && job.user !== '') users.set(job.uid, job.user);
  return users;
}

export function damageText(damage: Damage): string {
  if (damage.unreadable !== undefined) return `${damage.file}: ${damage.unreadable}`;
  if (damage.lost_columns !== undefined)
    return `${damage.file}: ${damage.lost_columns.join(', ')} cannot be read, the other columns can`;
  if (damage.bad_lines > 0) {
    const [first] = damage.first_bad;
    const line = first?.line === undefined ? '' : `line ${first.line}: `;
    const where = first === undefined ? '' : `, the first is ${line}${first.why}`;
    return `${damage.file}: ${count(damage.bad_lines, 'line')} could not be read${where}`;
  }
  if (damage.lost_header) return `${damage.file}: its header is lost; read with the columns that agent.json has`;
  return `${damage.file}: the last line is torn and was left out`;
}
