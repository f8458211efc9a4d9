import type { Entry } from '../../src/history/index/entry.ts';
import { changeIndex } from '../../src/history/index/index-writer.ts';
import type { FindingSummary, JobNodeSummary, JobSummary, NodeHourSummary } from '../../src/history/tables/summary.ts';
import { temporary } from '../make-recording.ts';

export const HOUR = 3600e6;

/** A job of so many CPUs that ended then and ran so many hours, busy to a tenth. */
export function pastJob(
  id: string,
  end: number,
  hours: number,
  cpus: number,
  more: Partial<JobSummary> = {},
): JobSummary {
  const cpu_use = more.cpu_use ?? 0.1;
  const gpu_hours = more.gpus === undefined ? {} : { gpu_hours: more.gpus * hours };
  return {
    time: end - hours * HOUR,
    end_time: end,
    job: id,
    cluster: 'k',
    user: 'ada',
    name: 'train',
    partition: 'batch',
    scheduler: 'slurm',
    state: 'completed',
    origin: 'recorded',
    recording: `job=${id}`,
    nodes: 1,
    node_list: 'c1',
    cpus,
    wall_seconds: hours * 3600,
    node_hours: hours,
    core_hours: cpus * hours,
    cpu_use,
    cpus_busy: cpus * cpu_use,
    core_hours_wasted: cpus * hours * (1 - cpu_use),
    ...gpu_hours,
    ...more,
  };
}

interface More {
  job_nodes?: JobNodeSummary[];
  node_hours?: NodeHourSummary[];
  findings?: FindingSummary[];
}

/** An archive with an index of these jobs. */
export async function archiveOf(jobs: readonly JobSummary[], more: More = {}): Promise<string> {
  const archive = temporary();
  const entries = jobs.map(
    (row, i): Entry => ({
      id: row.recording!,
      stamp: '',
      summaries: {
        jobs: [row],
        job_nodes: (more.job_nodes ?? []).filter((one) => one.job === row.job),
        node_hours: i === 0 ? (more.node_hours ?? []) : [],
        findings: (more.findings ?? []).filter((one) => one.job === row.job),
      },
    }),
  );
  await changeIndex(archive, (index) => index.change(entries));
  return archive;
}
