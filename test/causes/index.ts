import { rules } from '../../src/judge/rules/index.ts';
import type { Cause } from './cause.ts';
import { classic } from './classic.ts';
import { daskCauses } from './dask.ts';
import { elsewhere } from './elsewhere.ts';
import { gpuCauses } from './gpu.ts';
import { healthyJobs } from './healthy.ts';
import { heldOut } from './held-out.ts';
import { heldOutFourth } from './held-out-fourth.ts';
import { heldOutSecond } from './held-out-second.ts';
import { heldOutThird } from './held-out-third.ts';
import { memoryAndFiles } from './memory-io.ts';
import { mpiCauses } from './mpi.ts';
import { processCauses } from './processes.ts';

/** Every case, the families one after the other. */
export const causes: readonly Cause[] = [
  ...healthyJobs,
  ...classic,
  ...gpuCauses,
  ...memoryAndFiles,
  ...processCauses,
  ...mpiCauses,
  ...daskCauses,
  ...elsewhere,
  ...heldOut,
  ...heldOutSecond,
  ...heldOutThird,
  ...heldOutFourth,
];

/** Rules as the cases name them. */
export const ruleIds: readonly string[] = rules.map(({ id }) => id);

/** What is wrong with the list of cases itself. */
export function mistakesIn(cases: readonly Cause[]): string[] {
  const names = cases.map(({ name }) => name);
  return [
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `two cases have the name ${name}`),
    ...cases.flatMap(({ name, must, may = [], cannot = [] }) =>
      [...must, ...may, ...cannot].filter((id) => !ruleIds.includes(id)).map((id) => `${name}: there is no rule ${id}`),
    ),
    ...cases
      .filter(({ healthy = false, must, cannot = [] }) => healthy !== (must.length + cannot.length === 0))
      .map(({ name }) => `${name}: either healthy, or with a cause`),
  ];
}
