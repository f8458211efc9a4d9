import * as fs from 'node:fs';
import type { CustomSource } from '../../sources/custom/custom.ts';
import { gpuTable } from '../../sources/gpu/gpu.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import { Host, type Note } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import type { Scope } from '../../sources/scope.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import { type Child, startChild } from './child.ts';
import { type Answer, deviceShown, takeFrame } from './talk.ts';

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

export interface IsolatedSources {
  /** Asks for samples of this tick and returns at once; false: the last request is still being answered, this one is skipped. */
  request(time: number): boolean;
  /** The tables that there are; waits until the sources are open, but no longer than a read may take. */
  tables(): Promise<Table[]>;
  /** Waits a moment for the samples that were asked for last. */
  settled(): Promise<void>;
  /** The same, and ends, whatever hangs. */
  close(): Promise<void>;
  /** Requests that were skipped. */
  readonly skipped: number;
  /** What the reading processes have cost so far. */
  readonly cost: { cpu_us: number; rss_bytes: number };
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
export function openIsolated(kindNames: readonly string[], options: IsolatedOptions): IsolatedSources {
  const host = new Host(options.root);
  const kinds = sources
    .filter((kind) => kindNames.includes(kind.table.name) && kind.isolated === true && kind.present(host))
    .map((kind) => kind.table.name);
  const custom = options.custom ?? [];
  if (kinds.length === 0 && custom.length === 0) return nothing();

  const limit = (options.limitSeconds ?? Math.max(2, 2 * (options.intervalSeconds ?? 1))) * 1000;
  const openLimit = (options.openLimitSeconds ?? OPENING_SECONDS) * 1000;
  const frames = new Map<string, Frame>();
  const quarantined = new Map<string, Quarantine>();
  const pauses = new Map<string, number>();
  let children: Child[] = [];
  let skipped = 0;
  /** The tick that is asked for as soon as the sources are open. */
  let first: number | undefined;
  let deaths = 0;
  let spawnAfter = 0;
  let ended = { cpu_us: 0 };
  let closing = false;
  let opened: (() => void) | undefined;
  const open = new Promise<void>((resolve) => {
    opened = resolve;
  });

  const spawn = (): void => {
    const child = startChild(
      {
        agent: process.pid,
        kinds,
        custom,
        root: options.root,
        scope: options.scope,
        skip: [...quarantined.keys()],
        tables: [...frames.values()].map((frame) => frame.table),
        careful: deaths >= CAREFUL_AFTER,
      },
      (answer) => hear(child, answer),
      (how) => died(child, how),
    );
    children.push(child);
  };

  const hear = (child: Child, answer: Answer): void => {
    if (answer.at !== undefined) child.at = answer.at;
    if (answer.cost !== undefined) child.cost = answer.cost;
    // who was given up or sent away says things that another has said since
    const heard = child.hung === undefined && !child.retired;
    if (answer.table !== undefined && heard) addTable(child, answer.table);
    if (answer.gpus !== undefined && heard && child.complete) options.facts?.(answer.gpus);
    if (answer.note !== undefined) options.note(answer.note);
    if (answer.frame !== undefined && heard && !child.strange.has(answer.frame.table)) {
      const frame = frames.get(answer.frame.table);
      if (frame !== undefined) {
        takeFrame(frame, answer.frame);
        options.deliver(frame);
      }
    }
    if (answer.ready !== true && answer.done === undefined) return;
    child.ready = true;
    child.busySince = 0;
    opened?.();
    if (child.hung !== undefined) readmit(child, child.hung);
    else if (first !== undefined) {
      child.ask({ time: first, skip: [...quarantined.keys()] });
      first = undefined;
    }
  };

  /** A table stays what it was at first: its file has been begun. */
  const addTable = (child: Child, table: Table): void => {
    const known = frames.get(table.name)?.table;
    if (known === undefined) frames.set(table.name, new Frame(table));
    else if (JSON.stringify(known) !== JSON.stringify(table)) {
      child.strange.add(table.name);
      options.note({
        table: table.name,
        what: table.name,
        why: 'has other columns since it was opened again; not recorded',
      });
    }
  };

  const readmit = (child: Child, device: string): void => {
    const since = quarantined.get(device)?.since ?? Date.now();
    quarantined.delete(device);
    child.hung = undefined;
    options.note({ ...about(device), why: `did not answer from ${moment(since)} to ${moment(Date.now())}` });
  };

  const died = (child: Child, how: string): void => {
    children = children.filter((other) => other !== child);
    ended = { cpu_us: ended.cpu_us + child.cost.cpu_us };
    if (closing || child.retired) return;
    deaths++;
    opened?.();
    const device = child.hung ?? child.at;
    spawnAfter = performance.now() + pause('start', FIRST_PAUSE_MS);
    if (device !== '') {
      const until = performance.now() + pause(device, CUSTOM_PAUSE_MS);
      quarantined.set(device, { since: quarantined.get(device)?.since ?? Date.now(), until });
      options.note({ ...about(device), why: `reading it ended the reader (${how}); left out for now` });
    } else {
      options.note({
        table: kinds[0] ?? custom[0]!.name,
        what: 'the reader of isolated sources',
        why: `ended (${how})`,
      });
    }
  };

  /** Twice as long each time. */
  const pause = (what: string, first: number): number => {
    const next = Math.min(LONGEST_PAUSE_MS, pauses.get(what) ?? first);
    pauses.set(what, next * 2);
    return next;
  };

  /** The one that has the most devices open takes the requests; the others are not needed any more. */
  const choose = (): Child | undefined => {
    const able = children.filter((child) => child.hung === undefined && child.ready);
    able.sort((a, b) => a.left - b.left);
    const [best, ...others] = able;
    if (best !== undefined && others.length > 0 && !others.some((child) => child.busySince > 0)) {
      for (const child of others) child.retire();
      children = children.filter((child) => !others.includes(child));
    }
    return able.find((child) => child.busySince > 0) ?? best;
  };

  const giveUp = (child: Child): void => {
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
    quarantined.set(device, own ? { since, until: performance.now() + pause(device, CUSTOM_PAUSE_MS) } : { since });
    options.note({ ...about(device), why: `does not answer since ${moment(since)}; the others are read without it` });
    // a user's module that never returns would only burn CPU time
    if (own) {
      child.retire();
      child.kill();
    }
  };

  const release = (now: number): void => {
    for (const [device, { until }] of quarantined) if (until !== undefined && now >= until) quarantined.delete(device);
  };

  const settled = async (): Promise<void> => {
    const begin = performance.now();
    const owes = (child: Child): boolean =>
      child.hung === undefined &&
      child.busySince > 0 &&
      performance.now() - begin < (child.ready ? LAST_ANSWER_MS : LAST_OPENING_MS);
    while (children.some(owes)) await within(new Promise(() => {}), 5);
  };

  spawn();
  return {
    request(time) {
      const now = performance.now();
      release(now);
      for (const child of children) {
        const patience = child.ready ? limit : openLimit;
        const late = child.busySince > 0 && performance.now() - child.busySince > patience;
        if (late && child.hung === undefined) giveUp(child);
      }
      const child = choose();
      const opening = children.some((other) => other.hung === undefined && !other.ready);
      const incomplete = child?.opening.skip.some((device) => !quarantined.has(device)) ?? true;
      if (incomplete && !opening && now >= spawnAfter && !closing && children.length < MOST_CHILDREN) spawn();
      if (child === undefined && first === undefined) {
        first = time;
        return true;
      }
      if (child === undefined || child.busySince > 0) {
        skipped++;
        return false;
      }
      child.ask({ time, skip: [...quarantined.keys()] });
      return true;
    },
    async tables() {
      await within(open, limit);
      return [...frames.values()].map((frame) => frame.table);
    },
    settled,
    async close() {
      closing = true;
      await settled();
      for (const child of children) child.retire();
      await within(Promise.all(children.map((child) => child.gone)), 200);
      for (const child of children) child.kill();
    },
    get skipped() {
      return skipped;
    },
    get cost() {
      const cpu = children.reduce((sum, child) => sum + child.cost.cpu_us, ended.cpu_us);
      return { cpu_us: cpu, rss_bytes: children.reduce((sum, child) => sum + child.cost.rss_bytes, 0) };
    },
  };
}

function nothing(): IsolatedSources {
  return {
    request: () => true,
    tables: async () => [],
    settled: async () => {},
    close: async () => {},
    skipped: 0,
    cost: { cpu_us: 0, rss_bytes: 0 },
  };
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

async function within(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
