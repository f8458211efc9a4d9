import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import { FORMAT, type Job } from '../../src/recording/folder/job.ts';
import { nodeFolder } from '../../src/recording/folder/node-folder.ts';
import { replaceJson } from '../../src/recording/folder/replace.ts';
import { Frame } from '../../src/table/frame.ts';
import { gauge, type Table, text } from '../../src/table/table.ts';

/** For tests: a table whose rows can be told apart. */
export const COUNTED: Table = {
  name: 'counted',
  help: 'For tests.',
  scope: 'node',
  keys: [{ name: 'who', help: 'Which writer.' }],
  columns: [gauge('n', 'count', 'Number of the row.'), text('label', 'Words.')],
};

export function testJob(id: string, more: Partial<Job> = {}): Job {
  return {
    format: FORMAT,
    tacho: '0.0.0',
    id,
    scheduler: 'none',
    name: 'test',
    user: 'ada',
    uid: process.getuid?.() ?? 0,
    asked: {},
    nodes: ['c1'],
    interval_seconds: 1,
    start: 1_700_000_000_000_000,
    state: 'running',
    tags: {},
    environment: {},
    ...more,
  };
}

export function testAgent(node: string, more: Partial<AgentRecord> = {}): AgentRecord {
  return {
    format: FORMAT,
    tacho: '0.0.0',
    node,
    pid: process.pid,
    interval_seconds: 1,
    start: Date.now() * 1000,
    facts: { hostname: node, kernel: '', architecture: 'x64', cpus: 4, memory_bytes: 2 ** 34, gpus: [] } as never,
    scope: { members: 'test' },
    tables: [COUNTED],
    unmeasured: [],
    ticks: 0,
    late_ticks: 0,
    missed_ticks: 0,
    cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: 0 },
    ...more,
  };
}

/** Makes SPOOL/<recording>/node=<n>/ with job.json and agent.json; returns the node's folder. */
export function testRecording(spool: string, name: string, job: Job, agent: AgentRecord): string {
  const folder = path.join(spool, name, nodeFolder(agent.node));
  fs.mkdirSync(folder, { recursive: true });
  replaceJson(path.join(spool, name, 'job.json'), job);
  replaceJson(path.join(folder, 'agent.json'), agent);
  return folder;
}

/** A frame of `COUNTED` with rows `from` to `to` (not included). */
export function countedRows(who: string, from: number, to: number, time = from * 1e6): Frame {
  const frame = new Frame(COUNTED);
  frame.clear(time);
  for (let n = from; n < to; n++) {
    const r = frame.row();
    frame.texts[r * frame.textWidth] = who;
    frame.texts[r * frame.textWidth + 1] = n % 5 === 0 ? 'two\nlines' : `row ${n}`;
    frame.numbers[r * frame.numberWidth] = n;
  }
  return frame;
}
