import { shownAddress } from '../../base/address.ts';
import { connect, type Database } from '../../database/connect.ts';
import { findJobs } from '../../database/find-jobs.ts';
import { storedReports } from '../../database/measured-jobs.ts';
import { needSchema } from '../../database/schema.ts';
import { readProcesses } from '../../database/source.ts';
import { postgres } from '../../history/ask/dialect.ts';
import { askJobs } from '../../history/ask/select-jobs.ts';
import { linkProcesses } from '../../query/processes/tree.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { ListedJob } from '../api.ts';
import { type Entry, idOf, type OpenJob } from './collection.ts';
import { KeptList } from './kept-list.ts';
import { ListedCollection } from './listed-collection.ts';
import { listedJob } from './listed-job.ts';
import { OpenJobs } from './open-jobs.ts';

/** The jobs that were submitted to a database: their reports and processes. Samples are not in it. */
export class DatabaseCollection extends ListedCollection {
  readonly #address: string;
  protected override readonly jobs = new OpenJobs((entry) => this.#read(entry));
  protected override readonly kept = new KeptList(() => this.#rows());
  #connected: Promise<Database> | undefined;
  /** A connection answers one question after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(address: string) {
    super();
    this.#address = address;
  }

  override async close(): Promise<void> {
    await (await this.#connected)?.close();
  }

  #rows(): Promise<ListedJob[]> {
    return this.#ask(async (database) => {
      const query = async (make: (table: (name: string) => string) => string) =>
        (await database.query<Record<string, string>>(make((name) => `tacho.summary_${name}`))).rows;
      // rows of accounting alone have no number: there is nothing to open
      const numbers = await query(
        (table) => `select stored, ${numberKey()} from ${table('jobs')} where stored is not null`,
      );
      const byKey = new Map(numbers.map(({ stored, ...key }) => [Object.values(key).join('\n'), stored!]));
      const jobs = await askJobs({ dialect: postgres, query: query as never, close: async () => {} }, {});
      return jobs.flatMap((job) => {
        const stored = byKey.get([job.time, job.cluster, job.job, job.restart ?? 0].join('\n'));
        if (stored === undefined) return [];
        const path = `${shownAddress(this.#address)}#${stored}`;
        return [listedJob({ id: idOf(path), path }, job)];
      });
    });
  }

  #read(entry: Entry): Promise<OpenJob> {
    return this.#ask(async (database) => {
      const number = Number(entry.path.slice(entry.path.lastIndexOf('#') + 1));
      const [stored] = await findJobs(database, { jobs: [number] });
      const { rows } = await database.query<{ facts: Job }>('select facts from tacho.jobs where job = $1', [number]);
      const [made] = await storedReports(database, [stored!]);
      const processes = linkProcesses(await readProcesses(database, stored!));
      const job = rows[0]!.facts;
      const recording = { path: entry.path, job, nodes: [], troubles: [] };
      const material = { path: entry.path, job, nodes: [], markers: [], now: Date.now() * 1000 };
      return {
        ...{ entry, recording, report: () => made!, isLive: false },
        material: processes.length === 0 ? material : { ...material, processes },
      };
    });
  }

  /** A connection that broke is made again for the next question. */
  #ask<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const asked = this.#last.then(async () => {
      this.#connected ??= connect(this.#address).then(async (database) => {
        await needSchema(database);
        return database;
      });
      try {
        return await work(await this.#connected);
      } catch (error) {
        const broken = this.#connected;
        this.#connected = undefined;
        await broken?.then((database) => database.close()).catch(() => {});
        throw error;
      }
    });
    this.#last = asked.catch(() => {});
    return asked;
  }
}

const numberKey = (): string => `${postgres.micros('time')} as at, cluster, job, coalesce(restart, 0) as again`;
