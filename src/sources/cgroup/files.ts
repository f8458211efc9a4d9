import { made } from '../../base/made.ts';
import { stated } from '../../base/stated.ts';
import { lineEnd, number, scan, spells } from '../digits.ts';
import type { Host } from '../host.ts';
import { type CgroupColumn, cgroupTable } from './table.ts';

/** One file of a cgroup and what it says: `read` puts values in their places. */
export interface CgroupFile {
  readonly version: 1 | 2;
  /** Version 1: the controller in whose hierarchy it lies. */
  readonly controller: string;
  readonly name: string;
  /** It hardly ever changes (limits): read now and then. */
  readonly slow: boolean;
  /** When this other file is there it says the same and more. */
  readonly instead?: string;
  read(host: Host, end: number, values: Float64Array): void;
}

type Read = CgroupFile['read'];

/** Version 1 writes "no limit" as a number near 2^63. */
const NO_LIMIT = 2 ** 60;
const TICK_MICROSECONDS = 10_000;
const { cpu_limit: CPU_LIMIT } = cgroupTable.at;

/** They hardly ever change. */
const LIMITS = ['cpu.max', 'memory.max', 'memory.limit_in_bytes', 'pids.max'];

/** What each file says, by the version and the controller that it is of. */
const FILES: readonly (readonly [version: 1 | 2, controller: string, files: Readonly<Record<string, Read>>])[] = [
  [
    2,
    'cpu',
    {
      'cpu.stat': lines({
        usage_usec: 'usage_us',
        user_usec: 'user_us',
        system_usec: 'system_us',
        nr_periods: 'periods',
        nr_throttled: 'throttled_periods',
        throttled_usec: 'throttled_us',
      }),
      'cpu.max': quota,
      'cpu.pressure': stalled('cpu_stalled_us'),
    },
  ],
  [
    2,
    'memory',
    {
      'memory.current': single('memory_current_bytes'),
      'memory.peak': single('memory_peak_bytes'),
      'memory.max': single('memory_limit_bytes'),
      'memory.swap.current': single('swap_current_bytes'),
      'memory.stat': lines({
        anon: 'memory_anon_bytes',
        file: 'memory_file_bytes',
        kernel: 'memory_kernel_bytes',
        shmem: 'memory_shmem_bytes',
        inactive_file: 'memory_inactive_file_bytes',
        pgfault: 'page_faults',
        pgmajfault: 'major_faults',
      }),
      'memory.events': lines({ oom: 'oom_events', oom_kill: 'oom_kills' }),
      'memory.pressure': stalled('memory_stalled_us'),
    },
  ],
  [2, 'io', { 'io.stat': ioStat(), 'io.pressure': stalled('io_stalled_us') }],
  [
    2,
    'pids',
    { 'pids.current': single('tasks'), 'pids.peak': single('tasks_peak'), 'pids.max': single('tasks_limit') },
  ],
  [
    1,
    'cpuacct',
    {
      'cpuacct.usage': single('usage_us', 1e-3),
      'cpuacct.stat': lines({ user: ['user_us', TICK_MICROSECONDS], system: ['system_us', TICK_MICROSECONDS] }),
    },
  ],
  [
    1,
    'cpu',
    {
      'cpu.stat': lines({
        nr_periods: 'periods',
        nr_throttled: 'throttled_periods',
        throttled_time: ['throttled_us', 1e-3],
      }),
    },
  ],
  [
    1,
    'memory',
    {
      'memory.usage_in_bytes': single('memory_current_bytes'),
      'memory.max_usage_in_bytes': single('memory_peak_bytes'),
      'memory.limit_in_bytes': single('memory_limit_bytes'),
      'memory.kmem.usage_in_bytes': single('memory_kernel_bytes'),
      // without total_ it is this cgroup alone, without those below
      'memory.stat': lines({
        total_cache: 'memory_file_bytes',
        total_rss: 'memory_anon_bytes',
        total_shmem: 'memory_shmem_bytes',
        total_swap: 'swap_current_bytes',
        total_pgfault: 'page_faults',
        total_pgmajfault: 'major_faults',
        total_inactive_file: 'memory_inactive_file_bytes',
      }),
      'memory.oom_control': lines({ oom_kill: 'oom_kills' }),
    },
  ],
  [
    1,
    'blkio',
    {
      'blkio.throttle.io_service_bytes_recursive': blkio('io_read_bytes', 'io_written_bytes'),
      'blkio.throttle.io_service_bytes': blkio('io_read_bytes', 'io_written_bytes'),
      'blkio.throttle.io_serviced_recursive': blkio('io_reads', 'io_writes'),
      'blkio.throttle.io_serviced': blkio('io_reads', 'io_writes'),
    },
  ],
  [1, 'pids', { 'pids.current': single('tasks'), 'pids.max': single('tasks_limit') }],
];

export const CGROUP_FILES: readonly CgroupFile[] = FILES.flatMap(([version, controller, files]) =>
  Object.entries(files).map(([name, read]) => {
    const instead = `${name}_recursive` in files ? `${name}_recursive` : undefined;
    return { version, controller, name, read, slow: LIMITS.includes(name), ...stated({ instead }) };
  }),
);

/** Version 1 has quota and period in two files; −1 is no quota. */
export function quotaOfVersion1(host: Host, folder: string): number {
  const quota = Number.parseInt(host.text(`${folder}/cpu.cfs_quota_us`) ?? '', 10);
  const period = Number.parseInt(host.text(`${folder}/cpu.cfs_period_us`) ?? '', 10);
  return quota > 0 ? quota / period : Number.NaN;
}

/** A file that is one number; `max` and numbers too large to mean anything are no limit. */
function single(column: CgroupColumn, factor = 1): Read {
  const at = cgroupTable.at[column];
  return (host, end, values) => {
    const value = number(host.bytes, 0, end);
    values[at] = value < NO_LIMIT ? Math.floor(value * factor) : Number.NaN;
  };
}

/** A file of lines `word number`. */
function lines(wanted: Readonly<Record<string, CgroupColumn | readonly [CgroupColumn, factor: number]>>): Read {
  const wantedNames = Object.keys(wanted).map((word) => Buffer.from(`${word} `));
  const columns = Object.values(wanted).map((column) => (typeof column === 'string' ? ([column, 1] as const) : column));
  const columnIndexes = columns.map(([column]) => cgroupTable.at[column]);
  const factors = columns.map(([, factor]) => factor);
  return (host, end, values) => {
    const { bytes } = host;
    for (let from = 0; from < end; ) {
      const stop = lineEnd(bytes, from, end);
      for (let i = 0; i < wantedNames.length; i++) {
        const word = wantedNames[i]!;
        if (bytes[from] !== word[0] || from + word.length > stop || !spells(bytes, from, word)) continue;
        values[columnIndexes[i]!] = Math.floor(number(bytes, from + word.length, stop) * factors[i]!);
        break;
      }
      from = stop + 1;
    }
  };
}

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, then a line `full …`. */
function stalled(column: CgroupColumn): Read {
  const at = cgroupTable.at[column];
  return (host, end, values) => {
    const stop = lineEnd(host.bytes, 0, end);
    let equals = stop;
    while (equals > 0 && host.bytes[equals] !== 61) equals--;
    values[at] = number(host.bytes, equals, stop);
  };
}

/** `50000 100000`: so much of each period; `max` is no limit. */
function quota(host: Host, end: number, values: Float64Array): void {
  const first = host.bytes[0]!;
  const limit = first >= 48 && first <= 57;
  values[CPU_LIMIT] = limit ? number(host.bytes, 0, end) / number(host.bytes, scan.at, end) : Number.NaN;
}

/** A line for each device: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`. */
function ioStat(): Read {
  const wantedNames = ['rbytes=', 'wbytes=', 'rios=', 'wios='].map((w) => Buffer.from(w));
  const { io_read_bytes, io_written_bytes, io_reads, io_writes } = cgroupTable.at;
  const columnIndexes = [io_read_bytes, io_written_bytes, io_reads, io_writes];
  return (host, end, values) => {
    const { bytes } = host;
    for (const at of columnIndexes) values[at] = 0;
    for (let from = 0; from < end; ) {
      const stop = lineEnd(bytes, from, end);
      const major = number(bytes, from, stop);
      const minor = number(bytes, scan.at, stop);
      if (minor >= 0 && !isStacked(host, major, minor)) {
        for (let at = scan.at; at < stop; at++) {
          if (bytes[at] !== 32) continue;
          for (let i = 0; i < wantedNames.length; i++) {
            if (spells(bytes, at + 1, wantedNames[i]!)) values[columnIndexes[i]!]! += number(bytes, at + 1, stop) || 0;
          }
        }
      }
      from = stop + 1;
    }
  };
}

/** Lines `8:0 Read 17` and `8:0 Write 4` among others for each device; `Total 21` at the end. */
function blkio(reads: CgroupColumn, writes: CgroupColumn): Read {
  const read = cgroupTable.at[reads];
  const written = cgroupTable.at[writes];
  return (host, end, values) => {
    const { bytes } = host;
    // newer kernels count nothing here unless a throttle is set: without a device there is no knowing
    const counted = end > 0 && bytes[0]! >= 48 && bytes[0]! <= 57;
    values[read] = counted ? 0 : Number.NaN;
    values[written] = counted ? 0 : Number.NaN;
    for (let from = 0; from < end; ) {
      const stop = lineEnd(bytes, from, end);
      const major = number(bytes, from, stop);
      const minor = number(bytes, scan.at, stop);
      const kind = bytes[scan.at + 1];
      const second = bytes[scan.at + 2];
      // R(ead) or W(rite); S(ync), A(sync), D(iscard), T(otal) count the same once more
      const at = kind === 82 && second === 101 ? read : kind === 87 ? written : -1;
      if (at >= 0) {
        const value = number(bytes, scan.at, stop);
        if (!isStacked(host, major, minor)) values[at]! += value || 0;
      }
      from = stop + 1;
    }
  };
}

const stacked = new WeakMap<Host, Map<number, boolean>>();

/** A device on top of others (LVM, RAID, encryption) counts what they count again. */
function isStacked(host: Host, major: number, minor: number): boolean {
  const stackedDevices = stacked.get(host) ?? new Map<number, boolean>();
  stacked.set(host, stackedDevices);
  const id = major * 2 ** 20 + minor;
  return made(stackedDevices, id, () => host.list(`/sys/dev/block/${major}:${minor}/slaves`).length > 0);
}
