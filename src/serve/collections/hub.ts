import { stated } from '../../base/stated.ts';
import type { AskOptions } from '../../hub/ask-nodes.ts';
import { HubMirror } from '../../hub/mirror.ts';
import { gather } from '../../judge/facts/gather.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { openRecording } from '../../recording/folder/open.ts';
import type { HubRecording } from '../../sinks/hub/protocol.ts';
import type { JobList, ListedJob } from '../api.ts';
import { type Collection, type Entry, idOf, type OpenJob } from './collection.ts';
import { fingerprintOf } from './fingerprint.ts';
import { KeptList } from './kept-list.ts';
import { OpenJobs } from './open-jobs.ts';
import { openedJob } from './opened.ts';

/** How long the copy of a recording holds while the job runs, and when it has ended. */
const COPY_MS = { running: 500, ended: 10_000 };

const LACKS = 'A hub lists jobs without their figures and findings; the page of each job has them.';

/** The jobs whose samples a hub receives, as far as it lets us see them. */
export class HubCollection implements Collection {
  readonly #mirror: HubMirror;
  readonly #address: string;
  readonly #jobs: OpenJobs;
  readonly #list: KeptList<ListedJob & { key: string }>;
  readonly #copied = new Map<string, { until: number; renewing: Promise<unknown> | undefined }>();

  constructor(hub: URL, options: AskOptions, rules?: RuleSettings) {
    this.#mirror = new HubMirror(hub, options);
    this.#address = `${hub.protocol}//${hub.host}`;
    this.#list = new KeptList(async () => (await this.#mirror.recordings()).map((each) => this.#rowOf(each)));
    const folderOf = ({ path }: Entry): string => this.#mirror.folderOf(path.slice(this.#address.length + 1));
    this.#jobs = new OpenJobs((entry) => openCopy(entry, folderOf(entry), rules), {
      stateOf: (entry) => fingerprintOf(folderOf(entry)),
    });
  }

  async list(): Promise<JobList> {
    const { rows, troubles } = await this.#list.get();
    return { jobs: rows.map(({ key: _, ...row }) => row), pending: 0, troubles, lacks: LACKS };
  }

  async open(id: string): Promise<OpenJob | undefined> {
    const row = await this.#list.find((each) => each.id === id);
    if (row === undefined) return undefined;
    await this.#copy(row);
    return this.#jobs.get({ id, path: row.path });
  }

  changed({ entry }: OpenJob): void {
    this.#jobs.forget(entry);
  }

  async close(): Promise<void> {
    this.#mirror.close();
  }

  async #copy({ key, end }: ListedJob & { key: string }): Promise<void> {
    const copied = this.#copied.get(key) ?? { until: Number.NEGATIVE_INFINITY, renewing: undefined };
    this.#copied.set(key, copied);
    if (performance.now() < copied.until) return;
    copied.renewing ??= this.#mirror.renew(key).finally(() => {
      copied.renewing = undefined;
      copied.until = performance.now() + (end === undefined ? COPY_MS.running : COPY_MS.ended);
    });
    await copied.renewing;
  }

  #rowOf({ key, user, job, name, account, partition, start, end, state, nodes, hosts, tags }: HubRecording) {
    const path = `${this.#address}#${key}`;
    const wall_seconds = end === undefined ? undefined : (end - start) / 1e6;
    return {
      ...{ key, id: idOf(path), path, job, name, user, nodes, tags, findings: [], start },
      state: end === undefined ? 'running' : state,
      ...stated({ account, partition, end, wall_seconds, hosts }),
    };
  }
}

/** People are shown where the job is, not where its copy is. */
function openCopy(entry: Entry, folder: string, rules?: RuleSettings): OpenJob {
  const recording = openRecording(folder);
  return openedJob(entry, recording, { ...gather(recording), path: entry.path }, rules);
}
