import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { Position } from '../../recording/live/position.ts';

/**
 * How agents talk to a hub: HTTP/1.1 with kept connections, JSON but for the samples. Files on a node are only ever
 * appended to, so a position in them is all that both sides must agree on: the hub's own file says how much it has, and
 * what it has already is not written twice.
 *
 *     POST /v1/session   who are you: Authorization: Munge <credential> or Token <token>   → SessionReply
 *     POST /v1/open      a node begins, or goes on, with a recording: OpenRequest          → OpenReply
 *     POST /v1/append    samples (appendBody)                                              → AppendReply
 *     POST /v1/record    agent.json or job.json has changed, or the node is done           → RecordReply
 *     GET  /v1/nodes     what `tacho nodes` shows                                             → NodesReply
 *     GET  /v1/recordings  the jobs whose samples come now, or came a moment ago           → RecordingsReply
 *     POST /v1/files     what is new in the files of one of them: FilesRequest             → FilesReply, then the bytes
 *
 * All but the first carry `Authorization: Bearer <session>`. On a loopback hub without trust no authorization is needed.
 * 401: begin a new session. 404: the hub does not know the stream (it was restarted): open it again. 423: this recording
 * cannot be stored just now; others can.
 */
export const PROTOCOL = 1;

/** Bodies beyond this are refused (413) before they are read. */
export const LARGEST_BODY = 8 << 20;
/** What the samples of one body may unpack to. */
export const LARGEST_SAMPLES = 32 << 20;

/** The status of a request about a recording that alone cannot be stored just now (its user's quota or rights). */
export const ONE_RECORDING = 423;

export interface SessionReply {
  protocol: number;
  session: string;
  /** Seconds; after that the hub answers 401. */
  lasts: number;
}

export interface OpenRequest {
  protocol: number;
  node: string;
  /** fleet: what the node itself records, whoever runs on it; a recording a day. */
  kind: 'job' | 'fleet';
  job: Job;
  agent: AgentRecord;
}

export interface OpenReply {
  /** Names the stream in later requests. */
  stream: number;
  /** How much of each table the hub has. A table that is not here has not begun. */
  tables: Record<string, Position>;
  /** Everything was stored and the node has said that it is done: the files may go. */
  done?: boolean;
}

/** A run of bytes of one table: stream, table, part, first byte, number of bytes. */
export type TableBytes = [stream: number, table: string, part: number, from: number, length: number];

export interface AppendReply {
  /** How much the hub has now, of every table in the request: stream, table, part, bytes. */
  have: [stream: number, table: string, part: number, bytes: number][];
  /** Streams that the hub does not know (any more). */
  unknown?: number[];
  /** Streams of which something could not be stored, and why; the others were. */
  refused?: [stream: number, why: string][];
  /** Why nothing can be stored (a full disk); it is sent again later. */
  trouble?: string;
  /** Seconds for which the agent shall collect samples before it sends again; missing: it sends each tick at once. */
  batch?: number;
}

export interface RecordRequest {
  stream: number;
  agent?: AgentRecord;
  job?: Job;
  /** The node writes no more to this recording, and this is where each table ends. The answer says whether all is there. */
  end?: Record<string, Position>;
  /** What the agent had to give up because its spool was full: from where to where in a table. */
  dropped?: { table: string; from: Position; to: Position; rows: number; first?: number; last?: number }[];
}

export interface RecordReply {
  /** With `end`: everything is stored; else what the hub has, to go on from. */
  done?: boolean;
  tables?: Record<string, Position>;
}

export interface NodeLine {
  node: string;
  user: string;
  job: string;
  kind: 'job' | 'fleet';
  table: string;
  /** Epoch microseconds of the newest sample's arrival. */
  newest: number;
  /** Over the last minute. */
  rows_per_second: number;
  bytes_per_second: number;
  /** In the archive, as the files are now. */
  bytes: number;
  state: 'live' | 'late' | 'ended';
}

export interface NodesReply {
  protocol: number;
  hub: string;
  tacho: string;
  /** Epoch microseconds. */
  now: number;
  started: number;
  /** Seconds for which agents collect samples before they send them, as the hub asks for it now; 0: not at all. */
  batch_seconds: number;
  lines: NodeLine[];
}

/** A job whose samples a hub receives. */
export interface HubRecording {
  /** Names it in questions. */
  key: string;
  user: string;
  job: string;
  name: string;
  account?: string;
  partition?: string;
  /** Epoch microseconds. */
  start: number;
  end?: number;
  state: string;
  nodes: number;
  /** Their names as Slurm lists them: c[1-8]. An older hub does not say them. */
  hosts?: string;
  tags: Record<string, string>;
}

export interface RecordingsReply {
  protocol: number;
  recordings: HubRecording[];
}

/** By what a file is told from what it was: its bytes, when it was changed (milliseconds), its inode. */
export type FileState = [bytes: number, changed: number, inode: number];

export interface FilesRequest {
  recording: string;
  /** What is there already, by name in the recording. */
  have: Record<string, FileState>;
}

export interface FilesReply {
  /** The bytes that follow, in this order; those from 0 on replace the file, others go behind what is there. */
  files: [name: string, from: number, bytes: number, changed: number, inode: number][];
  /** Files that are not there any more. */
  gone: string[];
  /** There is more than fits into one answer: ask again. */
  more: boolean;
}
