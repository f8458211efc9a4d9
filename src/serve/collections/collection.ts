import { createHash } from 'node:crypto';
import type { Report } from '../../judge/report-schema.ts';
import type { Material } from '../../query/material.ts';
import type { Recording } from '../../recording/folder/open.ts';
import type { JobList } from '../api.ts';

/** A job that can be asked for. */
export interface Entry {
  /** Stands in addresses: it tells nothing of where the job is kept, and stays the same while it is kept there. */
  id: string;
  /** Its folder, or its address in a store, a database or at a hub. */
  path: string;
}

/** A job and what was worked out of it. */
export interface OpenJob {
  entry: Entry;
  /** Of a job in a database without nodes: that has no samples. */
  recording: Recording;
  material: Material;
  /** Made when somebody asks for it. */
  report(): Report;
  /** Whether somebody still writes. */
  isLive: boolean;
  /** The recording's own folder; not there: its job.json is not ours to change. */
  folder?: string;
}

/** Jobs that are open, wherever they are kept. */
export interface Collection {
  /** The jobs that are there now; what cannot be reached is among the troubles. */
  list(): Promise<JobList>;
  /** Undefined: there is no such job. The same object while nothing of it changes. */
  open(id: string): Promise<OpenJob | undefined>;
  /** Something of the job was changed here: it is read again. */
  changed(job: OpenJob): void;
  close(): Promise<void>;
}

/** Half of a name that nobody can guess a path from. */
export const idOf = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 12);
