import { stated } from '../../base/stated.ts';
import type { JobList, ListedJob } from '../api.ts';
import type { Collection, OpenJob } from './collection.ts';
import type { KeptList } from './kept-list.ts';
import type { OpenJobs } from './open-jobs.ts';

/** Jobs that somebody else keeps and lists; they are opened one by one. */
export abstract class ListedCollection implements Collection {
  protected abstract readonly kept: KeptList<ListedJob>;
  protected abstract readonly jobs: OpenJobs;
  /** What the list does not say of its jobs. */
  protected readonly lacks: string | undefined = undefined;

  async list(): Promise<JobList> {
    const { rows, troubles } = await this.kept.get();
    return { jobs: rows, pending: 0, troubles, ...stated({ lacks: this.lacks }) };
  }

  async open(id: string): Promise<OpenJob | undefined> {
    const row = await this.kept.find((each) => each.id === id);
    return row === undefined ? undefined : this.jobs.get({ id, path: row.path });
  }

  changed({ entry }: OpenJob): void {
    this.jobs.forget(entry);
  }

  async close(): Promise<void> {}
}
