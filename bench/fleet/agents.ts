import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import { packAppend } from '../../src/sinks/hub/body.ts';
import type { AppendReply, OpenReply, TableBytes } from '../../src/sinks/hub/protocol.ts';
import type { Recorded, RecordedTable } from './ticks.ts';

/** Simulated agents: each has a connection of its own and sends what ticks of a real one have, as often as the hub asks. */

export interface FleetOptions {
  /** What the agents send. */
  recorded: Recorded;
  address: string;
  nodes: number;
  /** How long, after all have opened their recordings. */
  seconds: number;
  /** So long they send before that; what is sent then counts for nothing. */
  warmSeconds?: number;
  interval?: number;
  /** One job a node, or one of all nodes. */
  jobs?: 'each' | 'one';
  user?: { name: string; uid: number };
  /** Called when all have opened theirs and when the time is over. */
  begun?(): void;
  over?(): void;
}

export interface FleetResult {
  requests: number;
  /** Ticks of all nodes: what a node and second costs is a share of them. */
  ticks: number;
  /** Samples (rows) and bytes of CSV that were sent, and bytes that the hub says it has. */
  rows: number;
  sentBytes: number;
  storedBytes: number;
  /** All that a recording has, from its header on. */
  totalBytes: number;
  /** Bytes of requests and answers, with their heads. */
  wireBytes: number;
  /** From request to answer, in milliseconds. */
  median: number;
  p99: number;
  /** Batches that could not be sent when they were due because the one before was not answered. */
  behind: number;
  /** Seconds for which the hub let agents collect samples, at the end. */
  batch: number;
}

class SimulatedAgent {
  stored = 0;
  sent = 0;
  rows = 0;
  requests = 0;
  ticks = 0;
  batch = 0;
  behind = 0;
  wire = 0;
  readonly latencies: number[];
  private readonly socket: net.Socket;
  private readonly host: string;
  private readonly tables: (RecordedTable & { bytes: number; waiting: string })[];
  private readonly phase: number;
  private readonly record: AgentRecord;
  private at: number;
  private stream = 0;
  private waiting: ((body: string) => void) | undefined;
  private text = '';

  constructor(address: URL, latencies: number[], recorded: Recorded, first: number) {
    this.host = address.host;
    this.latencies = latencies;
    this.socket = net.connect({ host: address.hostname, port: Number(address.port), noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (chunk: string) => this.take(chunk));
    this.socket.on('error', (error) => {
      throw error;
    });
    this.record = recorded.agent;
    this.at = first % recorded.ticks;
    this.phase = first;
    this.tables = recorded.tables.map((table) => ({ ...table, bytes: 0, waiting: '' }));
  }

  async open(node: string, options: FleetOptions, job: string, nodes: readonly string[]): Promise<void> {
    const { name, uid } = options.user ?? { name: os.userInfo().username, uid: os.userInfo().uid };
    const now = Date.now() * 1000;
    const request = {
      protocol: 1,
      node,
      kind: 'job',
      job: {
        format: 1,
        tacho: '0.1.0',
        id: job,
        scheduler: 'slurm',
        name: 'simulated',
        user: name,
        uid,
        asked: {},
        nodes,
        interval_seconds: options.interval ?? 1,
        start: now,
        state: 'running',
        tags: {},
        environment: {},
      },
      agent: { ...this.record, node, start: now },
    };
    const reply = JSON.parse(await this.ask('/v1/open', Buffer.from(JSON.stringify(request)))) as OpenReply;
    this.stream = reply.stream;
    for (const table of this.tables) table.bytes = reply.tables[table.name]?.bytes ?? 0;
  }

  /** Takes one tick's samples, and sends what has been collected when that is due. */
  tick(time: number): void {
    this.ticks++;
    for (const table of this.tables) {
      const rows = table.ticks[this.at % table.ticks.length]!;
      for (const row of rows) table.waiting += `${time}${row}\n`;
      this.rows += rows.length;
    }
    this.at++;
    if (this.batch > 1 && (this.at + this.phase) % Math.round(this.batch) !== 0) return;
    if (this.waiting === undefined) this.send();
    else this.behind++;
  }

  /** What was collected; nothing while the last is not answered. */
  send(): void {
    const tableRuns: TableBytes[] = [];
    const bytes: Buffer[] = [];
    for (const table of this.tables) {
      const head = table.bytes === 0 ? `${table.header}\n` : '';
      const lines = Buffer.from(`${head}${table.waiting}`, 'latin1');
      table.waiting = '';
      if (lines.length === 0) continue;
      tableRuns.push([this.stream, table.name, 1, table.bytes, lines.length]);
      bytes.push(lines);
      this.sent += lines.length;
    }
    if (tableRuns.length === 0) return;
    const since = performance.now();
    this.requests++;
    void this.ask('/v1/append', packAppend(tableRuns, bytes)).then((text) => {
      this.latencies.push(performance.now() - since);
      const reply = JSON.parse(text) as AppendReply;
      this.batch = reply.batch ?? 0;
      for (const [, name, , have] of reply.have) {
        const table = this.tables.find((each) => each.name === name)!;
        this.stored += have - table.bytes;
        table.bytes = have;
      }
    });
  }

  get total(): number {
    return this.tables.reduce((sum, table) => sum + table.bytes, 0);
  }

  get idle(): boolean {
    return this.waiting === undefined;
  }

  close(): void {
    this.socket.destroy();
  }

  private ask(route: string, body: Buffer): Promise<string> {
    const head = `POST ${route} HTTP/1.1\r\nHost: ${this.host}\r\nContent-Length: ${body.length}\r\n\r\n`;
    this.socket.cork();
    this.socket.write(head, 'latin1');
    this.socket.write(body);
    this.socket.uncork();
    this.wire += head.length + body.length;
    return new Promise((resolve) => {
      this.waiting = resolve;
    });
  }

  private take(chunk: string): void {
    this.wire += chunk.length;
    this.text += chunk;
    const end = this.text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.text)?.[1]);
    if (this.text.length < end + 4 + length) return;
    const body = this.text.slice(end + 4, end + 4 + length);
    if (!this.text.startsWith('HTTP/1.1 200')) throw new Error(`the hub answers ${this.text.slice(0, 12)}: ${body}`);
    this.text = '';
    const done = this.waiting!;
    this.waiting = undefined;
    done(body);
  }
}

export async function simulateFleet(options: FleetOptions): Promise<FleetResult> {
  const { nodes: count, seconds, warmSeconds = 0, interval = 1, jobs = 'each' } = options;
  const address = new URL(options.address);
  const latencies: number[] = [];
  const names = Array.from({ length: count }, (_, i) => `n${i}`);
  const agents: SimulatedAgent[] = [];
  for (const [i, name] of names.entries()) {
    const agent = new SimulatedAgent(address, latencies, options.recorded, i * 7);
    agents.push(agent);
    await agent.open(name, options, jobs === 'one' ? '1' : String(i), jobs === 'one' ? names : [name]);
  }
  // the header and whatever happens once is not what a second costs
  for (const agent of agents) agent.tick(Date.now() * 1000);
  while (!agents.every((agent) => agent.idle)) await pause(10);
  await tickFor(agents, warmSeconds, interval);
  for (const agent of agents) agent.wire = agent.sent = agent.stored = agent.rows = agent.requests = agent.ticks = 0;
  latencies.length = 0;
  options.begun?.();
  await tickFor(agents, seconds, interval);
  options.over?.();
  const wireBytes = agents.reduce((total, agent) => total + agent.wire, 0);
  const requests = agents.reduce((total, agent) => total + agent.requests, 0);
  // what is still collected is not a second's cost, but must not be lost
  for (const agent of agents) agent.send();
  for (let i = 0; i < 1000 && !agents.every((agent) => agent.idle); i++) await pause(10);
  for (const agent of agents) agent.close();
  latencies.sort((a, b) => a - b);
  const sum = (pick: (agent: SimulatedAgent) => number): number => agents.reduce((total, a) => total + pick(a), 0);
  return {
    requests,
    ticks: sum((a) => a.ticks),
    batch: Math.max(...agents.map(({ batch }) => batch)),
    rows: sum((a) => a.rows),
    sentBytes: sum((a) => a.sent),
    storedBytes: sum((a) => a.stored),
    totalBytes: sum((a) => a.total),
    wireBytes,
    median: latencies[Math.floor(latencies.length / 2)] ?? Number.NaN,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    behind: sum((a) => a.behind),
  };
}

async function tickFor(agents: readonly SimulatedAgent[], seconds: number, interval: number): Promise<void> {
  const slices = 50;
  const begun = performance.now();
  // agents of real nodes do not all send in the same millisecond
  for (let slice = 0; slice < (seconds / interval) * slices; slice++) {
    const due = begun + (slice * interval * 1000) / slices;
    const late = due - performance.now();
    if (late > 0) await pause(late);
    for (let i = slice % slices; i < agents.length; i += slices) agents[i]!.tick(Date.now() * 1000);
  }
  for (let i = 0; i < 1000 && !agents.every((agent) => agent.idle); i++) await pause(10);
}

/** CPU seconds that a process has used, and its resident memory in bytes. */
export function costOf(pid: number): { cpu: number; memory: number } {
  const stat = fs
    .readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  const status = fs.readFileSync(`/proc/${pid}/status`, 'latin1');
  const memory = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1024;
  return { cpu: (Number(stat[11]) + Number(stat[12])) / 100, memory };
}
