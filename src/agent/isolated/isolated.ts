import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../../base/in-time.ts';
import type { CustomSource } from '../../sources/custom/custom.ts';
import { gpuTable } from '../../sources/gpu/gpu.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import { Host, type Note } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import type { Scope } from '../../sources/scope.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import { Child } from './child.ts';
import { deviceShown, type SourceMessage, takeFrame } from './talk.ts';

export interface IsolatedOptions {
  /** '' on a live machine, a frozen machine's folder in tests. */
  root: string;
  scope: Scope;
  deliver(frame: Frame): void;
  note(note: Note): void;
  /** Called when the GPUs have been opened. */
  facts?(gpus: NodeFacts['gpus']): void;
  /** The user's own sources. */
  custom?: readonly CustomSource[];
  intervalSeconds?: number;
  /** A read that takes longer is given up; default: two intervals, at least 2 s. */
  limitSeconds?: number;
  /** The same for opening a library; default: 15 s. */
  openLimitSeconds?: number;
}

interface Quarantine {
  /** Epoch milliseconds. */
  since: number;
  /** Tried again then; undefined: when the read returns. */
  until?: number;
}

/** Without persistence mode a driver takes a second or two a card to wake up. */
const OPENING_SECONDS = 15;
/** When one card after the other hangs, it stops somewhere. */
const MOST_CHILDREN = 6;
/** A last answer gets so long when the agent ends. */
const LAST_ANSWER_MS = 700;
/** A job that is over before the sources are open has nothing to show in them. */
const LAST_OPENING_MS = 250;
/** A user's source that hung, and a reader that died, are tried again after this, then after twice as long, … */
const FIRST_PAUSE_MS = 1_000;
const CUSTOM_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 600_000;
/** After so many deaths the reader says what it is at, so that the next death names its cause. */
const CAREFUL_AFTER = 1;

/**
 * Reads sources that may hang in a process of their own. A thread would not do: Node cannot end while one of its threads
 * is inside a C call. When a read takes too long, the device that it is at is left out by a second process; the first one
 * takes over again when its call returns.
 */
export class IsolatedSources {
  /** Requests that were skipped. */
  skipped = 0;
  private readonly options: IsolatedOptions;
  private readonly kinds: readonly string[];
  private readonly custom: readonly CustomSource[];
  private readonly limit: number;
  private readonly openLimit: number;
  private readonly frames = new Map<string, Frame>();
  private readonly quarantined = new Map<string, Quarantine>();
  private readonly pauses = new Map<string, number>();
  private children: Child[] = [];
  /** The tick that is asked for as soon as the sources are open. */
  private first: number | undefined;
  private deaths = 0;
  private spawnAfter = 0;
  private endedCpu = 0;
  private closing = false;
  private readonly opened = Promise.withResolvers<void>();

  constructor(kindNames: readonly string[], options: IsolatedOptions) {
    const host = new Host(options.root);
    this.options = options;
    this.kinds = sources
      .filter((kind) => kindNames.includes(kind.table.name) && kind.isolated === true && kind.present(host))
      .map((kind) => kind.table.name);
    this.custom = options.custom ?? [];
    this.limit = (options.limitSeconds ?? Math.max(2, 2 * (options.intervalSeconds ?? 1))) * 1000;
    this.openLimit = (options.openLimitSeconds ?? OPENING_SECONDS) * 1000;
    if (this.isIdle) this.opened.resolve();
    else this.spawn();
  }

  /** There is nothing to read here. */
  private get isIdle(): boolean {
    return this.kinds.length === 0 && this.custom.length === 0;
  }

  /** Asks for samples of this tick and returns at once; false: the last request is still being answered, this one is skipped. */
  request(time: number): boolean {
    if (this.isIdle) return true;
    const now = performance.now();
    this.release(now);
    for (const child of this.children) {
      const patience = child.ready ? this.limit : this.openLimit;
      const late = child.busySince > 0 && performance.now() - child.busySince > patience;
      if (late && child.hung === undefined) this.giveUp(child);
    }
    const child = this.choose();
    const opening = this.children.some((other) => other.hung === undefined && !other.ready);
    const incomplete = child?.opening.skip.some((device) => !this.quarantined.has(device)) ?? true;
    if (incomplete && !opening && now >= this.spawnAfter && !this.closing && this.children.length < MOST_CHILDREN)
      this.spawn();
    if (child === undefined && this.first === undefined) {
      this.first = time;
      return true;
    }
    if (child === undefined || child.busySince > 0) {
      this.skipped++;
      return false;
    }
    child.ask({ time, skip: [...this.quarantined.keys()] });
    return true;
  }

  /** The tables that there are; waits until the sources are open, but no longer than a read may take. */
  async tables(): Promise<Table[]> {
    await inTime(this.limit, this.opened.promise);
    return [...this.frames.values()].map((frame) => frame.table);
  }

  /** Waits a moment for the samples that were asked for last. */
  async settled(): Promise<void> {
    const begin = performance.now();
    const owes = (child: Child): boolean =>
      child.hung === undefined &&
      child.busySince > 0 &&
      performance.now() - begin < (child.ready ? LAST_ANSWER_MS : LAST_OPENING_MS);
    while (this.children.some(owes)) await sleep(5);
  }

  /** The same, and ends, whatever hangs. */
  async close(): Promise<void> {
    this.closing = true;
    await this.settled();
    for (const child of this.children) child.retire();
    await inTime(200, Promise.all(this.children.map((child) => child.gone)));
    for (const child of this.children) child.kill();
  }

  /** What the reading processes have cost so far. */
  get cost(): { cpu_us: number; rss_bytes: number } {
    const cpu = this.children.reduce((sum, child) => sum + child.cost.cpu_us, this.endedCpu);
    return { cpu_us: cpu, rss_bytes: this.children.reduce((sum, child) => sum + child.cost.rss_bytes, 0) };
  }

  private spawn(): void {
    const child = new Child(
      {
        agent: process.pid,
        kinds: this.kinds,
        custom: this.custom,
        root: this.options.root,
        scope: this.options.scope,
        skip: [...this.quarantined.keys()],
        tables: [...this.frames.values()].map((frame) => frame.table),
        careful: this.deaths >= CAREFUL_AFTER,
      },
      (sourceMessage) => this.hear(child, sourceMessage),
      (how) => this.died(child, how),
    );
    this.children.push(child);
  }

  private hear(child: Child, sourceMessage: SourceMessage): void {
    if (sourceMessage.at !== undefined) child.at = sourceMessage.at;
    if (sourceMessage.cost !== undefined) child.cost = sourceMessage.cost;
    // who was given up or sent away says things that another has said since
    const heard = child.hung === undefined && !child.retired;
    if (sourceMessage.table !== undefined && heard) this.addTable(child, sourceMessage.table);
    if (sourceMessage.gpus !== undefined && heard && child.left === 0) this.options.facts?.(sourceMessage.gpus);
    if (sourceMessage.note !== undefined) this.options.note(sourceMessage.note);
    if (sourceMessage.frame !== undefined && heard && !child.strange.has(sourceMessage.frame.table)) {
      const frame = this.frames.get(sourceMessage.frame.table);
      if (frame !== undefined) {
        takeFrame(frame, sourceMessage.frame);
        this.options.deliver(frame);
      }
    }
    if (sourceMessage.ready !== true && sourceMessage.done === undefined) return;
    child.ready = true;
    child.busySince = 0;
    this.opened.resolve();
    if (child.hung !== undefined) this.readmit(child, child.hung);
    else if (this.first !== undefined) {
      child.ask({ time: this.first, skip: [...this.quarantined.keys()] });
      this.first = undefined;
    }
  }

  /** A table stays what it was at first: its file has been begun. */
  private addTable(child: Child, table: Table): void {
    const existingFrame = this.frames.get(table.name)?.table;
    if (existingFrame === undefined) this.frames.set(table.name, new Frame(table));
    else if (JSON.stringify(existingFrame) !== JSON.stringify(table)) {
      child.strange.add(table.name);
      const why = 'has other columns since it was opened again; not recorded';
      this.options.note({ table: table.name, what: table.name, why });
    }
  }

  private readmit(child: Child, device: string): void {
    const since = this.quarantined.get(device)?.since ?? Date.now();
    this.quarantined.delete(device);
    child.hung = undefined;
    this.options.note({ ...about(device), why: `did not answer from ${moment(since)} to ${moment(Date.now())}` });
  }

  private died(child: Child, how: string): void {
    this.children = this.children.filter((other) => other !== child);
    this.endedCpu += child.cost.cpu_us;
    if (this.closing || child.retired) return;
    this.deaths++;
    this.opened.resolve();
    const device = child.hung ?? child.at;
    this.spawnAfter = performance.now() + this.pause('start', FIRST_PAUSE_MS);
    if (device !== '') {
      const until = performance.now() + this.pause(device, CUSTOM_PAUSE_MS);
      this.quarantined.set(device, { since: this.quarantined.get(device)?.since ?? Date.now(), until });
      this.options.note({ ...about(device), why: `reading it ended the reader (${how}); left out for now` });
    } else {
      const table = this.kinds[0] ?? this.custom[0]!.name;
      this.options.note({ table, what: 'the reader of isolated sources', why: `ended (${how})` });
    }
  }

  /** Twice as long each time. */
  private pause(what: string, first: number): number {
    const next = Math.min(LONGEST_PAUSE_MS, this.pauses.get(what) ?? first);
    this.pauses.set(what, next * 2);
    return next;
  }

  /** The one that has the most devices open takes the requests; the others are not needed any more. */
  private choose(): Child | undefined {
    const able = this.children.filter((child) => child.hung === undefined && child.ready);
    able.sort((a, b) => a.left - b.left);
    const [best, ...others] = able;
    if (best !== undefined && others.length > 0 && !others.some((child) => child.busySince > 0)) {
      for (const child of others) child.retire();
      this.children = this.children.filter((child) => !others.includes(child));
    }
    return able.find((child) => child.busySince > 0) ?? best;
  }

  private giveUp(child: Child): void {
    const device = deviceShown(commandLine(child.pid));
    const since = Date.now() - (performance.now() - child.busySince);
    if (device === '' || device === 'start') {
      // an answer may be on its way while the agent itself was held up
      if (child.doubted) child.kill();
      child.doubted = true;
      return;
    }
    child.hung = device;
    const own = device.startsWith('custom ');
    this.quarantined.set(
      device,
      own ? { since, until: performance.now() + this.pause(device, CUSTOM_PAUSE_MS) } : { since },
    );
    this.options.note({
      ...about(device),
      why: `does not answer since ${moment(since)}; the others are read without it`,
    });
    // a user's module that never returns would only burn CPU time
    if (own) {
      child.retire();
      child.kill();
    }
  }

  private release(now: number): void {
    for (const [device, { until }] of this.quarantined)
      if (until !== undefined && now >= until) this.quarantined.delete(device);
  }
}

/** 'nvidia 2' as people know it. */
function about(device: string): { table: string; what: string } {
  const [vendor, rest] = [device.slice(0, device.indexOf(' ')), device.slice(device.indexOf(' ') + 1)];
  if (vendor === 'custom') return { table: rest, what: rest };
  const name = vendor === 'nvidia' ? 'NVML' : "AMD's library";
  return { table: gpuTable.name, what: rest === 'init' ? `the start of ${name}` : `GPU ${rest}` };
}

const moment = (milliseconds: number): string => new Date(milliseconds).toISOString();

function commandLine(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
