import type { Command } from 'commander';
import { append } from '../base/extremes.ts';
import { usage } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import type { StoredJob } from '../query/store/records.ts';

/** What a verb that can ask a VictoriaMetrics has among its options. */
export interface StoreOptions {
  store?: string;
}

/** Gives a verb `--store`: what is named are then jobs in a VictoriaMetrics, not recordings. */
export function storeOption(command: Command): Command {
  return command.option('--store <url>', 'read jobs from a VictoriaMetrics; arguments are then job ids');
}

/** The jobs of these ids, in their order; every restart of each. */
export async function storedJobs(address: string, ids: readonly string[], tellRuns = false): Promise<StoredJob[]> {
  const [{ openStore }, { findJobs, runsOf }] = await Promise.all([
    import('../query/store/client.ts'),
    import('../query/store/records.ts'),
  ]);
  const store = openStore(address);
  if (ids.length === 0) {
    throw usage('which job of the store?', `--job ID names one; tacho list --store ${store.name} shows what is there`);
  }
  const storedJobs: StoredJob[] = [];
  for (const id of ids) {
    const jobs = await findJobs(store, id);
    append(storedJobs, jobs);
    if (jobs.length > 1 && tellRuns)
      warn(
        `job ${id} is there ${jobs.length} times: ${runsOf(jobs)}; name one of these, or its time with --from and --to`,
      );
  }
  return storedJobs;
}
