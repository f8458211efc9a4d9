import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { Fault, usage } from '../base/fault.ts';
import { keepResults } from '../judge/keep-results.ts';
import { createRecording, discardRecording } from '../recording/folder/create.ts';
import { nodeFolder } from '../recording/folder/node-folder.ts';
import { openRecording } from '../recording/folder/open.ts';
import { replaceJson } from '../recording/folder/replace.ts';
import { TableWriter } from '../recording/live/append.ts';
import { sealRecording } from '../recording/sealed/seal.ts';
import { marker } from '../sources/own/marker.ts';
import { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import { cardFiller, cardsOf } from './cards.ts';
import {
  agentFacts,
  BOOT,
  type DemoRun,
  type DemoSize,
  FIRST_RUN,
  jobFacts,
  listed,
  nodeName,
  SLOWER_RUN,
} from './facts.ts';
import { type Filler, hostTables } from './host-tables.ts';
import { cgroupFiller, nodeProcesses, powerFiller } from './job-tables.ts';
import { machine } from './machine.ts';
import { marks } from './markers.ts';
import { noise } from './noise.ts';
import { recordFrames } from './records.ts';
import { type Story, tell } from './story.ts';

export interface DemoOptions extends Partial<DemoSize> {
  folder: string;
  seed?: number;
  /** The same job again, when storage is slow. */
  slower?: boolean;
  /** Leave the files as the agents of a running job write them. */
  live?: boolean;
  /** Without: processes are only sampled, and nothing is known of their CPUs. */
  records?: boolean;
  /** Told after each step how many of how many values are written. */
  progress?: (values: number) => void;
  /** Ends the work; what was written is removed. */
  signal?: AbortSignal;
}

const DEFAULTS: DemoSize = { nodes: 8, gpus: 8, seconds: 7200, interval: 1 };
/** Processes are looked at every ten seconds. */
const PROCESS_SECONDS = 10;
/** Number of ticks that are made before others get a turn. */
const STRIDE = 300;
/** The job goes on in steps of no more than a second, however seldom it is looked at: so all intervals show the same job. */
const STEP_SECONDS = 1;

/** The size of a demo, checked; what is not given is as in the documentation. */
export function demoSize(options: Partial<DemoSize>): DemoSize {
  const size = { ...DEFAULTS, ...options };
  const whole = (value: number, what: string, most: number): void => {
    if (!Number.isInteger(value) || value < 0 || value > most)
      throw usage(`${what} must be a whole number up to ${most}, not ${value}`);
  };
  whole(size.nodes, '--nodes', 10_000);
  whole(size.gpus, '--gpus', 256);
  if (size.nodes === 0) throw usage('--nodes must be at least 1');
  if (!(size.interval >= 0.1)) throw usage(`--interval must be at least 0.1 s, not ${size.interval}`);
  if (!(size.seconds >= size.interval * 2)) throw usage('--hours must be long enough for two samples');
  return size;
}

/** Values that a demo of this size has in the tables of GPUs and hosts. */
export const valuesOf = (size: DemoSize, slower = false): number =>
  Math.round(runSize(size, slower).seconds / size.interval) * size.nodes * (size.gpus * 15 + 60);

/** Writes the recording of a synthetic training job; the same bytes each time. Returns the recording's path. */
export async function writeDemo(options: DemoOptions): Promise<string> {
  const { folder, seed = 1, slower = false, live, records = true, progress, signal, ...asked } = options;
  const { story, ...size } = runSize(demoSize(asked), slower);
  const run = slower ? SLOWER_RUN : FIRST_RUN;
  // another day has another noise
  const runSeed = slower ? seed + 1000 : seed;
  if (fs.existsSync(folder) && (!fs.statSync(folder).isDirectory() || fs.readdirSync(folder).length > 0)) {
    throw new Fault(`${folder} exists already`, { hint: 'choose another folder with -o, or move that one away' });
  }
  const recording = createRecording(folder, jobFacts(size, run, ranksOf(size, story)));
  try {
    // sealing takes about as long as writing
    const shareOfWork = live === true ? 1 : 0.5;
    const nodeValues = valuesOf({ ...size, nodes: 1 });
    for (let node = 0; node < size.nodes; node++) {
      await writeNode(recording, { story, run, seed: runSeed, size, live: live === true, records }, node, (values) => {
        signal?.throwIfAborted();
        progress?.(values * shareOfWork);
      });
      if (live === true) continue;
      const opened = openRecording(recording);
      sealRecording({ ...opened, nodes: opened.nodes.filter(({ name }) => name === nodeName(node)) });
      progress?.(nodeValues * (1 - shareOfWork));
    }
    if (live !== true) keepResults(openRecording(recording));
  } catch (error) {
    // nobody shall take a part of it for the whole
    discardRecording(recording);
    throw error;
  }
  return recording;
}

interface Stream extends Filler {
  frame: Frame;
  writer: TableWriter;
  /** Steps of the job from one row to the next, and from one that is written to the next. */
  made: number;
  written: number;
}

/** The largest part of `whole` that it is a multiple of, and that is not above `most`. */
function partOf(whole: number, most: number): number {
  let divisor = Math.min(whole, Math.max(1, Math.round(most)));
  while (whole % divisor !== 0) divisor--;
  return divisor;
}

interface RunOptions {
  story: Story;
  run: DemoRun;
  seed: number;
  size: DemoSize;
  live: boolean;
  records: boolean;
}

async function writeNode(
  recording: string,
  { story, run, seed, size, live, records: isRecorded }: RunOptions,
  node: number,
  progress: (values: number) => void,
): Promise<void> {
  const { start } = run;
  const folder = path.join(recording, nodeFolder(nodeName(node)));
  fs.mkdirSync(folder, { mode: 0o700 });
  const { interval } = size;
  const steps = Math.ceil(interval / STEP_SECONDS);
  const step = interval / steps;
  const state = machine(story, seed, node, step);
  const cards = cardsOf(story, seed, node, size.gpus);
  const stride = Math.max(1, Math.round(PROCESS_SECONDS / interval)) * steps;
  const made = partOf(stride, PROCESS_SECONDS / step);
  const leak = node === story.cast.leak;
  const often: Filler[] = [
    ...(size.gpus > 0 ? [cardFiller(cards, story, node, step)] : []),
    ...hostTables(state, seed, node, step),
    powerFiller(state, cards, seed, node, step),
    cgroupFiller(state, seed, node, step),
  ];
  const processes = nodeProcesses(state, cards, { seed, node, leak, start, every: made * step, bound: isRecorded });
  // what is sealed at once need not be rolled
  const options = live ? {} : { rollSeconds: Number.POSITIVE_INFINITY, rollBytes: Number.POSITIVE_INFINITY };
  const open = (filler: Filler, made: number, written: number): Stream => ({
    ...filler,
    frame: new Frame(filler.table),
    writer: new TableWriter(folder, filler.table, options),
    made,
    written,
  });
  const streams = [...often.map((f) => open(f, 1, steps)), ...processes.fillers.map((f) => open(f, made, stride))];

  const clock = noise(seed, 'clock', node);
  const ticks = Math.round(size.seconds / interval);
  for (let tick = 0; tick < ticks; tick++) {
    // an agent wakes a little after its tick
    const late =
      tick === 0
        ? 0
        : Math.round(180 + Math.abs(clock.normal()) * 140 + (clock.uniform() < 0.01 ? 2500 * clock.uniform() : 0));
    const time = start + Math.round(tick * interval * 1e6) + late;
    for (let at = tick === 0 ? 0 : (tick - 1) * steps + 1; at <= tick * steps; at++) {
      state.advance(at * step);
      for (const stream of streams) {
        if (at % stream.made !== 0) continue;
        stream.frame.clear(time);
        stream.fill(stream.frame, at * step);
        if (at % stream.written === 0) stream.writer.append(stream.frame);
      }
    }
    if ((tick + 1) % STRIDE === 0 || tick + 1 === ticks) {
      progress(((tick % STRIDE) + 1) * (size.gpus * 15 + 60));
      await breathe();
    }
  }
  processes.finish(size.seconds);
  const idleBefore = story.cast.idle.gpu >= 0 && node > story.cast.idle.node ? 1 : 0;
  const records = !isRecorded
    ? []
    : recordFrames(processes.members, {
        ...{ story, seed, node, start, boot: BOOT },
        firstRank: node * size.gpus - idleBefore,
        ranks: ranksOf(size, story),
      });
  const events = [
    ...records.map((frame) => [frame.table, [frame]] as const),
    ...(node === 0 ? [[marker.table, marks(story, seed, start)] as const] : []),
  ];
  let written = 0;
  for (const writer of [
    ...streams.map((s) => s.writer),
    ...events.map(([table, frames]) => writeEvents(folder, table, frames)),
  ]) {
    await writer.close();
    if (writer.trouble)
      throw new Fault(`cannot write ${writer.file}: ${writer.trouble.why}`, { hint: 'choose another place with -o' });
    written += writer.bytesWritten;
  }
  const tables = [
    ...streams.map((s) => listed(s.table, s.written === steps ? undefined : s.written * step)),
    ...records.map(({ table }) => listed(table)),
  ];
  replaceJson(path.join(folder, 'agent.json'), agentFacts(size, run, node, tables, written));
}

/** What happened at a moment of its own: marks, which are set on the first node as a job script does, and processes. */
function writeEvents(folder: string, table: Table, frames: Iterable<Frame>): TableWriter {
  const writer = new TableWriter(folder, table, { rollSeconds: Number.POSITIVE_INFINITY });
  for (const frame of frames) writer.append(frame);
  return writer;
}

/** A rank for each card in use. */
const ranksOf = ({ nodes, gpus }: DemoSize, { cast }: Story): number =>
  nodes * gpus - (gpus > 0 && cast.idle.gpu >= 0 ? 1 : 0);

/** The slower run takes longer; its time limit is the same. */
export function runSize(size: DemoSize, slower: boolean): DemoSize & { limit: number; story: Story } {
  const story = tell(size.seconds, size.nodes, size.gpus, slower);
  const seconds = slower ? Math.floor(story.seconds / size.interval) * size.interval : size.seconds;
  return { ...size, seconds, limit: size.seconds * 1.5, story: { ...story, seconds } };
}
