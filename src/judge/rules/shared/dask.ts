import type { DaskRun } from '../../../query/dask/dask-run.ts';
import { daskTaskTable } from '../../../sources/tables.ts';
import type { Fact, RuleContext } from './rule.ts';

/** What all rules about Dask need. */
export const daskCluster: Fact = {
  what: 'tasks of a Dask cluster (`tacho dask attach`, or `tacho run`)',
  columns: [daskTaskTable.col.key],
  has: (facts) => facts.daskRun() !== undefined,
  otherwise: { skipped: 'no Dask cluster was recorded' },
};

export const runOf = (facts: RuleContext): DaskRun => facts.daskRun()!;

/** From the start of the first task to the end of the last, in seconds. */
export const runSeconds = ({ from, to }: DaskRun): number => (to - from) / 1e6;

export const workerName = ({ name, worker }: { name: string; worker: string }): string =>
  name === '' ? worker : `worker ${name}`;
