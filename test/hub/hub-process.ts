import { type ChildProcess, spawn } from 'node:child_process';
import * as http from 'node:http';
import type { TestContext } from 'node:test';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import { packAppend } from '../../src/sinks/hub/body.ts';
import {
  type AppendReply,
  type OpenReply,
  type OpenRequest,
  PROTOCOL,
  type RecordReply,
  type RecordRequest,
  type SessionReply,
  type TableBytes,
} from '../../src/sinks/hub/protocol.ts';
import { agentOf as recordedAgent, jobOf as recordedJob } from '../make-recording.ts';
import { TACHO } from '../tacho.ts';

/** A hub in a process of its own, on a free port of loopback. */
export interface HubProcess {
  readonly address: string;
  readonly child: ChildProcess;
  /** What it has said so far. */
  outputText(): string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export async function startHubProcess(
  t: TestContext,
  archive: string,
  args: readonly string[] = [],
): Promise<HubProcess> {
  const child = spawn(TACHO, ['hub', '--listen', '127.0.0.1:0', '--archive', archive, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const kill = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  t.after(() => kill('SIGKILL'));
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const match = /https?:\/\/[^ ,]+/.exec(output);
      if (match !== null) resolve(match[0]);
    });
    child.once('close', () => reject(new Error(`the hub has ended: ${output}`)));
  });
  return { address, child, outputText: () => output, kill };
}

export interface Answer<T> {
  status: number;
  body: T & { error?: string };
}

/** One agent's connection to a hub. */
export class Client {
  private readonly address: string;
  private authorization: string | undefined;
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  constructor(address: string) {
    this.address = address;
  }

  /** Proves who it is. */
  async begin(authorization: string, node?: string): Promise<Answer<SessionReply>> {
    this.authorization = authorization;
    const reply = await this.post<SessionReply>('/v1/session', Buffer.from(JSON.stringify({ node })));
    this.authorization = `Bearer ${reply.body.session}`;
    return reply;
  }

  post<T>(path: string, body: Buffer): Promise<Answer<T>> {
    return new Promise((resolve, reject) => {
      const headers: http.OutgoingHttpHeaders = { 'content-length': body.length };
      if (this.authorization !== undefined) headers.authorization = this.authorization;
      const request = http.request(this.address + path, { method: 'POST', agent: this.agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  open(request: Partial<OpenRequest> & Pick<OpenRequest, 'node' | 'job'>): Promise<Answer<OpenReply>> {
    const whole = { protocol: PROTOCOL, kind: 'job', agent: agentOf(request.node), ...request };
    return this.post('/v1/open', Buffer.from(JSON.stringify(whole)));
  }

  append(...tableLines: [stream: number, table: string, part: number, from: number, text: string][]) {
    const list = tableLines.map(
      ([stream, table, filePart, from, text]): TableBytes => [stream, table, filePart, from, text.length],
    );
    const bytes = tableLines.map(([, , , , text]) => Buffer.from(text));
    return this.post<AppendReply>('/v1/append', packAppend(list, bytes));
  }

  record(request: RecordRequest): Promise<Answer<RecordReply>> {
    return this.post('/v1/record', Buffer.from(JSON.stringify(request)));
  }

  close(): void {
    this.agent.destroy();
  }
}

export const BEGAN = 1_800_000_000_000_000;

export function jobOf(id: string, nodes: readonly string[], facts: Partial<Job> = {}): Job {
  const { end: _, ...running } = recordedJob({ id, name: 'simulate', user: 'nobody', uid: 65534, nodes: [...nodes] });
  return { ...running, start: BEGAN, state: 'running', ...facts };
}

export function agentOf(node: string, facts: Partial<AgentRecord> = {}): AgentRecord {
  const { end: _, end_reason: __, ...running } = recordedAgent(node, []);
  return { ...running, start: BEGAN, scope: { members: 'cgroup' }, ticks: 0, ...facts };
}

export const HEADER = 'time,load1\n';
/** Rows of the table loadavg, one a second. */
export const rows = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `${BEGAN + (from + i) * 1e6},${((from + i) % 100) / 10}\n`).join('');
