import { percent } from '../../base/readable.ts';
import { daskGpuTable } from '../../sources/tables.ts';
import { sampled } from './shared/confidence.ts';
import { daskCluster, runOf } from './shared/dask.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'dask-gpu-idle',
  title: 'GPUs of Dask workers that are idle while tasks run',
  help: 'Tasks ran for at least 10 s on workers with GPUs, and these were busy for less than 10 % of that time.',
  kind: 'waste',
  order: 726,
  needs: [daskCluster, daskGpuTable.col.compute_percent],
  thresholds: {
    /** Mean GPU utilisation in percent, below which there is a finding. */
    percent: 10,
    /** Seconds that the tasks ran. */
    seconds: 10,
  },
  when(facts, limits) {
    const prefixes = runOf(facts).prefixes.filter(({ gpu_mean_percent }) => gpu_mean_percent !== undefined);
    const seconds = prefixes.reduce((sum, each) => sum + each.seconds, 0);
    const mean = prefixes.reduce((sum, each) => sum + each.gpu_mean_percent! * each.seconds, 0) / seconds;
    return seconds < limits.seconds || mean >= limits.percent ? [] : [{ prefixes, mean }];
  },
  severity: 'warning',
  say: ({ mean }) => `GPUs of Dask workers were ${percent(mean / 100)} busy while tasks ran`,
  evidence: ({ prefixes }, _, limits) =>
    shown(prefixes, 4).map(({ prefix, gpu_mean_percent, gpu_peak_percent }) => ({
      text: `${prefix}: GPU ${percent(gpu_mean_percent! / 100)} busy on average, ${percent(gpu_peak_percent! / 100)} at most`,
      from: named(daskGpuTable.col.compute_percent),
      value: gpu_mean_percent!,
      threshold: limits.percent,
    })),
  advise:
    'Have the tasks use the GPU (CuPy, cuDF, a framework’s GPU device), or run them on workers without GPUs; read and prepare data in more threads.',
  confidence: (_, facts) => sampled(runOf(facts).workers[0]?.use.times.length),
});
