import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after } from 'node:test';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { nodeFolder } from '../src/recording/folder/node-folder.ts';
import { jobInShort } from '../src/recording/folder/node-names.ts';
import { TableWriter, type WriterOptions } from '../src/recording/live/append.ts';
import { Frame } from '../src/table/frame.ts';
import { counter, gauge, type Table, text } from '../src/table/table.ts';

/** A table with one of everything. */
export const diskTable: Table = {
  name: 'disk',
  help: 'For tests.',
  scope: 'node',
  keys: [{ name: 'disk', help: 'Which.' }],
  columns: [
    counter('read_bytes', 'bytes', 'Bytes read.'),
    gauge('busy_percent', 'percent', 'Busy.', 'float', 2),
    gauge('queue', 'count', 'Waiting requests.'),
    text('model', 'Which make.'),
  ],
};

/** A table without keys. */
export const loadTable: Table = {
  name: 'load',
  help: 'For tests.',
  scope: 'node',
  keys: [],
  columns: [gauge('load1', 'count', 'Load.', 'float', 2)],
};

/** A row: time in epoch microseconds, then values by name; what is not named is missing. */
export type Row = { time: number } & Record<string, number | string>;

const folders: string[] = [];

/** A temporary folder that is gone after the tests of the file. */
export function temporary(below = os.tmpdir()): string {
  const made = fs.mkdtempSync(path.join(below, 'tacho-test-'));
  folders.push(made);
  return made;
}
after(() => {
  for (const made of folders) fs.rmSync(made, { recursive: true, force: true });
});

export function frameOf(table: Table, rows: readonly Row[]): Frame {
  const frame = new Frame(table);
  frame.clear(rows[0]?.time ?? 0);
  for (const row of rows) {
    const r = frame.row();
    for (const [name, value] of Object.entries(row)) {
      if (name === 'time') continue;
      if (typeof value === 'string') frame.texts[r * frame.textWidth + frame.text(name)] = value;
      else frame.numbers[r * frame.numberWidth + frame.number(name)] = value;
    }
  }
  return frame;
}

/** Appends rows as an agent would, one frame for each moment. */
export async function appendRows(
  folder: string,
  table: Table,
  rows: readonly Row[],
  options: WriterOptions & { rollEvery?: number } = {},
): Promise<void> {
  fs.mkdirSync(folder, { recursive: true });
  const writer = new TableWriter(folder, table, options);
  let ticks = 0;
  for (let i = 0; i < rows.length; ) {
    let end = i + 1;
    while (end < rows.length && rows[end]!.time === rows[i]!.time) end++;
    if (options.rollEvery !== undefined && ticks > 0 && ticks % options.rollEvery === 0) writer.roll();
    writer.append(frameOf(table, rows.slice(i, end)));
    ticks++;
    i = end;
  }
  await writer.close();
}

export const START = 1_794_775_752_000_000;

export function jobOf(changes: Partial<Job> = {}): Job {
  return {
    format: 1,
    tacho: '0.1.0',
    id: '17',
    scheduler: 'slurm',
    name: 'train',
    user: 'ada',
    uid: 1000,
    asked: {},
    nodes: ['c1'],
    interval_seconds: 1,
    start: START,
    end: START + 60e6,
    state: 'completed',
    tags: {},
    environment: {},
    ...changes,
  };
}

export function agentOf(node: string, tables: readonly Table[], changes: Partial<AgentRecord> = {}): AgentRecord {
  return {
    format: 1,
    tacho: '0.1.0',
    node,
    pid: 1,
    interval_seconds: 1,
    start: START,
    end: START + 60e6,
    end_reason: 'stopped',
    facts: { hostname: node, kernel: '6.1', architecture: 'x64', cpus: 4, memory_bytes: 2 ** 34, gpus: [] },
    scope: { members: 'tree' },
    tables: [...tables],
    unmeasured: [],
    ticks: 60,
    late_ticks: 0,
    missed_ticks: 0,
    cost: { cpu_seconds: 0.1, max_rss_bytes: 5e7, bytes_written: 1e4 },
    ...changes,
  };
}

/** `seconds` of two disks and the load on every node. */
export function diskRows(seconds: number, start = START): Row[] {
  const rows: Row[] = [];
  for (let t = 0; t < seconds; t++) {
    const time = start + t * 1e6 + (t % 7) * 11;
    rows.push({
      time,
      disk: 'sda',
      read_bytes: t * 4096,
      busy_percent: (t % 10) + 0.25,
      queue: t % 3,
      model: 'fast, "new"',
    });
    rows.push({ time, disk: 'nvme10', read_bytes: t * 1e6, busy_percent: 50, ...(t % 5 === 0 ? {} : { queue: 9 }) });
  }
  return rows;
}

/** A recording of a job with these nodes; returns its folder. */
export async function makeRecording(
  options: { folder?: string; nodes?: string[]; seconds?: number; rollEvery?: number; job?: Partial<Job> } = {},
): Promise<string> {
  const folder = options.folder ?? path.join(temporary(), 'tacho-17');
  fs.mkdirSync(folder, { recursive: true });
  const nodes = options.nodes ?? ['c1'];
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobInShort(jobOf({ nodes, ...options.job }))));
  for (const node of nodes) {
    const nodePath = path.join(folder, nodeFolder(node));
    const seconds = options.seconds ?? 60;
    const roll = options.rollEvery === undefined ? {} : { rollEvery: options.rollEvery };
    await appendRows(nodePath, diskTable, diskRows(seconds), roll);
    const loads = Array.from({ length: seconds }, (_, t): Row => ({ time: START + t * 1e6, load1: t / 4 }));
    await appendRows(nodePath, loadTable, loads, roll);
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf(node, [diskTable, loadTable])));
  }
  return folder;
}
