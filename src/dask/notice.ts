import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../base/fault.ts';
import { inTime } from '../base/in-time.ts';
import type { WriterOptions } from '../recording/live/append.ts';
import { fromFile, parseScheduler, type SchedulerAddress } from './address.ts';
import { type Attached, attach } from './attach.ts';
import { Comm } from './comm.ts';
import { descendants, hasDask, isPython, listeningPorts, schedulerFiles } from './dask-ports.ts';

/** A process imports Dask some time after its start: it is looked at when it is so old, in seconds. */
const LOOKS = [0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const EVERY_MS = 500;
/** What a job may wait for after its end. */
const END_MS = 3000;

export interface NoticeOptions {
  /** The command whose processes are looked at. */
  pid: number;
  recording: string;
  intervalSeconds: number;
  writer: WriterOptions;
  say: (text: string) => void;
}

/**
 * Looks for Dask schedulers among the processes of a command, and records those that it finds into its recording. Nothing is
 * sent to a process that has not loaded Dask, and nothing that goes wrong here reaches the command.
 */
export function noticeClusters(options: NoticeOptions): { stop(): Promise<void> } {
  const attached: Attached[] = [];
  /** Addresses that were tried. */
  const known = new Set<string>();
  const seen = new Map<number, { since: number; looks: number }>();
  let isOver = false;

  async function look(): Promise<void> {
    const now = performance.now() / 1000;
    for (const pid of descendants(options.pid)) {
      const process = seen.get(pid) ?? { since: now, looks: 0 };
      seen.set(pid, process);
      if (now - process.since < (LOOKS[process.looks] ?? Number.POSITIVE_INFINITY)) continue;
      process.looks++;
      for (const address of candidates(pid)) {
        if (known.has(address.text)) continue;
        known.add(address.text);
        if (await isScheduler(address)) await record(address);
      }
    }
  }

  async function record(address: SchedulerAddress): Promise<void> {
    if (attached.length > 0 && !(await hasEnded(attached.at(-1)!))) {
      options.say(`a second Dask cluster (${address.text}) is not recorded: one is recorded already`);
      return;
    }
    attached.push(
      await attach({
        given: address.text,
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
        options.say(`tasks of Dask are not recorded: ${reason(error)}`);
      }
      await sleep(EVERY_MS, undefined, { ref: false });
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

const hasEnded = ({ ended }: Attached): Promise<boolean> => Promise.race([ended.then(() => true), sleep(0, false)]);

function candidates(pid: number): SchedulerAddress[] {
  const files = schedulerFiles(pid)
    .filter((file) => fs.existsSync(file))
    .flatMap((file) => {
      try {
        return fromFile(file);
      } catch {
        // it is being written
        return [];
      }
    });
  if (!isPython(pid) || !hasDask(pid)) return files;
  return [...files, ...listeningPorts(pid).map(({ host, port }) => parseScheduler(`tcp://${host}:${port}`))];
}

/** Dask's servers say hello first: nothing is sent before that. */
async function isScheduler(address: SchedulerAddress): Promise<boolean> {
  try {
    const comm = await Comm.open(address, {}, 1500);
    try {
      const identity = await inTime(5000, comm.ask('identity'));
      return typeof identity === 'object' && identity !== null && 'type' in identity && identity.type === 'Scheduler';
    } finally {
      comm.close();
    }
  } catch {
    return false;
  }
}
