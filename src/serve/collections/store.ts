import { Fault } from '../../base/fault.ts';
import { compressHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import { gather } from '../../judge/facts/gather.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { openStore, type Store } from '../../query/store/client.ts';
import { downloadJob } from '../../query/store/download.ts';
import { listStored } from '../../query/store/list.ts';
import { findJobs } from '../../query/store/records.ts';
import type { Listed } from '../../recording/folder/list.ts';
import type { ListedJob } from '../api.ts';
import { type Entry, idOf, type OpenJob } from './collection.ts';
import { KeptList } from './kept-list.ts';
import { ListedCollection } from './listed-collection.ts';
import { OpenJobs } from './open-jobs.ts';
import { openedJob } from './opened.ts';

/** The samples of a whole job are in memory: few jobs stay open. */
const MOST = 4;
/** What runs is downloaded again after so long. */
const LIVE_MS = 2000;

/** The jobs in a VictoriaMetrics that Tacho pushed to. */
export class StoreCollection extends ListedCollection {
  readonly #store: Store;
  protected override readonly jobs: OpenJobs;
  protected override readonly kept: KeptList<ListedJob>;
  protected override readonly lacks =
    'A VictoriaMetrics lists jobs without their figures and findings; the page of each job has them.';

  constructor(address: string, rules?: RuleSettings) {
    super();
    this.#store = openStore(address);
    this.jobs = new OpenJobs((entry) => this.#download(entry, rules), { most: MOST, liveMs: LIVE_MS });
    this.kept = new KeptList(async () => (await listStored(this.#store, { hosts: true })).map(rowOf));
  }

  async #download(entry: Entry, rules?: RuleSettings): Promise<OpenJob> {
    const name = entry.path.slice(entry.path.lastIndexOf('#') + 1);
    const storedJobs = await findJobs(this.#store, name);
    const stored = storedJobs.find(({ recording }) => recording.path === entry.path) ?? storedJobs[0];
    if (stored === undefined) throw new Fault(`${this.#store.name} has no job ${name} any more`);
    const recording = await downloadJob(stored, { rows: true });
    return openedJob(entry, recording, gather(recording, { hasAllRows: true }), rules);
  }
}

function rowOf({ path, job, name, user, start, end, nodes, hosts, state, job_state }: Listed): ListedJob {
  const wall_seconds = start === undefined || end === undefined ? undefined : (end - start) / 1e6;
  return {
    ...{ id: idOf(path), path, job, name, user, nodes, findings: [], tags: {} },
    state: state === 'running' ? 'running' : job_state,
    ...stated({ start, end, wall_seconds, hosts: hosts && compressHostlist(hosts) }),
  };
}
