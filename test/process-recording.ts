import * as fs from 'node:fs';
import * as path from 'node:path';
import { stated } from '../src/base/stated.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { nodeFolder } from '../src/recording/folder/node-folder.ts';
import { processEndTable, processStartTable, threadEndTable } from '../src/sources/records/tables.ts';
import type { Table } from '../src/table/table.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from './make-recording.ts';

/** A process as it is put into a recording. Times are seconds after START; what is not said is usual. */
export interface GivenProcess {
  pid: number;
  ppid?: number;
  start?: number;
  /** Missing: it left no record of its end. */
  end?: number;
  exename?: string;
  argv0?: string;
  step?: string;
  /** Of a parallel program: which, of how many, and what its launcher calls them. */
  rank?: number;
  ranks?: number;
  world?: string;
  args?: string;
  tags?: string;
  /** CPU seconds, half of them in the kernel. */
  cpu?: number;
  exitcode?: number;
  /** It became another program, which is the next with its pid. */
  execs?: true;
  /** One row for each: CPU seconds. */
  threads?: readonly number[];
  metrics?: Readonly<Record<string, number>>;
}

const microseconds = (seconds: number): number => START + Math.round(seconds * 1e6);

/** A recording of a job whose processes have recorded themselves, node by node. Returns its folder. */
export async function makeProcessRecording(
  nodes: Readonly<Record<string, readonly GivenProcess[]>>,
  job: Partial<Job> = {},
  folder = path.join(temporary(), `tacho-${job.id ?? '17'}`),
): Promise<string> {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: Object.keys(nodes), ...job })));
  for (const [node, processes] of Object.entries(nodes)) {
    const nodePath = path.join(folder, nodeFolder(node));
    const extra = [...new Set(processes.flatMap(({ metrics }) => Object.keys(metrics ?? {})))];
    const end = withColumns(processEndTable, extra);
    const thread = withColumns(threadEndTable, extra);
    await append(nodePath, processStartTable, processes.map(startRow));
    await append(nodePath, end, processes.filter((one) => one.end !== undefined).map(endRow));
    await append(nodePath, thread, processes.flatMap(threadRows));
    fs.writeFileSync(
      path.join(nodePath, 'agent.json'),
      JSON.stringify(agentOf(node, [processStartTable, end, thread], { interval_seconds: 1 })),
    );
  }
  return folder;
}

async function append(nodePath: string, table: Table, rows: readonly Row[]): Promise<void> {
  await appendRows(
    nodePath,
    table,
    rows.toSorted((a, b) => a.time - b.time),
  );
}

function withColumns(table: Table, names: readonly string[]): Table {
  const columnNames = new Set(table.columns.map(({ name }) => name));
  const more = names.filter((name) => !columnNames.has(name));
  const columns = more.map((name) => ({ name, type: 'int', unit: 'count', kind: 'gauge', help: '' }) as const);
  return { ...table, columns: [...table.columns, ...columns] };
}

function startRow(one: GivenProcess): Row {
  const start = microseconds(one.start ?? 0);
  return {
    time: start,
    pid: String(one.pid),
    start: String(start),
    ppid: one.ppid ?? 1,
    pgid: one.pid,
    sid: 1,
    uid: 1000,
    exename: one.exename ?? 'program',
    argv0: one.argv0 ?? '',
    step: one.step ?? '',
    ...(one.rank === undefined ? {} : { rank: String(one.rank) }),
    ...stated({ ranks: one.ranks, world: one.world }),
    path: `/usr/bin/${one.exename ?? 'program'}`,
    args: one.args ?? '',
    tags: one.tags ?? '',
    directory: '/home/ada',
  };
}

function endRow(one: GivenProcess): Row {
  const cpu = Math.round((one.cpu ?? 0.1) * 1e6);
  return {
    ...startRow(one),
    time: microseconds(one.end!),
    ended: one.execs ? 'exec' : 'exit',
    ...(one.execs ? {} : { exitcode: one.exitcode ?? 0 }),
    exitsignal: 0,
    numtids: one.threads?.length ?? 1,
    usertime: cpu - Math.floor(cpu / 2),
    systemtime: Math.floor(cpu / 2),
    rssmax: 1000 + one.pid,
    rchar: one.pid * 10,
    ...one.metrics,
  };
}

function threadRows(one: GivenProcess): Row[] {
  const { pid, start = 0, end } = one;
  if (end === undefined) return [];
  return (one.threads ?? [one.cpu ?? 0.1]).map((cpu, k) => ({
    time: microseconds(end) - k,
    pid: String(pid),
    start: String(microseconds(start)),
    tid: String(pid + k),
    thread_start: microseconds(start) + k,
    ended: 'end',
    usertime: Math.round(cpu * 1e6),
    systemtime: 0,
    ...one.metrics,
  }));
}
