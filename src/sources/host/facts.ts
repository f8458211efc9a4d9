import * as os from 'node:os';
import type { Host } from '../host.ts';
import { pageBytes } from './page-bytes.ts';

/** Facts about the machine that do not change while a job runs. */
export interface NodeFacts {
  hostname: string;
  kernel: string;
  architecture: string;
  cpu_model?: string;
  /** CPUs that are online. */
  cpus: number;
  sockets?: number;
  memory_bytes: number;
  page_bytes?: number;
  /** Epoch microseconds. */
  boot_time?: number;
  gpus: {
    gpu: string;
    vendor: string;
    model?: string;
    uuid?: string;
    memory_bytes?: number;
    serial?: string;
    driver?: string;
  }[];
  /** The job's share of this node where the kernel says so (cpuset, cgroup limits). */
  allowed_cpus?: number;
  memory_limit_bytes?: number;
}

/** What the node is; its GPUs are filled in by whoever has opened them. */
export function nodeFacts(host: Host): NodeFacts {
  const cpuinfo = host.text('/proc/cpuinfo') ?? '';
  const facts: NodeFacts = {
    hostname: host.text('/proc/sys/kernel/hostname') ?? os.hostname(),
    kernel: host.text('/proc/sys/kernel/osrelease') ?? os.release(),
    architecture: host.text('/proc/sys/kernel/arch') ?? os.machine(),
    cpus: onlineCpus(host, cpuinfo),
    memory_bytes: numberAfter(host.text('/proc/meminfo'), /^MemTotal: +(\d+) kB/m, 1024) ?? os.totalmem(),
    page_bytes: pageBytes(host),
    gpus: [],
  };
  // x86 and ARM servers say `model name`, POWER says `cpu`
  const model = /^(?:model name|cpu)\s*: *(.+)$/m.exec(cpuinfo)?.[1]?.trim().replace(/ +/g, ' ');
  if (model !== undefined) facts.cpu_model = model;
  const sockets = countSockets(host, cpuinfo);
  if (sockets > 0) facts.sockets = sockets;
  const boot = numberAfter(host.text('/proc/stat'), /^btime (\d+)/m, 1e6);
  if (boot !== undefined) facts.boot_time = boot;
  const allowed = countList(/^Cpus_allowed_list:\s*(\S+)/m.exec(host.text('/proc/self/status') ?? '')?.[1]);
  if (allowed > 0) facts.allowed_cpus = allowed;
  const limit = memoryLimit(host);
  if (limit < facts.memory_bytes) facts.memory_limit_bytes = limit;
  return facts;
}

function numberAfter(text: string | undefined, pattern: RegExp, factor: number): number | undefined {
  const digits = pattern.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits) * factor;
}

/** How many a kernel's list like `0-3,8` names; 0 when there is none. */
export function countList(list: string | undefined): number {
  let count = 0;
  for (const [, from, to] of (list ?? '').matchAll(/(\d+)(?:-(\d+))?/g)) {
    count += to === undefined ? 1 : Number(to) - Number(from) + 1;
  }
  return count;
}

function onlineCpus(host: Host, cpuinfo: string): number {
  return (
    countList(host.text('/sys/devices/system/cpu/online')) ||
    [...cpuinfo.matchAll(/^processor\s*:/gm)].length ||
    os.availableParallelism()
  );
}

function countSockets(host: Host, cpuinfo: string): number {
  const ids = new Set([...cpuinfo.matchAll(/^physical id\s*: *(\d+)/gm)].map((match) => match[1]));
  if (ids.size > 0) return ids.size;
  for (const cpu of host.list('/sys/devices/system/cpu')) {
    const id = /^cpu\d+$/.test(cpu)
      ? host.text(`/sys/devices/system/cpu/${cpu}/topology/physical_package_id`)
      : undefined;
    // −1: the firmware does not say
    if (id !== undefined && id !== '-1') ids.add(id);
  }
  return ids.size;
}

/** The smallest memory limit on the way from this process' cgroup up to the root, v1 or v2; Infinity when there is none. */
function memoryLimit(host: Host): number {
  let limit = Number.POSITIVE_INFINITY;
  for (const line of (host.text('/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    const v1 = controllers!.split(',').includes('memory');
    if (!v1 && controllers !== '') continue;
    const [root, file] = v1 ? ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'] : ['/sys/fs/cgroup', 'memory.max'];
    for (let at = path.replace(/\/$/, ''); ; at = at.slice(0, at.lastIndexOf('/'))) {
      const bytes = Number.parseInt(host.text(`${root}${at}/${file}`) ?? '', 10);
      if (bytes < limit) limit = bytes;
      if (at === '') break;
    }
  }
  return limit;
}
