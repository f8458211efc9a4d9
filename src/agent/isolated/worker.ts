import * as fs from 'node:fs';
import { createInterface } from 'node:readline';
import { reason } from '../../base/fault.ts';
import { ignoreApplicationSignals, PAUSE_SIGNALS } from '../../base/signals.ts';
import { type CustomDevice, type CustomSource, openCustom } from '../../sources/custom/custom.ts';
import { loadKoffi } from '../../sources/ffi.ts';
import { DeviceHost } from '../../sources/host/device-host.ts';
import type { Note } from '../../sources/host.ts';
import { type SourceKind, Unavailable } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import { frameMessage, MARK, type Opening, type Request, type SourceMessage, showDevice } from './talk.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGXCPU'] as const;
/** Answers go out here, away from whatever a library or a user's module prints. */
const ANSWERS = 3;
/** A source that failed so often in a row is asked less and less often. */
const PATIENCE = 3;
const LONGEST_PAUSE_SECONDS = 600;
const MOST_NOTES = 20;
/** A read that begins later than this after its tick is recorded with its own time. */
const LATE_MICROSECONDS = 100_000;

interface Reader {
  readonly name: string;
  /** Microseconds between reads; 0: every request. */
  readonly every: number;
  due: number;
  failures: number;
  /** Notes about it so far. */
  notesSent: number;
  busy: boolean;
  /** Samples, at once or later. */
  read(time: number): Frame | Promise<Frame>;
}

const newReader = (name: string, seconds: number | undefined, read: Reader['read']): Reader => {
  return { name, every: (seconds ?? 0) * 1e6, due: 0, failures: 0, notesSent: 0, busy: false, read };
};

/** The process that reads isolated sources: started by `IsolatedSources`, ends with the agent. */
export function runWorker(): void {
  // the compile cache is for Tacho, not for the commands of its user
  delete process.env.NODE_COMPILE_CACHE;
  // a signal to everybody in the terminal or the job is for the agent, and this process ends with it
  ignoreApplicationSignals([...PAUSE_SIGNALS, ...SIGNALS]);
  showDevice('start');
  let worker: ((request: Request) => void) | undefined;
  let waiting: Promise<void> = Promise.resolve();
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    if (worker === undefined) {
      waiting = open(JSON.parse(line) as Opening).then((opened) => {
        worker = opened;
      });
      worker = (request) => void waiting.then(() => worker!(request));
    } else worker(JSON.parse(line) as Request);
  });
  lines.on('close', () => process.exit());
}

function say(sourceMessage: SourceMessage): void {
  try {
    fs.writeSync(ANSWERS, `${JSON.stringify(sourceMessage)}\n`);
  } catch {
    // nobody listens any more
    process.exit();
  }
}

/** The kernel ends this process with the agent, even in the middle of a call that does not return. */
function dieWith(agent: number): void {
  try {
    loadKoffi().load('libc.so.6').func('prctl', 'int', ['int', 'unsigned long'])(1, 9);
  } catch {
    // then the end of our input has to do
  }
  if (process.ppid !== agent) process.exit();
}

async function open(opening: Opening): Promise<(request: Request) => void> {
  dieWith(opening.agent);
  const host = new DeviceHost(opening.root, (device) => {
    showDevice(device);
    if (opening.careful) say({ at: device });
  });
  host.skip = new Set(opening.skip);
  let notesSaid = 0;
  const sayNotes = (): void => {
    for (; notesSaid < host.notes.length; notesSaid++) say({ note: host.notes[notesSaid]! });
  };

  const readers: Reader[] = [];
  const { sources } = await import('../../sources/index.ts');
  for (const kind of sources) {
    if (!opening.kinds.includes(kind.table.name)) continue;
    if (kind.isolated) await kind.load();
    const reader = openKind(kind, host, opening);
    if (reader !== undefined) readers.push(reader);
  }
  await sayGpus(host, opening);
  const devices = await gpuDevices(host, opening);
  for (const source of opening.custom) {
    if (!host.enter(customDevice(source))) continue;
    const taken = sources.some((kind) => kind.table.name === source.name);
    const begun = opening.tables.find((table) => table.name === source.name);
    const reader = await openCustomReader(source, host, { devices, taken, begun });
    if (reader !== undefined) readers.push(reader);
  }
  showDevice('');
  sayNotes();
  say({ ready: true });

  return ({ time, skip }) => {
    host.skip = new Set(skip);
    const moment = momentOf(time);
    for (const reader of readers) {
      if (moment >= reader.due && !reader.busy) readOne(reader, host, moment, sayNotes);
    }
    showDevice('');
    sayNotes();
    const { user, system } = process.cpuUsage();
    say({ done: time, cost: { cpu_us: user + system, rss_bytes: process.memoryUsage.rss() } });
  };
}

function openKind(kind: SourceKind, host: DeviceHost, opening: Opening): Reader | undefined {
  try {
    const source = kind.open(host, opening.scope);
    const frame = new Frame(source.table);
    say({ table: source.table });
    return newReader(kind.table.name, kind.every, (time) => {
      frame.clear(momentOf(time));
      source.read(frame);
      return frame;
    });
  } catch (error) {
    noteClosed(kind.table.name, host, error);
    return undefined;
  }
}

function noteClosed(name: string, host: DeviceHost, error: unknown): void {
  if (error instanceof Unavailable && error.why === 'absent') return;
  // the vendors' notes say it already
  if (name.startsWith('gpu') && error instanceof Unavailable) return;
  host.note({
    table: name,
    what: name,
    why: reason(error),
    ...(error instanceof Unavailable && error.hint !== undefined && { hint: error.hint }),
  });
}

/** The tick's time, unless the read begins so late that it would be a lie. */
function momentOf(time: number): number {
  const now = Date.now() * 1000;
  return now - time > LATE_MICROSECONDS ? now : time;
}

async function sayGpus(host: DeviceHost, opening: Opening): Promise<void> {
  if (!opening.kinds.some((kind) => kind.startsWith('gpu'))) return;
  const { borrowCards, describe } = await import('../../sources/gpu/cards.ts');
  try {
    const { cards, close } = borrowCards(host);
    say({ gpus: describe(cards.filter((card) => host.enter(card.device))) });
    close();
  } catch {
    // said where the table was opened
  }
}

/** The GPUs for users' modules: those that are open here. */
async function gpuDevices(host: DeviceHost, opening: Opening): Promise<() => readonly CustomDevice[]> {
  if (opening.custom.every((source) => source.module === undefined)) return () => [];
  const { present } = await import('../../sources/gpu/present.ts');
  const { borrowCards } = await import('../../sources/gpu/cards.ts');
  if (!present(host)) return () => [];
  try {
    const { cards } = borrowCards(host);
    return () =>
      cards
        .filter((card) => !host.skip.has(card.device))
        .map(({ gpu, vendor, model, uuid, handle }) => ({ gpu, vendor, model, uuid, handle }));
  } catch {
    return () => [];
  }
}

const customDevice = (source: CustomSource): string => `custom ${source.name}`;

async function openCustomReader(
  source: CustomSource,
  host: DeviceHost,
  around: { devices: () => readonly CustomDevice[]; taken: boolean; begun: Table | undefined },
): Promise<Reader | undefined> {
  let tableSaid = false;
  try {
    if (around.taken) throw new Error('Tacho has a table of this name; give the source another one');
    const custom = await openCustom(source, {
      ...around,
      note: (why) => host.note({ table: source.name, what: source.name, why }),
    });
    return newReader(source.name, source.interval, (time) => {
      host.enter(customDevice(source));
      return custom.read(momentOf(time)).then((frame) => {
        if (!tableSaid) say({ table: frame.table });
        tableSaid = true;
        return frame;
      });
    });
  } catch (error) {
    noteClosed(source.name, host, error);
    return undefined;
  }
}

/** Reads one source; what goes wrong stays with it. */
function readOne(reader: Reader, host: DeviceHost, time: number, sayNotes: () => void): void {
  const failed = (error: unknown): void => {
    reader.failures++;
    // the first failure says why, the last that it is asked less often; a source that comes and goes is not heard for ever
    if ((reader.failures === 1 || reader.failures === PATIENCE) && reader.notesSent++ < MOST_NOTES) {
      host.note(failureNote(reader, error));
    }
    if (reader.failures < PATIENCE) return;
    const pause = Math.min(LONGEST_PAUSE_SECONDS, 2 ** (reader.failures - PATIENCE) * 10);
    reader.due = time + pause * 1e6;
  };
  const delivered = (frame: Frame): void => {
    reader.failures = 0;
    say({ frame: frameMessage(frame) });
  };
  if (host.skip.has(`custom ${reader.name}`)) return;
  // half a second of grace: ticks are never quite even
  reader.due = reader.every === 0 ? 0 : time + reader.every - 500_000;
  try {
    const frame = reader.read(time);
    if (frame instanceof Frame) {
      delivered(frame);
      return;
    }
    reader.busy = true;
    frame.then(delivered, failed).finally(() => {
      reader.busy = false;
      sayNotes();
    });
  } catch (error) {
    failed(error);
  }
}

function failureNote(reader: Reader, error: unknown): Note {
  const what = reader.name;
  if (reader.failures === PATIENCE) {
    return { table: what, what, why: `${reason(error)}; failed ${PATIENCE} times, from now on asked less often` };
  }
  return { table: what, what, why: reason(error) };
}

// run as a file of its own, or from the one file of a release, whose main program looks for the mark
if (process.argv[1]?.endsWith('isolated/worker.ts') === true && process.argv[2] === MARK) runWorker();
