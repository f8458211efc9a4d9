import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNodeAgent } from '../agent/loop/node-agent.ts';
import { Fault, reason } from '../base/fault.ts';
import { runningJob } from '../control/running-job.ts';
import { defaultFolder, jobFacts } from '../jobs/schedulers/job-facts.ts';
import { createRecording, discardRecording, newRecording, saveJob } from '../recording/folder/create.ts';
import type { Job } from '../recording/folder/job.ts';
import { nodeFolder } from '../recording/folder/node-folder.ts';
import { type NodeRecording, openRecording } from '../recording/folder/open.ts';
import type { WriterOptions } from '../recording/live/append.ts';
import { readDefined } from '../recording/read/read.ts';
import { sealRecording } from '../recording/sealed/seal.ts';
import { isWorthSealing } from '../recording/sealed/worth-sealing.ts';
import type { CustomSource } from '../sources/custom/custom.ts';
import { daskGraphTable } from '../sources/own/dask.ts';
import type { Certificates } from './comm.ts';
import { type ControlAnswer, type ControlRequest, controlOf, listenForControl } from './control.ts';
import { loadCustomModule } from './custom-module.ts';
import { DaskWriter } from './dask-writer.ts';
import type { Way } from './events.ts';
import type { JobType } from './job-numbers.ts';
import { Monitor } from './monitor.ts';
import { type OpenedWay, openWay, type WayOptions } from './open-way.ts';

export interface AttachOptions {
  /** The address of the scheduler or dashboard, or a scheduler file. */
  given: string;
  /** The new recording; without it one is named in `parent`. */
  folder?: string;
  parent: string;
  /** A recording that goes on (`tacho run`, `tacho start`): write into it. */
  into?: string;
  tracking: readonly string[];
  intervalSeconds: number;
  jobType: JobType;
  /** FILE.py or FILE.ts with custom metrics. */
  custom?: string;
  readOnly: boolean;
  /** Wait for `tacho dask start`. */
  paused: boolean;
  certificates: Certificates;
  /** Of the hardware of this node. */
  hardware: {
    intervalSeconds: number;
    only: readonly string[];
    without: readonly string[];
    custom: readonly CustomSource[];
  };
  writer: WriterOptions;
  /** How long a scheduler that went away is looked for (default: 5). */
  returnSeconds?: number;
  say: (text: string) => void;
}

export interface Attached {
  readonly recording: string;
  readonly opened: OpenedWay;
  readonly monitor: Monitor;
  /** Resolves when it is over, with the reason. */
  readonly ended: Promise<string>;
  detach(why: string): void;
}

const FLUSH_MS = 200;
/** A scheduler that went away may come back: so long it is looked for. */
const RETURN_SECONDS = 5;

/** Attaches to a cluster and records it until it is told to end, or the cluster has gone. */
export async function attach(options: AttachOptions): Promise<Attached> {
  const { say, returnSeconds = RETURN_SECONDS } = options;
  const isPython = options.custom?.endsWith('.py') === true;
  const custom = options.custom === undefined || isPython ? [] : await loadCustomModule(options.custom);
  const monitor = new Monitor({ ...options, custom });
  const wayOptions: WayOptions = {
    id: `tacho-${randomUUID()}`,
    intervalSeconds: options.intervalSeconds,
    certificates: options.certificates,
    readOnly: options.readOnly,
    say,
    ...(isPython ? { custom: readPython(options.custom!) } : {}),
  };
  if (options.into !== undefined) refuseSecond(options.into);
  let opened = await openWay(options.given, wayOptions, monitor);
  const recordingPlace = await openSource(options, opened).catch(async (error: unknown) => {
    await opened.way.close();
    throw error;
  });
  const writer = new DaskWriter(recordingPlace.folder, options.writer);
  monitor.numbers.goOnAfter(recordingPlace.lastJob);
  if (!options.paused) monitor.isRecording = true;
  monitor.writeTo(writer);
  monitor.wayIn(opened.way);
  if (!options.paused) {
    monitor.isRecording = false;
    monitor.start(recordingPlace.start);
  }
  const flushing = setInterval(() => writer.flush(), FLUSH_MS);
  const outcome = Promise.withResolvers<string>();
  const done = Promise.withResolvers<void>();

  async function answerRequest(request: ControlRequest): Promise<ControlAnswer> {
    // what happened before the request belongs to the time before it
    if (request.op === 'start' || request.op === 'new-job') await opened.way.catchUp();
    if (request.op === 'start') monitor.start();
    else if (request.op === 'stop') {
      await opened.way.settle();
      monitor.stop();
    } else if (request.op === 'new-job') return { ok: true, job: monitor.newJob(request.job) };
    else if (request.op === 'detach') {
      outcome.resolve('detached');
      await done.promise;
    } else if (request.op !== 'status') throw new Fault(`"${request.op}" is no request of a monitor`);
    const { way, passed } = opened;
    const troubles = writer.troubles().map(({ table, trouble }) => ({ table, ...trouble }));
    return {
      ok: true,
      ...monitor.status(),
      recording_folder: recordingPlace.recording,
      way: way.name,
      missing: way.missing,
      passed,
      disk: troubles,
      time: Date.now() / 1000,
    };
  }
  const unlisten = await listenForControl(
    recordingPlace.recording,
    { scheduler: opened.cluster.scheduler?.text ?? opened.cluster.dashboard ?? options.given, way: opened.way.name },
    answerRequest,
  );

  /** Listens until it is told to end, or nobody is there any more. */
  async function listen(): Promise<string> {
    for (;;) {
      const end = outcome.promise.then((why) => ({ why, isTold: true }));
      const { why, isTold } = await Promise.race([end, opened.way.ended.then((why) => ({ why, isTold: false }))]);
      if (isTold) return why;
      if (returnSeconds === 0) return why;
      say(`${why}; looking for it for ${returnSeconds} s`);
      const again = await comeBack();
      if (again === undefined) return why;
      opened = again;
      monitor.wayIn(opened.way);
      say('the scheduler is back: recording goes on');
    }
  }

  async function comeBack(): Promise<OpenedWay | undefined> {
    const until = Date.now() + returnSeconds * 1000;
    monitor.numbers.forgetGraphs();
    let isTold = false;
    void outcome.promise.then(() => {
      isTold = true;
    });
    while (Date.now() < until && !isTold) {
      await sleep(500);
      try {
        return await openWay(options.given, wayOptions, monitor);
      } catch {
        // not yet
      }
    }
    return undefined;
  }

  async function run(): Promise<string> {
    const why = await listen();
    if (await isOpen(opened.way)) await opened.way.settle();
    clearInterval(flushing);
    monitor.stop();
    await opened.way.close();
    await writer.close();
    for (const { table, trouble } of writer.troubles())
      if (trouble.lostRows > 0) say(`${trouble.lostRows} rows of ${table} are lost: ${trouble.why}`);
    unlisten();
    await recordingPlace.finish(why);
    done.resolve();
    return why;
  }
  return {
    recording: recordingPlace.recording,
    get opened() {
      return opened;
    },
    monitor,
    ended: run(),
    detach: (why) => outcome.resolve(why),
  };
}

/** Whether its connection goes on. */
const isOpen = (way: Way): Promise<boolean> => Promise.race([way.ended.then(() => false), sleep(0, true)]);

interface RecordingPlace {
  recording: string;
  /** The folder of this node in it. */
  folder: string;
  /** When it began, epoch seconds. */
  start: number;
  /** Of the clusters that were recorded into it before, the highest number of a job. */
  lastJob: number;
  finish(why: string): Promise<void>;
}

function readPython(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
}

function refuseSecond(recording: string): void {
  const other = controlOf(recording);
  if (other !== undefined)
    throw new Fault(`a monitor (process ${other.pid}) records ${other.scheduler} in ${recording} already`, {
      hint: 'end that one with tacho dask detach, or choose another folder with -o',
    });
}

function lastJobOf(node: NodeRecording): number {
  if (!node.tables.has(daskGraphTable.name)) return 0;
  let last = 0;
  // most events have none, which is not a number
  for (const job of readDefined(node, daskGraphTable, { columns: ['dask_job'] }).numbers.get('dask_job') ?? [])
    if (job > last) last = job;
  return last;
}

/** The recording that it writes into: one that goes on, or a new one with the hardware of this node. */
async function openSource(options: AttachOptions, { cluster }: OpenedWay): Promise<RecordingPlace> {
  const start = Date.now() / 1000;
  const node = os.hostname().split('.')[0]!;
  if (options.into !== undefined) {
    const recording = path.resolve(options.into);
    const { nodes } = openRecording(recording);
    const lastJob = Math.max(0, ...nodes.map(lastJobOf));
    const own = nodes.find(({ name }) => name === node || name === os.hostname())?.folder;
    return {
      recording,
      folder: own ?? nodes[0]?.folder ?? path.join(recording, nodeFolder(node)),
      start,
      lastJob,
      async finish() {},
    };
  }
  const address = cluster.scheduler?.text ?? cluster.dashboard!;
  const facts = await jobFacts(process.env, {
    name: 'dask',
    hosts: [node],
    tags: { dask: address },
    command: ['tacho', 'dask', 'attach', options.given],
  });
  const job: Job = runningJob(facts, options.hardware.intervalSeconds);
  const recording =
    options.folder === undefined
      ? newRecording(job, { parent: options.parent, name: defaultFolder(job), say: options.say })
      : createRecording(options.folder, job);
  try {
    const agent = await startNodeAgent({ ...options.hardware, recording, node, writer: options.writer });
    return {
      recording,
      folder: path.join(recording, nodeFolder(node)),
      start,
      lastJob: 0,
      async finish(why) {
        await agent.stop(why);
        saveJob(recording, { ...job, end: Date.now() * 1000, state: 'completed', reason: why });
        const whole = openRecording(recording);
        if (isWorthSealing(whole)) sealRecording(whole, { force: true });
      },
    };
  } catch (error) {
    discardRecording(recording);
    throw error;
  }
}
