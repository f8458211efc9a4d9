import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../base/fault.ts';
import { inTime } from '../base/in-time.ts';
import type { WriterOptions } from '../recording/live/append.ts';
import { type ClusterAddress, findCluster, fromFile, parseScheduler, type SchedulerAddress } from './address.ts';
import type { Attached } from './attach.ts';
import {
  descendants,
  hasDask,
  isPython,
  listeningPorts,
  listeningSockets,
  schedulerFiles,
  socketCount,
} from './dask-ports.ts';

/** A scheduler file may be written some time after the start of a process that names it: this old, in seconds. */
const LOOKS = [0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const EVERY_MS = 500;
/** Looking takes at most this part of the time, unless it would be rarer than every so many milliseconds. */
const SHARE = 0.002;
const MOST_MS = 5000;
/** Programs make their cluster soon after their start: until a Python is so old (seconds), looks are this far apart at most. */
const YOUNG_SECONDS = 60;
const YOUNG_MOST_MS = 1000;
/** How often an address that does not say who it is is tried: its process may be busy. */
const TRIES = 5;
/** A program may make its next cluster before the monitor has noticed the end of the one before. */
const NOTICED_MS = 5000;
/** What a job may wait for after its end. */
const END_MS = 3000;

export interface NoticeOptions {
  /** The command whose processes are looked at. */
  pid: number;
  recording: string;
  intervalSeconds: number;
  writer: WriterOptions;
  say: (text: string) => void;
  /** When processes are looked at without a new socket (default: LOOKS). */
  looks?: readonly number[];
}

/**
 * Looks for Dask schedulers among the processes of a command, and records those that it finds into its recording. Nothing is
 * sent to a process that has not loaded Dask, and nothing that goes wrong here reaches the command.
 */
export function noticeClusters(options: NoticeOptions): { stop(): Promise<void> } {
  const { looks = LOOKS } = options;
  const attached: Attached[] = [];
  /** How often addresses have to be tried still, by what is new when another cluster has the same; 0: it is known. */
  const tries = new Map<string, number>();
  const sightings = new Map<number, { since: number; looks: number }>();
  let sockets = new Set<string>();
  let count = '';
  let lookedMs = 0;
  let isYoung = false;
  let recording = Promise.resolve();
  let isOver = false;

  async function look(): Promise<void> {
    const began = performance.now();
    const now = began / 1000;
    const pids = descendants(options.pid);
    // a scheduler listens, whenever the program makes it
    const pythons = pids.filter(isPython);
    const isNew = (pythons.length > 0 && hasNewSocket()) || [...tries.values()].some((left) => left > 0);
    const addresses = new Map<string, SchedulerAddress>();
    for (const pid of pids) {
      const process = sightings.get(pid) ?? { since: now, looks: 0 };
      sightings.set(pid, process);
      const isDue = now - process.since >= (looks[process.looks] ?? Number.POSITIVE_INFINITY);
      if (isDue) process.looks++;
      if (isDue || isNew) for (const { id, address } of candidates(pid)) addresses.set(id, address);
    }
    isYoung = pythons.some((pid) => now - sightings.get(pid)!.since < YOUNG_SECONDS);
    if (isNew) for (const [id, left] of tries) if (left > 0 && !addresses.has(id)) tries.delete(id);
    lookedMs = performance.now() - began;
    await Promise.all([...addresses].map(([id, address]) => tryAddress(id, address)));
  }

  function hasNewSocket(): boolean {
    const now = socketCount();
    if (now === count && now !== '') return false;
    count = now;
    const before = sockets;
    sockets = listeningSockets();
    return [...sockets].some((socket) => !before.has(socket));
  }

  async function tryAddress(id: string, address: SchedulerAddress): Promise<void> {
    const left = tries.get(id) ?? TRIES;
    if (left === 0) return;
    const type = await serverType(address);
    tries.set(id, type === undefined ? left - 1 : 0);
    const cluster =
      type === 'Scheduler' ? address.text : type === WEB_SERVER ? await inProcessBehind(address) : undefined;
    if (cluster === undefined) return;
    recording = recording.then(() => record(cluster));
    await recording;
  }

  /** `cluster` is the address of a scheduler, or of the dashboard of one that only its process can connect to. */
  async function record(cluster: string): Promise<void> {
    const last = attached.at(-1);
    if (last !== undefined && !(await hasEnded(last, 0))) {
      const { scheduler, dashboard } = last.opened.cluster;
      if ((scheduler?.text ?? dashboard) === cluster) return;
    }
    if (last !== undefined && !(await hasEnded(last, NOTICED_MS))) {
      options.say(`a second Dask cluster (${cluster}) is not recorded: one is recorded already`);
      return;
    }
    if (isOver) return;
    // most commands have no cluster: the code for it is loaded when there is one
    const { attach } = await import('./attach.ts');
    attached.push(
      await attach({
        given: cluster,
        parent: '.',
        into: options.recording,
        tracking: ['tasks', 'total-mem', 'mem-util', 'compute-util'],
        intervalSeconds: options.intervalSeconds,
        jobType: 'client',
        readOnly: false,
        paused: false,
        certificates: {},
        hardware: { intervalSeconds: 1, only: [], without: [], custom: [] },
        writer: options.writer,
        returnSeconds: 0,
        say: () => {},
      }),
    );
  }

  async function run(): Promise<void> {
    while (!isOver) {
      try {
        await look();
      } catch (error) {
        recording = Promise.resolve();
        options.say(`tasks of Dask are not recorded: ${reason(error)}`);
      }
      await sleep(pauseAfter(lookedMs, isYoung), undefined, { ref: false });
    }
  }
  void run();
  return {
    async stop() {
      isOver = true;
      for (const each of attached) each.detach('the command has ended');
      await inTime(
        END_MS,
        Promise.all(attached.map(({ ended }) => ended)).then(() => true),
      );
    },
  };
}

/** Milliseconds until the next look, after one that took `lookedMs`. */
export const pauseAfter = (lookedMs: number, isYoung: boolean): number =>
  Math.min(isYoung ? YOUNG_MOST_MS : MOST_MS, Math.max(EVERY_MS, lookedMs / SHARE));

const hasEnded = ({ ended }: Attached, withinMs: number): Promise<boolean> =>
  Promise.race([ended.then(() => true), sleep(withinMs, false, { ref: false })]);

function candidates(pid: number): { id: string; address: SchedulerAddress }[] {
  const files = schedulerFiles(pid)
    .filter((file) => fs.existsSync(file))
    .flatMap((file) => {
      try {
        const address = fromFile(file);
        return { id: address.text, address };
      } catch {
        // it is being written
        return [];
      }
    });
  const ports = isPython(pid) ? listeningPorts(pid) : [];
  if (ports.length === 0 || !hasDask(pid)) return files;
  return [
    ...files,
    ...ports.map(({ host, port, inode }) => ({ id: inode, address: parseScheduler(`tcp://${host}:${port}`) })),
  ];
}

const WEB_SERVER = 'a web server';
const OTHER = 'something else';

/** What a server says that it is; undefined: it does not speak. */
async function serverType(address: SchedulerAddress): Promise<string | undefined> {
  const { Comm, HungUp, WebServer } = await import('./comm.ts');
  try {
    // a dashboard would wait for our request: a connection that lasts until the program ends would make Tornado complain of it
    const comm = await Comm.open(address, {}, { limitMs: 1500, helloFirst: true });
    try {
      const identity = await inTime(5000, comm.ask('identity'));
      return typeof identity === 'object' && identity !== null && 'type' in identity
        ? String(identity.type)
        : undefined;
    } finally {
      comm.close();
    }
  } catch (error) {
    if (error instanceof WebServer) return WEB_SERVER;
    // who hangs up wants TLS, say: another try would be another warning in the program's output
    return error instanceof HungUp ? OTHER : undefined;
  }
}

/** The address of a dashboard whose scheduler is inside one process, and so has no other address; undefined: it is no such. */
async function inProcessBehind({ host, port }: SchedulerAddress): Promise<string | undefined> {
  const { dashboard, inProcess } = await findCluster(`http://${host}:${port}`).catch(() => ({}) as ClusterAddress);
  return inProcess === undefined ? undefined : dashboard;
}
