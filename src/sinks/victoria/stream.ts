import { type Fact, jobFacts, nodeFactSeries, omnistatJobLabels } from '../../prometheus/job-series.ts';
import { packRecord } from '../../prometheus/record-labels.ts';
import { factLabels, type Labels, recordingLabels } from '../../prometheus/series-labels.ts';
import { BEGINNING, type Position } from '../../recording/live/position.ts';
import { isOurs } from '../../recording/live/stream.ts';
import { Tail } from '../../recording/live/tail.ts';
import { agentTable } from '../../sources/own/agent.ts';
import type { StreamState } from '../spool/streams.ts';
import { type ImportBody, labelJson } from './body.ts';
import { type RowOptions, VictoriaRows } from './rows.ts';

const MINUTE = 60_000;
/** Bytes of a table that are read at once. */
const READ_BYTES = 256 << 10;

export interface StreamOptions extends RowOptions {
  /** Labels for every series. */
  labels?: Labels;
}

interface TableState {
  tail: Tail;
  rows: VictoriaRows;
  /** Taken over there, but perhaps not for good. */
  sent: Position;
  /** With what is being sent now. */
  next: Position;
}

/** What was sent of a stream in one request: its positions and the state of its records. */
export interface Sent {
  stream: VictoriaStream;
  tables: [string, Position][];
  records: string | undefined;
}

/** One stream on its way to VictoriaMetrics: its samples, what is known of the job and the node, and their records. */
export class VictoriaStream {
  state: StreamState;
  /** The records that are surely stored, as `recordsKey` names them. */
  sureRecords = '';
  private readonly options: StreamOptions;
  private readonly sure: (table: string) => Position | undefined;
  private readonly begun: ReadonlyMap<string, Position>;
  private readonly tables = new Map<string, TableState>();
  private sentRecords = '';
  private nextRecords: string | undefined;
  private minute = -1;
  /** The newest sample of the agent's own, in milliseconds. */
  private newest = 0;
  private series: { state: StreamState; facts: Fact[]; labels: Labels } | undefined;

  /** `sure`: what is stored for good of a table; `begun`: what was sent of it before, if that is more. */
  constructor(
    state: StreamState,
    options: StreamOptions,
    sure: (table: string) => Position | undefined,
    begun: ReadonlyMap<string, Position> = new Map(),
  ) {
    this.state = state;
    this.options = options;
    this.sure = sure;
    this.begun = begun;
  }

  /** Adds samples to the body until it is full, as much was read, or there are no more; true: there may be more. */
  collect(body: ImportBody, full: number): boolean {
    const { agent, parts, ended } = this.state;
    // a table is described in agent.json before its first row is written, but not always before it is looked at here
    if (agent === undefined) return false;
    let read = 0;
    const clock = parts.has(agentTable.name) ? agentTable.name : parts.keys().next().value;
    for (const [table, listed] of parts) {
      const at = this.table(table);
      at.tail.listed = this.state.owner === undefined ? undefined : listed;
      for (;;) {
        const lines = at.tail.wholeLines(at.next, READ_BYTES, ended);
        if (lines === undefined) break;
        const tick = table === clock ? (time: number) => this.tick(time, body) : undefined;
        if (lines.bytes.length === 0) read = full;
        else if (at.rows.wanted) at.rows.add(lines.header, lines.bytes, body, tick);
        at.next = lines.next;
        read += lines.bytes.length;
        if (body.size >= full || read >= full) return true;
      }
    }
    this.records(body);
    return false;
  }

  /** What was collected is on the other side now. */
  acknowledge(): Sent | undefined {
    const tables: [string, Position][] = [];
    for (const [table, at] of this.tables) {
      if (at.next === at.sent) continue;
      at.sent = at.next;
      tables.push([table, at.sent]);
    }
    const records = this.nextRecords;
    if (records !== undefined) this.sentRecords = records;
    this.nextRecords = undefined;
    return tables.length === 0 && records === undefined ? undefined : { stream: this, tables, records };
  }

  /** There is nothing that was collected and not sent. */
  get isEven(): boolean {
    for (const { next, sent } of this.tables.values()) if (next !== sent) return false;
    return this.nextRecords === undefined;
  }

  /** How far all tables were sent, for good or not. */
  allSent(): [string, Position][] {
    return [...this.tables].map(([table, { sent }]) => [table, sent]);
  }

  /** How far a table was sent, for good or not. */
  sentTo(table: string): Position | undefined {
    return this.tables.get(table)?.next;
  }

  /** It was not taken: the same again. */
  refuse(): void {
    for (const at of this.tables.values()) {
      if (at.next === at.sent) continue;
      at.next = at.sent;
      at.rows.reset();
    }
    this.nextRecords = undefined;
    this.minute = -1;
  }

  /** What was not surely stored may be lost: back to what is. */
  goBack(): void {
    for (const [table, at] of this.tables) {
      at.sent = this.sure(table) ?? BEGINNING;
      at.next = at.sent;
      at.rows.reset();
      at.tail.close();
    }
    this.sentRecords = this.sureRecords;
    this.nextRecords = undefined;
    this.minute = -1;
  }

  /** Nobody asks for it any more, or too many files are open. */
  rest(): void {
    for (const { tail } of this.tables.values()) tail.close();
  }

  private get hasOmnistat(): boolean {
    return this.options.omnistat === true && this.state.job.recorded_by === undefined;
  }

  private table(name: string): TableState {
    let at = this.tables.get(name);
    const described = this.state.agent?.tables.find((table) => table.name === name);
    if (at === undefined || (at.rows.table === undefined && described !== undefined)) {
      const sent = at?.sent ?? this.begun.get(name) ?? this.sure(name) ?? BEGINNING;
      const { node, job } = this.state;
      // Omnistat's series of GPUs name no job: what users can write of a node would mix with what its agent says
      const options = { ...this.options, omnistat: this.hasOmnistat && isOurs(this.state) };
      const rows = new VictoriaRows(name, described, recordingLabels(node, job, this.options.labels), options);
      at = {
        tail: at?.tail ?? new Tail(this.state.folder, name, this.state.owner),
        rows,
        sent,
        next: at?.next ?? sent,
      };
      this.tables.set(name, at);
    }
    return at;
  }

  /** Facts are said once in every minute, at the time of a sample. */
  private tick(time: number, body: ImportBody): void {
    this.newest = Math.max(this.newest, time);
    const minute = Math.floor(time / MINUTE);
    if (minute === this.minute) return;
    this.minute = minute;
    this.facts(time, body);
  }

  private facts(time: number, body: ImportBody): void {
    const { state } = this;
    if (this.series?.state !== state) {
      const ofJob = state.kind === 'job';
      const facts = [...(ofJob ? jobFacts(state.job) : []), ...nodeFactSeries(state.agent!, ofJob)];
      this.series = { state, facts, labels: recordingLabels(state.node, state.job, this.options.labels) };
    }
    for (const { name, labels, value } of this.series.facts) {
      body.single(name, labelJson(factLabels(this.series.labels, labels)), value, time);
    }
    if (this.hasOmnistat && state.kind === 'job') {
      const labels = labelJson(Object.entries(omnistatJobLabels(state.job, state.node)));
      body.single('rmsjob_info', labels, 1, time);
    }
  }

  /** job.json and agent.json, when they say something new. */
  private records(body: ImportBody): void {
    const { job, agent, node, kind } = this.state;
    const key = recordsKey(this.state);
    if (kind === 'fleet' || agent === undefined || key === this.sentRecords) return;
    const time = Math.max(this.newest, Math.floor((agent.end ?? agent.last_sample ?? agent.start) / 1000));
    this.facts(time, body);
    const revision = Date.now() / 1000;
    const common = recordingLabels(node, job, this.options.labels);
    for (const [record, value] of [
      ['job', job],
      ['agent', agent],
    ] as const) {
      const recordPieces = packRecord(value);
      for (const [i, text] of recordPieces.entries()) {
        const own: Labels = [
          ['record', record],
          ['piece', String(i)],
          ['pieces', String(recordPieces.length)],
          ['text', text],
        ];
        body.single('tacho_record', labelJson([...common, ...own]), revision, time);
      }
    }
    this.nextRecords = key;
  }
}

/** Changes when job.json changes, and when agent.json says more than how many ticks there were. */
export function recordsKey({ job, agent, ended }: StreamState): string {
  if (agent === undefined) return '';
  const { tables, unmeasured, end, facts, left_running, shared_with, neighbours } = agent;
  const counts = [
    tables.length,
    unmeasured.length,
    facts.gpus.length,
    left_running?.length,
    shared_with?.length,
    neighbours?.length,
    end,
    ended,
  ];
  return `${JSON.stringify(job)} ${counts.join(' ')}`;
}
