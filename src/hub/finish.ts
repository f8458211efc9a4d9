import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../base/fault.ts';
import { nodeFolder, nodeName } from '../recording/node-folder.ts';
import { NOBODY_SAYS, NOTHING_MORE } from '../recording/silent-end.ts';
import type { Compressor } from './compress.ts';
import type { FiledRecording, FiledStream, Filing } from './filing.ts';
import { MOST_FILES, nodeFiles } from './node-files.ts';
import { below, placeKey } from './place.ts';
import { readReceived } from './received.ts';
import { type Sealing, startSealing } from './seal-child.ts';

interface Task {
  recording: FiledRecording;
  /** Also nodes that have not said that they are done: nobody has heard from them for long. */
  all: boolean;
}

/** One of each kind at a time: a day of the whole fleet takes long, and jobs do not wait for it. */
interface Lane {
  readonly waiting: Map<string, Task>;
  active: Promise<void> | undefined;
  sealing: Sealing | undefined;
}

/** What is held is looked at again after so long. */
const AGAIN_MS = 2000;

const lane = (): Lane => ({ waiting: new Map(), active: undefined, sealing: undefined });

/** Seals recordings whose nodes are all done, one after the other, while others are written to. */
export class Finisher {
  private readonly filing: Filing;
  private readonly compressor: Compressor;
  private readonly tell: (text: string) => void;
  private readonly lanes = { job: lane(), fleet: lane() };
  private closed = false;

  private readonly holds: (folder: string) => boolean;
  private again: NodeJS.Timeout | undefined;

  /** `holds`: whether a recording has to stay as it is for a while, because somebody still reads its files. */
  constructor(
    filing: Filing,
    compressor: Compressor,
    tell: (text: string) => void,
    holds: (folder: string) => boolean = () => false,
  ) {
    this.filing = filing;
    this.compressor = compressor;
    this.tell = tell;
    this.holds = holds;
  }

  /** A node is done: if it was the last, the recording is sealed. */
  consider(recording: FiledRecording): void {
    for (const stream of recording.streams.values()) if (!stream.done) return;
    for (const node of this.nodesOf(recording)) if (!this.isDone(recording, node)) return;
    this.add({ recording, all: false });
  }

  /** Seals what is there of a recording that nobody writes to any more. */
  giveUpWaiting(recording: FiledRecording): void {
    this.add({ recording, all: true });
  }

  hasWaiting(recording: FiledRecording): boolean {
    return recording.finishing || this.lanes[recording.kind].waiting.has(recording.key);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.again);
    for (const { waiting, sealing, active } of Object.values(this.lanes)) {
      waiting.clear();
      // what it was at is done again, by the next hub
      sealing?.child.kill('SIGTERM');
      await active;
    }
  }

  private add(task: Task): void {
    if (this.closed) return;
    const { key, kind } = task.recording;
    const lane = this.lanes[kind];
    lane.waiting.set(key, { ...task, all: task.all || lane.waiting.get(key)?.all === true });
    if (lane.active === undefined) this.next(lane);
  }

  private next(lane: Lane): void {
    for (const [key, task] of lane.waiting) {
      if (this.holds(path.join(this.filing.shelf.places.root, placeKey(task.recording.place)))) {
        this.again ??= setTimeout(() => {
          this.again = undefined;
          for (const each of Object.values(this.lanes)) if (!this.closed && each.active === undefined) this.next(each);
        }, AGAIN_MS).unref();
        continue;
      }
      lane.waiting.delete(key);
      lane.active = this.seal(task, lane)
        .catch((error: unknown) => this.tell(`cannot seal ${key}: ${reason(error)}`))
        .then(() => {
          lane.active = undefined;
          if (!this.closed) this.next(lane);
        });
      return;
    }
  }

  private async seal({ recording, all }: Task, lane: Lane): Promise<void> {
    const { filing } = this;
    const { places } = filing.shelf;
    recording.finishing = true;
    const resting: FiledStream[] = [];
    try {
      for (const node of this.foldersOf(recording)) {
        const stream = recording.streams.get(node) ?? filing.adoptNode(recording, node);
        if (!all && !stream.done) continue;
        for (const table of stream.tables.values()) table.release();
        filing.note(stream, stream.done);
        stream.resting = true;
        resting.push(stream);
      }
      await this.compressor.leave(recording.place);
      complete(
        recording,
        [...this.nodesOf(recording)].every((node) => this.isDone(recording, node)),
      );
      filing.saveJob(recording);
      const folder = path.join(places.root, placeKey(recording.place));
      lane.sealing = startSealing(
        folder,
        resting.map(({ node }) => node),
        recording.place.owner,
      );
      const { error } = await lane.sealing.answer;
      if (error !== undefined && !this.closed) this.tell(`cannot seal ${recording.key}: ${error}; it stays as it is`);
    } finally {
      lane.sealing = undefined;
      recording.finishing = false;
      for (const stream of resting) {
        places.in(stream.place, false, (folder) => {
          const { tables } = nodeFiles(folder, MOST_FILES);
          for (const table of stream.tables.values()) table.refresh(tables.get(table.name));
        });
        stream.resting = false;
      }
    }
  }

  private isDone(recording: FiledRecording, node: string): boolean {
    const stream = recording.streams.get(node);
    if (stream !== undefined) return stream.done;
    const place = below(recording.place, nodeFolder(node));
    return this.filing.shelf.places.in(place, false, (folder) => readReceived(folder).done === true) === true;
  }

  private nodesOf(recording: FiledRecording): Set<string> {
    return new Set([...recording.job.nodes, ...this.foldersOf(recording)]);
  }

  private foldersOf(recording: FiledRecording): string[] {
    const names = this.filing.shelf.places.in(recording.place, false, (folder) =>
      fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : [])),
    );
    return (names ?? []).flatMap((name) => nodeName(name) ?? []);
  }
}

/** What job.json does not say yet about the end. `whole`: every node has said that it is done. */
function complete(recording: FiledRecording, whole: boolean): void {
  const { job, kind } = recording;
  const end = job.end ?? (recording.ended > 0 ? recording.ended : undefined);
  const state = job.state === 'running' ? (kind === 'fleet' ? 'completed' : 'unknown') : job.state;
  if (end === job.end && state === job.state) return;
  const why = state === 'unknown' ? { reason: job.reason ?? (whole ? NOBODY_SAYS : NOTHING_MORE) } : {};
  recording.job = { ...job, ...(end === undefined ? {} : { end }), state, ...why };
  recording.unsaved = true;
}
