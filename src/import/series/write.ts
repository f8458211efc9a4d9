import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { statisticsName } from '../../recording/folder/files.ts';
import type { Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { syncFolder } from '../../recording/folder/synced.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { measure } from '../../recording/sealed/measure.ts';
import { writeParquet } from '../../recording/sealed/parquet/write.ts';
import { writeStatistics } from '../../recording/sealed/statistics-file.ts';

/** A recording in the making: under a name that nobody looks at, until it is whole. */
export class SealedRecording {
  readonly target: string;
  rows = 0;
  private readonly temporary: string;

  /** Begins a recording in `folder`, which is made if need be. */
  constructor(folder: string, name: string) {
    this.target = path.join(folder, name);
    this.temporary = path.join(folder, `.${name}.${process.pid}.tmp`);
    if (fs.existsSync(this.target)) {
      throw new Fault(`${this.target} is there already`, {
        hint: 'choose another folder with -o, or move that one away',
      });
    }
    try {
      makeFolder(folder);
      fs.mkdirSync(this.temporary, { mode: 0o700 });
    } catch (error) {
      throw new Fault(`cannot write ${folder}: ${reason(error)}`, { hint: 'choose another folder with -o' });
    }
  }

  /** Writes a table of a node, with its statistics. Returns its bytes. */
  table(node: string, batch: Batch, interval: number): number {
    const folder = this.node(node);
    const { name } = batch.table;
    const sealed = path.join(folder, `${name}.parquet`);
    const bytes = writeParquet(sealed, batch);
    const statistics = measure(interval > 0 ? { ...batch, interval_seconds: interval } : batch);
    writeStatistics(path.join(folder, statisticsName(name)), statistics, sealed);
    this.rows += batch.rows;
    return bytes;
  }

  agent(record: AgentRecord): void {
    replaceJson(path.join(this.node(record.node), 'agent.json'), record);
  }

  /** Gives it its name; returns its path. */
  finish(job: Job): string {
    replaceJson(path.join(this.temporary, 'job.json'), job);
    fs.renameSync(this.temporary, this.target);
    syncFolder(path.dirname(this.target));
    return this.target;
  }

  abandon(): void {
    fs.rmSync(this.temporary, { recursive: true, force: true });
  }

  private node(name: string): string {
    const folder = path.join(this.temporary, nodeFolder(name));
    makeFolder(folder, 0o700);
    return folder;
  }
}
