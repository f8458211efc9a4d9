import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { shownAddress } from '../../base/address.ts';
import { Fault } from '../../base/fault.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { partName } from '../../recording/folder/part-name.ts';
import { readTable } from '../../recording/read/read.ts';
import { packCsv } from '../../recording/sealed/packed-csv.ts';
import type { Table } from '../../table/table.ts';
import { unreachableText } from '../../trust/connection-text.ts';
import { spoolStreams } from '../spool/streams.ts';
import { VictoriaLink } from './link.ts';
import { VictoriaSink } from './sink.ts';

export interface PushOptions {
  /** A process has series once it has used so much CPU time. */
  processCpuSeconds?: number;
  /** How long the store is waited for, in seconds. */
  limitSeconds?: number;
}

export interface Pushed {
  nodes: number;
  tables: number;
  rows: number;
}

/**
 * Sends a recording that has ended to a VictoriaMetrics, as its agents would have done while it was made: the files are laid
 * out as they were then, and the sink of agents takes them.
 */
export async function pushRecording(recording: Recording, url: string, options: PushOptions = {}): Promise<Pushed> {
  await needStore(recording, url);
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-push-'));
  try {
    const folder = path.join(spool, 'recording');
    fs.mkdirSync(folder, { mode: 0o700 });
    const pushed: Pushed = { nodes: recording.nodes.length, tables: 0, rows: 0 };
    for (const node of recording.nodes) layOut(folder, node, recording, pushed);
    fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(recording.job));
    const { processCpuSeconds = 1, limitSeconds = 600 } = options;
    const sink = new VictoriaSink({ url, spool, streams: spoolStreams(spool), processCpuSeconds, settleSeconds: 0 });
    await sink.close(limitSeconds);
    if (sink.trouble !== undefined) throw new Fault(`cannot push ${recording.path}: ${sink.trouble}`);
    return pushed;
  } finally {
    fs.rmSync(spool, { recursive: true, force: true });
  }
}

/** Agents wait for a store that is away; whoever pushes by hand wants to know at once. */
async function needStore({ path: from }: Recording, url: string): Promise<void> {
  const link = new VictoriaLink(url);
  try {
    await link.ready();
  } catch (error) {
    throw new Fault(`cannot push ${from}: ${shownAddress(url)}: ${unreachableText(error)}`, {
      hint: 'is it the address of a VictoriaMetrics, e.g. http://localhost:8428?',
    });
  } finally {
    link.close();
  }
}

function layOut(folder: string, node: NodeRecording, { path: from, job }: Recording, pushed: Pushed): void {
  if (node.agent === undefined)
    throw new Fault(`cannot push ${from}: ${node.name} has no agent.json that can be read`, {
      hint: `tacho verify ${from} says more`,
    });
  const target = path.join(folder, nodeFolder(node.name));
  fs.mkdirSync(target, { mode: 0o700 });
  const tables: Table[] = [];
  for (const name of node.tables.keys()) {
    const batch = readTable(node, name);
    if (batch.rows === 0) continue;
    fs.writeFileSync(path.join(target, `${partName(name, 1)}.zst`), packCsv(batch));
    tables.push(batch.table);
    pushed.tables++;
    pushed.rows += batch.rows;
  }
  const { last_sample } = node.agent;
  const agent = { ...node.agent, tables, end: node.agent.end ?? job.end ?? last_sample };
  fs.writeFileSync(path.join(target, 'agent.json'), JSON.stringify(agent));
}
