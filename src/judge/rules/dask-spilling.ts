import { greatest } from '../../base/extremes.ts';
import { count } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { daskWorkerTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { daskCluster, runOf, workerName } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule, together } from './shared/rule.ts';

export default rule({
  id: 'dask-spilling',
  title: 'Dask workers that spill results to disk',
  help: 'A Dask worker wrote at least 16 MiB of results to disk because its memory was short.',
  kind: 'trouble',
  order: 722,
  needs: [daskCluster, daskWorkerTable.col.spilled_bytes],
  thresholds: {
    /** Bytes that a worker had moved from its memory to disk. */
    bytes: 16 << 20,
  },
  when(facts, { bytes }) {
    const workers = runOf(facts).workers.map(({ use, diskSeconds }) => ({
      use,
      diskSeconds,
      spilled: greatest(use.spilled.filter((each) => !Number.isNaN(each))),
    }));
    return together(workers.filter(({ spilled }) => spilled >= bytes));
  },
  severity: 'warning',
  say: (workers) => `${count(workers.length, 'Dask worker')} spilled results to disk: memory was short`,
  evidence: (workers, _, { bytes }) =>
    shown(workers.toSorted((a, b) => b.spilled - a.spilled)).map(({ use, spilled }) => ({
      text: `${workerName(use)}: up to ${formatBytes(spilled)} on disk${Number.isNaN(use.limit) ? '' : `, memory limit ${formatBytes(use.limit)}`}`,
      from: named(daskWorkerTable.col.spilled_bytes),
      value: spilled,
      threshold: bytes,
    })),
  advise:
    'Give workers more memory or use fewer of them per node; make chunks smaller; release what is no longer needed; do not persist or gather what is only needed in part.',
  confidence: high('reported by the workers'),
});
