import { compressHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { JobSummary } from '../../history/tables/summary.ts';
import type { ListedJob } from '../api.ts';
import type { Entry } from './collection.ts';

/** A row of the history as the table of jobs shows it. */
export function listedJob({ id, path }: Entry, job: JobSummary): ListedJob {
  const { account, partition, command, cpus, gpus, wall_seconds, cpu_use, memory_use, memory_peak_bytes, gpu_use } =
    job;
  const {
    core_hours,
    core_hours_wasted,
    gpu_hours,
    gpu_hours_wasted,
    program,
    node_list: list,
    worst,
    end_time: end,
    read_bytes,
    written_bytes,
  } = job;
  const io_bytes =
    read_bytes === undefined && written_bytes === undefined ? undefined : (read_bytes ?? 0) + (written_bytes ?? 0);
  return {
    id,
    path,
    job: job.job,
    name: job.name ?? '',
    user: job.user,
    state: job.state ?? 'unknown',
    nodes: job.nodes ?? 0,
    findings: (job.findings ?? '').split(',').filter(Boolean),
    tags: JSON.parse(job.tags ?? '{}') as Record<string, string>,
    ...stated({ start: job.time > 0 ? job.time : undefined, end, account, partition, command, cpus, gpus }),
    ...stated({ wall_seconds, cpu_use, memory_use, memory_peak_bytes, gpu_use, core_hours, core_hours_wasted, worst }),
    ...stated({ gpu_hours, gpu_hours_wasted, io_bytes, program }),
    ...(list ? { hosts: compressHostlist(list.split(',')) } : {}),
  };
}
