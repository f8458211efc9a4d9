import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/**
 * The cgroup in which all cases run, before everything else on the machine: what else runs must not decide what is found.
 * Cases have a CPU quota or a limit of memory in cgroups of their own.
 */

const ROOT = '/sys/fs/cgroup';
const IS_UNIFIED = fs.existsSync(`${ROOT}/cgroup.controllers`);
const CPU = IS_UNIFIED ? ROOT : `${ROOT}/cpu`;
const MEMORY = IS_UNIFIED ? ROOT : `${ROOT}/memory`;
/** Part of the path of every cgroup of this run. */
export const OURS = `tacho-causes-${process.pid}`;
const DISK = IS_UNIFIED ? ROOT : `${ROOT}/blkio`;
const PERIOD = 100_000;

let made = 0;
let isFirst = false;

/** Moves this process, and with it all that it starts, into a cgroup that the kernel prefers. Returns why not, or nothing. */
export function goFirst(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may prefer them';
  try {
    const ours = preferred(OURS);
    if (IS_UNIFIED) fs.writeFileSync(`${ours}/cgroup.subtree_control`, '+cpu +memory +io');
    const work = path.join(ours, 'work');
    fs.mkdirSync(work);
    fs.writeFileSync(`${work}/cgroup.procs`, String(process.pid));
    process.on('exit', leave);
    isFirst = true;
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A cgroup with the highest weight there is. */
function preferred(name: string): string {
  const folder = path.join(CPU, name);
  fs.mkdirSync(folder);
  fs.writeFileSync(`${folder}/${IS_UNIFIED ? 'cpu.weight' : 'cpu.shares'}`, IS_UNIFIED ? '10000' : '262144');
  return folder;
}

/** Cases that are bound to one CPU each have the whole weight there. */
function preferredOn(cpu: number): string {
  const name = `${OURS}-${cpu}`;
  return fs.existsSync(path.join(CPU, name)) ? path.join(CPU, name) : preferred(name);
}

function leave(): void {
  for (const folder of fs.globSync(`${CPU}/${OURS}-*`)) remove(folder);
  fs.writeFileSync(`${CPU}/cgroup.procs`, String(process.pid));
  remove(path.join(CPU, OURS, 'work'));
  remove(path.join(CPU, OURS));
}

export interface Limits {
  /** MiB. */
  memory?: number | undefined;
  /** CPUs. */
  quota?: number | undefined;
  /** MiB/s. */
  disk?: number | undefined;
  /** The one that it is bound to. */
  cpu?: number | undefined;
  /** MiB beyond the limit of memory. */
  swap?: number | undefined;
}

export interface OwnCgroup {
  /** The words that run a command in it. */
  command: readonly string[];
  folders: readonly string[];
  remove(): void;
}

/** A cgroup with these limits. */
export function cgroupWith({ memory, quota, disk, cpu, swap = 0 }: Limits): OwnCgroup {
  const lane = cpu === undefined || quota !== undefined || !isFirst ? [] : [preferredOn(cpu)];
  const name = `case-${++made}`;
  const folders: string[] = [];
  const make = (above: string): string => {
    const folder = path.join(above, name);
    if (!folders.includes(folder)) {
      fs.mkdirSync(folder, { recursive: true });
      folders.push(folder);
    }
    return folder;
  };
  if (quota !== undefined) {
    const folder = make(path.join(CPU, OURS));
    if (IS_UNIFIED) fs.writeFileSync(`${folder}/cpu.max`, `${quota * PERIOD} ${PERIOD}`);
    else {
      fs.writeFileSync(`${folder}/cpu.cfs_period_us`, String(PERIOD));
      fs.writeFileSync(`${folder}/cpu.cfs_quota_us`, String(quota * PERIOD));
    }
  }
  if (memory !== undefined) {
    const folder = make(path.join(MEMORY, OURS));
    const write = (file: string, mib: number): void => {
      if (fs.existsSync(`${folder}/${file}`)) fs.writeFileSync(`${folder}/${file}`, String(mib * 2 ** 20));
    };
    write(IS_UNIFIED ? 'memory.max' : 'memory.limit_in_bytes', memory);
    write(IS_UNIFIED ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes', IS_UNIFIED ? swap : memory + swap);
  }
  if (disk !== undefined) {
    const folder = make(path.join(DISK, OURS));
    const device = deviceOf(os.tmpdir());
    const bytes = disk * 2 ** 20;
    if (IS_UNIFIED) fs.writeFileSync(`${folder}/io.max`, `${device} rbps=${bytes} wbps=${bytes}`);
    else
      for (const way of ['read', 'write'])
        fs.writeFileSync(`${folder}/blkio.throttle.${way}_bps_device`, `${device} ${bytes}`);
  }
  const into = [...folders, ...lane].join(' ');
  return {
    folders,
    command:
      into === '' ? [] : ['sh', '-c', 'for f in $0; do echo $$ >"$f/cgroup.procs" || exit 3; done; exec "$@"', into],
    remove() {
      for (const folder of folders) {
        remove(folder);
        removeIfEmpty(path.dirname(folder));
      }
    },
  };
}

/** The whole disk below a folder, as cgroups name it: 254:0. */
function deviceOf(folder: string): string {
  const { dev } = fs.statSync(folder);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const block = fs.realpathSync(`/sys/dev/block/${major}:${minor}`);
  const disk = fs.existsSync(`${block}/partition`) ? path.dirname(block) : block;
  return fs.readFileSync(`${disk}/dev`, 'utf8').trim();
}

/** Ends what is left in it. The kernel may need a moment after the last process has gone. */
function remove(folder: string): void {
  for (let i = 0; i < 100 && fs.existsSync(folder); i++) {
    try {
      fs.rmdirSync(folder);
    } catch {
      for (const pid of processesIn(folder)) if (pid !== process.pid) end(pid);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

/** It may hold those of others. */
function removeIfEmpty(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {
    // the last one to leave removes it
  }
}

const processesIn = (folder: string): number[] =>
  fs.readFileSync(`${folder}/cgroup.procs`, 'utf8').split('\n').filter(Boolean).map(Number);

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has gone by itself
  }
}
