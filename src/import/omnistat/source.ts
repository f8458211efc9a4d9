import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason, usage } from '../../base/fault.ts';
import { EVER } from '../../query/store/client.ts';
import type { StoredSeries } from '../../query/store/export-lines.ts';
import { quoted } from '../../query/store/selector.ts';
import { isDataFolder } from '../victoria/data-folder.ts';
import { openSource } from '../victoria/import.ts';
import { parseOmnistatCsv } from './csv.ts';

/** Names of what Omnistat stores. */
const NAMES = /^(rocm_|omnistat_|rmsjob_)/;
const MATCH = '__name__=~"rocm_.+|omnistat_.+|rmsjob_.+"';

/** Where Omnistat's samples are: a database of its own, or files that its query tool has exported. */
export interface OmnistatSource {
  /** Series of these names on every instance, or all on one. Times are epoch milliseconds. */
  samples(which: { name?: string; instance?: string; from?: number; to?: number }): AsyncGenerator<StoredSeries>;
  /** Every instance (a node) that has any. */
  instances(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openOmnistat(source: string, scratch: string): Promise<OmnistatSource> {
  const isFolder = fs.statSync(source, { throwIfNoEntry: false })?.isDirectory() === true;
  if (/^https?:\/\//.test(source) || (isFolder && isDataFolder(source))) return openDatabase(source, scratch);
  if (!fs.existsSync(source)) {
    throw usage(
      `there is no ${source}`,
      'give an address (http://vm:9090), the data folder of user mode, or a CSV file',
    );
  }
  return openFiles(source, isFolder ? filesIn(source) : [source]);
}

async function openDatabase(source: string, scratch: string): Promise<OmnistatSource> {
  const { store, close } = await openSource(source, scratch);
  return {
    close,
    async *samples({ name, instance, from, to }) {
      const names = name === undefined ? MATCH : `__name__=${quoted(name)}`;
      yield* store.samples(`{${names}${instance === undefined ? '' : `,instance=${quoted(instance)}`}}`, from, to);
    },
    async instances() {
      const omnistatSeries = await store.query(
        `count by (instance) (last_over_time({${MATCH}}[${Date.now() - EVER}ms]))`,
        Date.now(),
      );
      if (omnistatSeries.length === 0)
        throw await withoutOmnistat(source, async () => namesOf(await store.query(ALL, Date.now())));
      return omnistatSeries.flatMap(({ labels }) => labels.instance ?? '');
    },
  };
}

const ALL = `topk(5, count by (__name__) (last_over_time({__name__!=""}[10y])))`;
const namesOf = (seriesList: readonly { labels: Readonly<Record<string, string>> }[]): string[] =>
  seriesList.flatMap(({ labels }) => labels.__name__ ?? []);

async function withoutOmnistat(source: string, jobIdsOf: () => Promise<string[]>): Promise<Fault> {
  const names = await jobIdsOf().catch(() => []);
  return new Fault(`there are no metrics of Omnistat in ${source} (rocm_…, omnistat_…, rmsjob_…)`, {
    hint:
      names.length === 0
        ? 'it is empty'
        : `it has ${names.join(', ')} …; tacho import victoria takes series of any name`,
  });
}

function filesIn(folder: string): string[] {
  const files = fs.readdirSync(folder).filter((name) => /^omnistat-.*\.csv$/.test(name));
  // an inventory of processes is a list, not samples
  const samples = files.filter((name) => !name.includes('inventory'));
  if (samples.length > 0) return samples.sort().map((name) => path.join(folder, name));
  throw new Fault(`${folder} is neither a data folder of VictoriaMetrics nor has it files omnistat-….csv`, {
    hint: 'user mode keeps its data where victoria_datadir says (data_prom); omnistat-query --export writes the files',
  });
}

async function openFiles(source: string, files: readonly string[]): Promise<OmnistatSource> {
  const all = files.flatMap((file) => {
    let text: string;
    try {
      text = fs.readFileSync(file, 'utf8');
    } catch (error) {
      throw new Fault(`cannot read ${file}: ${reason(error)}`);
    }
    return parseOmnistatCsv(text, file);
  });
  const omnistatSeries = all.filter(({ labels }) => NAMES.test(labels.__name__ ?? ''));
  return {
    close: async () => {},
    async *samples({ name, instance, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }) {
      for (const { labels, times, values } of omnistatSeries) {
        if (name !== undefined && labels.__name__ !== name) continue;
        if (instance !== undefined && labels.instance !== instance) continue;
        const inside = (_: number, i: number): boolean => times[i]! >= from && times[i]! <= to;
        yield { labels, times: times.filter(inside), values: values.filter(inside) };
      }
    },
    async instances() {
      const instanceNames = [...new Set(omnistatSeries.map(({ labels }) => labels.instance ?? ''))];
      if (instanceNames.length > 0) return instanceNames;
      throw await withoutOmnistat(source, async () => all.slice(0, 5).map(({ labels }) => labels.__name__ ?? ''));
    },
  };
}
