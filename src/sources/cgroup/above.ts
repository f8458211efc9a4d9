import * as fs from 'node:fs';
import type { Host, KeptFile } from '../host.ts';
import { CGROUP_FILES, type CgroupFile } from './files.ts';
import { cgroupTable } from './table.ts';

/** What a job's cgroup used up to its end, which lies between two ticks: what is above it still counts that. */
export interface CgroupAbove {
  /** The job's cgroup was just read. */
  note(): void;
  /** The job's cgroup has gone: CPU time since the last note, as in the table. Undefined: other jobs were there too. */
  rest(): Float64Array | undefined;
  close(): void;
}

const { usage_us, user_us, system_us } = cgroupTable.at;
const CPU_TIMES = [usage_us, user_us, system_us];
const CPU_FILES = ['cpuacct.usage', 'cpuacct.stat', 'cpu.stat'];

/** `folder` is the job's own in the hierarchy of this version that counts CPU time. Undefined: it is none of Slurm's. */
export function watchAbove(host: Host, folder: string, version: 1 | 2): CgroupAbove | undefined {
  // version 1 has a folder for each user, which goes with the user's last job
  const [, top, user = '', job] = /^(.*?)(\/uid_\d+)?\/(job_\d+)$/.exec(folder) ?? [];
  if (top === undefined) return undefined;
  const files: { how: CgroupFile; file: KeptFile }[] = [];
  for (const how of CGROUP_FILES) {
    if (how.version !== version || !CPU_FILES.includes(how.name)) continue;
    const file = host.tryKeep(`${top}/${how.name}`);
    if (file !== undefined) files.push({ how, file });
  }
  const before = new Float64Array(cgroupTable.columns.length).fill(Number.NaN);
  const now = before.slice();
  let links = '';
  let alone = false;

  const count = (path: string): number => fs.statSync(host.path(path), { throwIfNoEntry: false })?.nlink ?? 0;
  const jobsIn = (path: string): string[] => host.list(path).filter((name) => name.startsWith('job_'));

  function isAlone(): boolean {
    const linkCounts = `${count(top!)} ${user === '' ? 0 : count(top! + user)}`;
    if (linkCounts === links) return alone;
    links = linkCounts;
    const users = user === '' ? [''] : host.list(top!).filter((name) => name.startsWith('uid_'));
    alone = users.every((name) => jobsIn(name === '' ? top! : `${top}/${name}`).every((each) => each === job));
    return alone;
  }

  function read(into: Float64Array): boolean {
    try {
      for (const { how, file } of files) how.read(host, file.read(), into);
      return files.length > 0;
    } catch {
      return false;
    }
  }

  let isKnown = false;
  return {
    note() {
      isKnown = isAlone() && read(before);
    },
    rest() {
      if (!isKnown || !isAlone() || !read(now)) return undefined;
      isKnown = false;
      for (const at of CPU_TIMES) now[at] = Math.max(0, now[at]! - before[at]!);
      return now;
    },
    close() {
      for (const { file } of files) file.close();
    },
  };
}

/** The job's last row: what it used until its end. All else of it has gone with its cgroup. */
export function lastRow(values: Float64Array, rest: Float64Array): Float64Array {
  const row = new Float64Array(values.length).fill(Number.NaN);
  for (const at of CPU_TIMES) row[at] = values[at]! + rest[at]!;
  return row;
}
