import { stated } from '../../base/stated.ts';
import type { Material } from '../../query/material.ts';
import { cgroupOf } from '../../query/use/cpu-total.ts';
import { jobWork } from '../../query/use/process-work.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { cgroupTable } from '../../sources/tables.ts';
import type { WorkReport } from '../report-schema.ts';

/** As the job's own cgroups counted it, where it has one on every node. */
function cgroupSplit({ nodes }: Material): Split | undefined {
  let [user_seconds, system_seconds] = [0, 0];
  for (const node of nodes) {
    const [user, system] = [cgroupOf(node, cgroupTable.col.user_us), cgroupOf(node, cgroupTable.col.system_us)];
    if (user === undefined || system === undefined) return undefined;
    user_seconds += user.last / 1e6;
    system_seconds += system.last / 1e6;
  }
  return nodes.length === 0 ? undefined : { user_seconds, system_seconds };
}

/** Less than this is no command of Tacho's. */
const TACHO_SECONDS = 0.003;

/** How much of a job's CPU time has to be divided into user and system for that to be true of all of it. */
const MOST_DIVIDED = 0.95;

type Split = { user_seconds: number; system_seconds: number };

const isMostOf = ({ user_seconds, system_seconds }: Split, cpu = 0): boolean =>
  user_seconds + system_seconds >= MOST_DIVIDED * cpu;

/** What the job's processes did, added up; of a part of a job nobody knows it. `cpu`: its CPU time in seconds, without Tacho's own. */
export function workOf(material: Material, cpu?: number): WorkReport | undefined {
  const { job, nodes, range } = material;
  if (range !== undefined) return undefined;
  const jobWorkSums = jobWork(material);
  const sum = (name: ProcessMetric, factor = 1): number | undefined => {
    const value = jobWorkSums?.sums.get(name);
    return value === undefined ? undefined : value * factor;
  };
  // the kernel's own count of all that was waited for, where all of it ran here
  const waited = job.usage !== undefined && nodes.length <= 1 && job.usage.elsewhere !== true ? job.usage : undefined;
  // a launcher that ends without waiting for its ranks leaves them out of it
  const exact = waited !== undefined && isMostOf(waited, cpu) ? waited : undefined;
  const counted = exact ?? cgroupSplit(material);
  const inAll = counted === undefined ? 0 : counted.user_seconds + counted.system_seconds;
  // commands of Tacho that the job called (tacho mark) are in that count, and not in its CPU time
  const isWithTacho = cpu !== undefined && inAll - cpu > TACHO_SECONDS;
  const share = isWithTacho ? cpu / inAll : 1;
  const split = counted && {
    user_seconds: counted.user_seconds * share,
    system_seconds: counted.system_seconds * share,
  };
  const events = isWithTacho && jobWorkSums?.missing === 0 ? undefined : exact;
  const user_seconds = split?.user_seconds ?? sum('usertime', 1e-6);
  const source = exact !== undefined ? 'wait4' : split !== undefined ? 'cgroup' : 'processes';
  const work: WorkReport = stated({
    user_seconds,
    system_seconds: split?.system_seconds ?? sum('systemtime', 1e-6),
    cpu_split_source: user_seconds === undefined ? undefined : source,
    waiting_seconds: sum('time_waiting', 1e-9),
    read_calls_bytes: sum('rchar'),
    written_calls_bytes: sum('wchar'),
    read_calls: sum('syscr'),
    write_calls: sum('syscw'),
    read_disk_bytes: sum('read_bytes'),
    written_disk_bytes: sum('write_bytes'),
    minor_faults: events?.minor_faults ?? sum('minflt'),
    major_faults: events?.major_faults ?? sum('majflt'),
    voluntary_switches: events?.voluntary_switches ?? sum('vol_ctxsw'),
    involuntary_switches: events?.involuntary_switches ?? sum('invol_ctxsw'),
    processes_missing: jobWorkSums === undefined || jobWorkSums.missing === 0 ? undefined : jobWorkSums.missing,
  } as const);
  return Object.keys(work).length === 0 ? undefined : work;
}
