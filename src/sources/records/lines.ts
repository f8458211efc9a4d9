import type { Table } from '../../table/table.ts';
import type { PidNamespaces } from '../process/pid-namespaces.ts';
import { lineFields } from './fields.ts';
import { insideChildren } from './inside.ts';
import { type Known, keptOverExec, knownProcesses, NOTHING, type Written } from './known.ts';
import { LONG_TEXTS, longTexts } from './long-texts.ts';
import { isInside, recordNames, spaceOf } from './names.ts';
import { END_FIELDS, endField, type LineTrouble, type RecordFrames, recordRows, THREAD_FIELDS } from './rows.ts';

export interface RecordLines {
  readonly frames: RecordFrames;
  /** Takes the line between these places, without its newline. */
  take(bytes: Buffer, from: number, to: number): void;
  /** Lets go what waited for the lines that follow: of a read before the last one, or everything. */
  release(everything: boolean): void;
  readonly trouble: LineTrouble;
}

const TAB = 9;
const POINT = 46;
const START = 83;
const END = 69;
const THREAD = 84;
const TEXT = 65;
const WAITED = 87;
const TAKEN_BACK = 78;
const SECOND = 50;
const FIFTH = 53;

/** Fields of each kind of line, the point included. */
const START_FIELDS = 18;
const WAITED_FIELDS = 15;
const TAKEN_BACK_FIELDS = 5;
const TEXT_FIELDS = 6;
const [PEAK, USER, SYSTEM, OTHERS_USER, OTHERS_SYSTEM] = (
  ['rssmax', 'usertime', 'systemtime', 'cutime', 'cstime'] as const
).map(endField) as [number, number, number, number, number];
/** Of lines that wait for others no more than this is kept, in bytes: then the oldest wait no longer. */
const MOST_WAITING = 4 << 20;
/** What an entry costs besides its lines, about. */
const ENTRY = 256;

/** A process has a number, and perhaps a namespace that it holds in. */
const PROCESS = /^[1-9]\d{0,9}(@\d{1,20})?$/;
const PARENT = /^(\d{1,10}(@\d{1,20})?)?$/;
const MOMENT = /^\d{1,20}$/;
const TEXT_NAME = new RegExp(`^(${LONG_TEXTS.join('|')})$`);
/** What is kept is kept by these: the fields of each kind of line, in their order. */
const KEY_FORMS: ReadonlyMap<number, readonly RegExp[]> = new Map([
  [START, [PROCESS, MOMENT, PARENT]],
  [END, [PROCESS, MOMENT, PARENT]],
  [THREAD, [PROCESS, MOMENT]],
  [TEXT, [PROCESS, MOMENT, TEXT_NAME]],
  [WAITED, [PROCESS, PARENT]],
  [TAKEN_BACK, [PROCESS]],
]);

const KINDS = ['fork', 'exec', 'told', 'exit'] as const;

/** Programs that say nothing themselves, of which one may have made a namespace: the last ones are looked at. */
const MOST_SILENT = 64;

/** Lines of one process that wait for what follows. */
interface Waiting {
  /** The start of a forked child. */
  fork?: Buffer;
  /** An end by exec. */
  exec?: Buffer;
  /** What another process, or the image before, told of it. */
  told?: Buffer;
  /** An end without an exit code. */
  exit?: Buffer;
  seen: boolean;
}

/**
 * Makes rows of lines. Some kinds of lines wait for what follows: the start of a forked child, which most often executes
 * another program at once and then has nothing to tell; an end by exec, which may fail, and then the image lives on; what
 * was told of a program, which most often speaks for itself; and an end whose exit code only the parent knows.
 */
export function recordLines(
  tables: { start: Table; end: Table; thread: Table },
  {
    redact = false,
    delays = true,
    resumed = false,
    spaces,
  }: { redact?: boolean; delays?: boolean; resumed?: boolean; spaces?: PidNamespaces } = {},
): RecordLines {
  const trouble: LineTrouble = { torn: 0, unknown: 0, leftOut: 0, events: new Set(), ended: 0, counted: new Set() };
  const waiting = new Map<string, Waiting>();
  let waitingBytes = 0;
  const known = knownProcesses(resumed);
  const fields = lineFields();
  const texts = longTexts();
  const names = recordNames(spaces);
  const inside = insideChildren();
  const lastTold: string[] = [];
  const rows = recordRows(tables, fields, texts, trouble, { redact, delays, names });
  const { word, is, number, using, line } = fields;
  const who = (): string => names.name(word(2));

  /** Who the current line says has started the process. */
  function parentOf(name: string): Pick<Known, 'ppid' | 'parent'> {
    const parent = names.parent(word(4), name) || (isInside(name) ? parentOutside(name) : '');
    return { parent, ppid: parent === '' ? Number.NaN : Number(names.id(parent)) };
  }

  /** The first process of a namespace cannot name its parent; one that says nothing itself may have made it. */
  function parentOutside(name: string): string {
    const seen = names.parentOutside(name);
    if (seen !== undefined) return seen;
    const isSilent = (other: string): boolean => known.living.get(other)?.told === true;
    return lastTold.findLast((other) => isSilent(other) && spaceOf(other) !== spaceOf(name)) ?? '';
  }

  /** Who spawned it from outside has told of it by the id that it has there: that is this one. */
  function takeToldOutside(name: string): Known | undefined {
    const outside = names.id(name);
    const told = outside === name ? undefined : known.living.get(outside);
    if (told?.told !== true) return undefined;
    dropTold(waiting.get(outside), outside);
    stopWaiting(outside);
    known.leave(outside);
    return told;
  }

  /** A process of which nothing was known begins. */
  function beginNew(name: string, start: number): void {
    names.begin(name, start);
    if (isInside(name)) inside.add(names.parent(word(4), name) || parentOutside(name), name);
  }

  /** Lines that have waited become rows after all. */
  function letGo(pid: string, exitcode?: number): void {
    const held = waiting.get(pid);
    if (held === undefined) return;
    stopWaiting(pid);
    const live = known.living.get(pid);
    const ppid = live?.ppid;
    const wrote = live?.wroteBefore;
    // a child that was forked to execute something was never anything else
    if (held.fork !== undefined && held.told === undefined) using(held.fork, rows.addStart);
    if (held.exec !== undefined) using(held.exec, () => rows.addEnd(ppid, wrote));
    if (held.told !== undefined) using(held.told, rows.addStart);
    if (held.exit !== undefined) using(held.exit, () => rows.addEnd(ppid, wrote, exitcode));
  }

  function wait(kind: (typeof KINDS)[number], pid: string): void {
    const held = waiting.get(pid) ?? { seen: false };
    if (!waiting.has(pid)) waitingBytes += ENTRY;
    waitingBytes -= held[kind]?.length ?? 0;
    held[kind] = line();
    waitingBytes += held[kind].length;
    held.seen = false;
    waiting.set(pid, held);
    if (waitingBytes > MOST_WAITING) letOldestGo(pid);
  }

  /** Many at once: the first of a map is found slowly when those before it were removed. */
  function letOldestGo(current: string): void {
    for (const oldest of [...waiting.keys()]) {
      if (waitingBytes < MOST_WAITING * (15 / 16)) return;
      if (oldest !== current) letGo(oldest);
    }
  }

  /** Whatever still waits of it is forgotten. */
  function stopWaiting(pid: string): void {
    const held = waiting.get(pid);
    if (held === undefined) return;
    waiting.delete(pid);
    waitingBytes -= ENTRY;
    for (const kind of KINDS) waitingBytes -= held[kind]?.length ?? 0;
  }

  /** One line waits no longer. */
  function drop(held: Waiting, kind: (typeof KINDS)[number]): void {
    waitingBytes -= held[kind]?.length ?? 0;
    delete held[kind];
  }

  /** With the current line, and its newlines. */
  const withThis = ({ bytes: before, calls } = NOTHING): Written => ({
    bytes: before + fields.length(),
    calls: calls + 1,
  });

  /** And with the texts that went ahead of it. */
  function withTexts(before?: Written): Written {
    const { bytes, calls } = withThis(before);
    const ahead = texts.written(`${who()}:${word(3)}`);
    return { bytes: bytes + ahead.bytes, calls: calls + ahead.calls };
  }

  /** The start that a line has, as it stands there. */
  function startOf(held: Buffer | undefined): string {
    let start = '';
    if (held !== undefined)
      using(held, () => {
        start = word(3);
      });
    return start;
  }

  function dropTold(held: Waiting | undefined, pid: string): void {
    if (held?.told === undefined) return;
    texts.forget(`${pid}:${startOf(held.told)}`);
    drop(held, 'told');
  }

  function told(pid: string, start: number): void {
    const before = known.living.get(pid);
    // of a child that was spawned its parent tells only afterwards: it may have spoken, become another program or ended before
    const spoken = [pid, names.named(pid) ?? pid].some(
      (name) => (known.living.get(name)?.start ?? Number.NEGATIVE_INFINITY) >= start || known.endedSince(name, start),
    );
    if (spoken) {
      texts.forget(`${pid}:${word(3)}`);
      return;
    }
    if (waiting.get(pid)?.exit !== undefined) letGo(pid);
    if (before === undefined) beginNew(pid, start);
    dropTold(waiting.get(pid), pid);
    wait('told', pid);
    if (lastTold.push(pid) > MOST_SILENT) lastTold.shift();
    const wrote = is(8, 'told') ? withTexts(before?.wrote) : (before?.wrote ?? NOTHING);
    known.begin(pid, {
      // a program that is executed goes on with the process; one that is spawned begins one
      ...(is(8, 'told') ? keptOverExec(before) : {}),
      start,
      ...parentOf(pid),
      line: line(),
      told: true,
      before: before?.told ? before.before : before,
      wrote,
      wroteBefore: before?.wroteBefore ?? NOTHING,
    });
  }

  function started(): void {
    const pid = who();
    const start = number(3);
    // every child of a copy tells of it
    if (is(8, 'copy') && known.living.has(pid)) return;
    if (is(8, 'told') || is(8, 'spawn')) {
      told(pid, start);
      return;
    }
    const held = waiting.get(pid);
    if (is(8, 'fork') || is(8, 'copy')) {
      letGo(pid);
      beginNew(pid, start);
      wait('fork', pid);
      known.begin(pid, {
        start,
        ...parentOf(pid),
        line: line(),
        told: false,
        wrote: withTexts(),
        wroteBefore: NOTHING,
      });
      return;
    }
    // a process that executes a program keeps the parent that it was started by, which may have ended since
    const before = known.living.get(pid);
    const same = before !== undefined && (before.told || held !== undefined) ? before : undefined;
    if (same === undefined) beginNew(pid, start);
    const outside = same === undefined ? takeToldOutside(pid) : undefined;
    const { ppid, parent } = outside ?? (same === undefined || Number.isNaN(same.ppid) ? parentOf(pid) : same);
    dropTold(held, pid);
    if (held?.fork !== undefined) drop(held, 'fork');
    letGo(pid);
    known.begin(pid, {
      ...same,
      start,
      ppid,
      parent,
      line: line(),
      told: false,
      before: undefined,
      wrote: withTexts(same?.wrote),
      wroteBefore: same?.wrote ?? NOTHING,
    });
    rows.addStart(ppid);
  }

  function ended(): void {
    const pid = who();
    const held = waiting.get(pid);
    let live = known.living.get(pid);
    // that exec failed
    if (held?.exec !== undefined && is(3, startOf(held.exec))) drop(held, 'exec');
    if (live?.before !== undefined && live.before.start === number(3)) {
      dropTold(held, pid);
      live = live.before;
      known.begin(pid, live);
    }
    letGo(pid);
    if (is(16, 'exec')) {
      wait('exec', pid);
      if (live !== undefined) {
        live.wrote = withThis(live.wrote);
        live.peakBefore = Math.max(live.peakBefore ?? 0, number(PEAK) || 0);
      }
      return;
    }
    const { ppid, parent } = live !== undefined && live.start === number(3) ? live : parentOf(pid);
    known.end(pid, number(3));
    // with what its own children used that it waited for
    const user = number(USER) + (number(OTHERS_USER) || 0);
    const system = number(SYSTEM) + (number(OTHERS_SYSTEM) || 0);
    known.childUsed(parent, user, system);
    inside.end(parent, pid, user + system);
    if (!fields.isEmpty(17) || !is(16, 'exit'))
      rows.addEnd(ppid, live?.start === number(3) ? live.wroteBefore : NOTHING);
    else {
      known.begin(pid, {
        start: number(3),
        ppid,
        parent,
        line: Buffer.alloc(0),
        told: false,
        ended: true,
        wrote: NOTHING,
        wroteBefore: live?.wroteBefore ?? NOTHING,
      });
      wait('exit', pid);
    }
  }

  /** A parent says how a child ended: news only of one that has not said so itself. */
  function waited(): void {
    const told = who();
    const teller = names.parent(word(3), told);
    const status = number(4);
    const spoken = known.living.has(told) || known.isOver(told);
    // in a namespace of its own it has another id than for who waits for it
    const seen = names.named(told);
    const other = seen ?? (spoken ? undefined : inside.take(teller, status, number(5) + number(6)));
    const pid = other !== undefined && (!spoken || known.living.has(other)) ? other : told;
    const live = known.living.get(pid);
    if (live?.ended === true) {
      letGo(pid, (status & 0x7f) === 0 ? (status >> 8) & 0xff : undefined);
      known.end(pid, live.start);
      known.done(pid);
      return;
    }
    // a child that nobody has told of, made by a system call of its own, is a copy of its parent
    const like = live ?? (known.done(pid) ? undefined : known.living.get(teller));
    if (like === undefined) return;
    letGo(pid);
    rows.addWaited(pid, live, like, status);
    known.childUsed(teller, number(5), number(6));
    known.end(pid, live?.start ?? 0);
    known.done(pid);
  }

  /** Has every field that becomes part of a key its form, and with it a length? */
  const isFormed = (kind: number): boolean =>
    KEY_FORMS.get(kind)?.every((form, i) => {
      const field = i + (kind === TEXT ? 1 : 2);
      return field < fields.count() && form.test(word(field));
    }) === true;

  /** What was told last does not count: the program could not be executed, or is not to be recorded. */
  function takenBack(): void {
    const pid = who();
    const held = waiting.get(pid);
    const live = known.living.get(pid);
    dropTold(held, pid);
    if (is(3, 'failed')) {
      if (held?.exec !== undefined) drop(held, 'exec');
      if (live?.before !== undefined) known.begin(pid, live.before);
      return;
    }
    // what it was before has ended with this; a copy that was made only for this was never anything
    if (held?.exec !== undefined) letGo(pid);
    stopWaiting(pid);
    known.leave(pid);
  }

  return {
    frames: rows.frames,
    trouble,
    take(buffer, from, to) {
      if (to - from < 6 || cutOff(buffer, to)) {
        trouble.torn++;
        return;
      }
      fields.look(buffer, from, to);
      const count = fields.count();
      const kind = buffer[from]!;
      const version = kind === START || kind === END ? FIFTH : SECOND;
      if (buffer[from + 1] !== version || buffer[from + 2] !== TAB) trouble.unknown++;
      else if (!isFormed(kind)) trouble.torn++;
      else if (kind === START && count === START_FIELDS) started();
      else if (kind === END && count >= END_FIELDS) ended();
      else if (kind === THREAD && count >= THREAD_FIELDS) rows.addThread();
      else if (kind === TEXT && count === TEXT_FIELDS)
        texts.add(`${names.name(word(1))}:${word(2)}`, word(3), fields.bytes(4), fields.length());
      else if (kind === WAITED && count === WAITED_FIELDS) waited();
      else if (kind === TAKEN_BACK && count === TAKEN_BACK_FIELDS) takenBack();
      else trouble.torn++;
    },
    release(everything) {
      for (const [pid, held] of [...waiting]) {
        if (everything || held.seen) letGo(pid);
        else held.seen = true;
      }
    },
  };
}

/** Does the line lack the point that says that it is whole? */
function cutOff(bytes: Buffer, to: number): boolean {
  return bytes[to - 1] !== POINT || bytes[to - 2] !== TAB;
}
