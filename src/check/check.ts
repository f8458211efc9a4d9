import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { ours } from '../base/ours.ts';
import { openNew } from '../base/plain-file.ts';
import { formatBytes } from '../base/size.ts';
import { stated } from '../base/stated.ts';
import { VERSION } from '../base/version.ts';
import { tryLibraryHere } from '../control/preload.ts';
import { ownCgroup } from '../jobs/on-node/own-cgroup.ts';
import { findScope } from '../jobs/on-node/scope.ts';
import { schedulerOf, schedulerRunner } from '../jobs/schedulers/job-facts.ts';
import { hierarchies } from '../sources/cgroup/mounts.ts';
import type { CustomSource } from '../sources/custom/custom.ts';
import { loadKoffi } from '../sources/ffi.ts';
import type { Host, Note } from '../sources/host.ts';
import { type ChosenTables, isChosen, sources } from '../sources/index.ts';
import { processTotal } from '../sources/own/process-total.ts';
import { processMemory } from '../sources/process/memory.ts';
import { RECORD_KINDS } from '../sources/records/records.ts';
import type { Scope } from '../sources/scope.ts';
import { type SourceKind, Unavailable } from '../sources/source.ts';
import { cpuTable, markerTable, meminfoTable, processTable } from '../sources/tables.ts';
import { Frame } from '../table/frame.ts';

/** ok: works. absent: this machine has no such thing. limited: works in part, or could. failed: needed, and does not work. */
export type CheckState = 'ok' | 'absent' | 'limited' | 'failed';

export interface CheckItem {
  area: 'program' | 'sources' | 'job' | 'recordings';
  name: string;
  state: CheckState;
  text: string;
  /** What would help. */
  hint?: string;
}

export interface MachineCheck {
  /** Can a job be recorded here? */
  records: boolean;
  items: CheckItem[];
}

export interface CheckOptions {
  host: Host;
  /** Where recordings would be made. */
  folder: string;
  custom: readonly CustomSource[];
  /** The tables that the configuration chooses; without it, those that are recorded by default. */
  tables?: ChosenTables;
  environment: Readonly<Record<string, string | undefined>>;
}

/** Without these a recording says little about a job. */
const NEEDED: readonly string[] = [meminfoTable, cpuTable, processTable].map(({ name }) => name);
const LITTLE_SPACE = 1024 ** 3;
const SLOW_READ_MS = 5_000;

/** Markers and records of processes are written by others, sums are made of them; what may hang is read elsewhere. */
const isSampled = (kind: SourceKind): boolean =>
  kind.table.name !== markerTable.name &&
  kind !== processTotal &&
  kind !== processMemory &&
  !RECORD_KINDS.includes(kind) &&
  kind.isolated !== true;

/** What can be recorded on this machine, what cannot, and what to do about it. Opens and reads every source once. */
export async function checkMachine(options: CheckOptions): Promise<MachineCheck> {
  const { host } = options;
  const uid = process.getuid?.() ?? 0;
  const scope = findScope(host, { rootPid: process.pid, uid, exclude: [], redact: false });
  const items: CheckItem[] = [
    ...program(),
    ...sources.filter(isSampled).map((kind) => readOnce(kind, host, scope)),
    processes(options.environment),
    ...(await readIsolated(options, scope)),
    cgroups(host),
    perf(host),
    await scheduler(options.environment),
    recordings(options.folder),
    clock(),
  ];
  const chosen = options.tables ?? { only: [], without: [], also: [] };
  return {
    records: items.every(({ state }) => state !== 'failed'),
    items: items.map((item) => withChoice(item, chosen)),
  };
}

/** A table that works here is still not recorded where the configuration leaves it out, or does not name it. */
function withChoice(item: CheckItem, chosen: ChosenTables): CheckItem {
  const isTable = sources.some(({ table }) => table.name === item.name);
  if (item.area !== 'sources' || item.state !== 'ok' || !isTable || isChosen(item.name, chosen)) return item;
  const isLeftOut = chosen.without.includes(item.name) || chosen.only.length > 0;
  const why = isLeftOut ? 'the configuration leaves it out' : `recorded only with --also ${item.name}`;
  return { ...item, text: `${item.text}; ${why}` };
}

function program(): CheckItem[] {
  const where = `Tacho ${VERSION}, Node ${process.versions.node}, ${process.arch}`;
  const launch = fs.existsSync(ours('native/build/launch'));
  return [
    { area: 'program', name: 'run time', state: 'ok', text: where },
    launch
      ? { area: 'program', name: 'launcher', state: 'ok', text: 'commands are measured exactly, however short' }
      : {
          area: 'program',
          name: 'launcher',
          state: 'limited',
          text: 'not built: peak memory of commands below 60 MB is not known',
          hint: 'install a C compiler (apt-get install gcc libc6-dev), then run sh scripts/build-native',
        },
    foreignFunctions(),
  ];
}

function foreignFunctions(): CheckItem {
  try {
    loadKoffi();
    return { area: 'program', name: 'libraries', state: 'ok', text: 'GPU libraries can be loaded' };
  } catch (error) {
    return {
      area: 'program',
      name: 'libraries',
      state: 'limited',
      text: `GPU libraries cannot be loaded: ${reason(error)}`,
    };
  }
}

/** Starts a program with the library, as every process of a job is. */
function processes(environment: CheckOptions['environment']): CheckItem {
  const item = { area: 'sources', name: 'processes' } as const;
  const trouble = tryLibraryHere(environment);
  if (trouble === undefined) return { ...item, state: 'ok', text: 'every process and every thread can record itself' };
  return { ...item, state: 'limited', text: `processes cannot record themselves: ${trouble}` };
}

function readOnce(kind: SourceKind, host: Host, scope: Scope): CheckItem {
  const { name } = kind.table;
  const before = host.notes.length;
  try {
    const source = kind.open(host, scope);
    try {
      const frame = new Frame(source.table);
      source.read(frame);
      return itemOf(name, frame, host.notes.slice(before));
    } finally {
      source.close();
    }
  } catch (error) {
    return refused(name, error);
  }
}

function itemOf(name: string, frame: Frame, notes: readonly Note[]): CheckItem {
  const several = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
  const rows = frame.table.keys.length === 0 ? '' : `, ${several(frame.rows, 'row')}`;
  const text = `${several(frame.table.columns.length, 'column')}${rows}`;
  const [note] = notes;
  if (note === undefined) return { area: 'sources', name, state: 'ok', text };
  return {
    area: 'sources',
    name,
    state: 'limited',
    text: `${text}; ${note.what}: ${note.why}`,
    ...stated({ hint: note.hint }),
  };
}

function refused(name: string, error: unknown): CheckItem {
  const state = NEEDED.includes(name) ? 'failed' : 'limited';
  if (!(error instanceof Unavailable)) return { area: 'sources', name, state, text: reason(error) };
  return {
    area: 'sources',
    name,
    state: error.why === 'absent' && state !== 'failed' ? 'absent' : state,
    text: error.message,
    ...stated({ hint: error.hint }),
  };
}

/** Sources that may hang are read elsewhere, and not for ever: each of the user's by itself, so that one hides no other. */
async function readIsolated({ host, custom }: CheckOptions, scope: Scope): Promise<CheckItem[]> {
  const kinds = sources.filter((kind) => kind.isolated === true);
  const items: CheckItem[] = kinds
    .filter((kind) => !kind.present(host))
    .map(({ table }) => ({
      area: 'sources',
      name: table.name,
      state: 'absent',
      text: 'there is no GPU that can be seen',
    }));
  const there = kinds.filter((kind) => kind.present(host)).map(({ table }) => table.name);
  const read = await Promise.all([
    readApart(there, [], host, scope),
    ...custom.map((source) => readApart([], [source], host, scope)),
  ]);
  return [...items, ...read.flat()];
}

/** Reads some sources once, as the agent does: in a process of their own. */
async function readApart(
  kinds: readonly string[],
  custom: readonly CustomSource[],
  host: Host,
  scope: Scope,
): Promise<CheckItem[]> {
  const expected = [...kinds, ...custom.map(({ name }) => name)];
  if (expected.length === 0) return [];
  const { IsolatedSources } = await import('../agent/isolated/isolated.ts');
  const frames = new Map<string, CheckItem>();
  const notes: Note[] = [];
  let complete = (): void => {};
  const all = new Promise<void>((resolve) => {
    complete = resolve;
  });
  const heard = (): void => {
    if (expected.every((name) => frames.has(name) || notes.some(({ table }) => table === name))) complete();
  };
  const opened = new IsolatedSources(kinds, {
    root: host.root,
    scope,
    custom,
    deliver(frame) {
      frames.set(frame.table.name, itemOf(frame.table.name, frame, []));
      heard();
    },
    note(note) {
      notes.push(note);
      heard();
    },
  });
  await opened.tables();
  opened.request(Date.now() * 1000);
  const limit = setTimeout(complete, SLOW_READ_MS);
  await all;
  clearTimeout(limit);
  await opened.close();
  return expected.map((name): CheckItem => {
    const note = notes.find(({ table }) => table === name);
    const item = frames.get(name);
    if (item !== undefined && note === undefined) return item;
    const text =
      [item?.text, note && `${note.what}: ${note.why}`].filter(Boolean).join('; ') ||
      `nothing could be read within ${SLOW_READ_MS / 1000} s`;
    const hint = note?.hint === undefined ? {} : { hint: note.hint };
    return { area: 'sources', name, state: 'limited', text, ...hint };
  });
}

function cgroups(host: Host): CheckItem {
  const all = hierarchies(host);
  if (all.length === 0) {
    return { area: 'job', name: 'cgroups', state: 'absent', text: 'not mounted: processes are followed by descent' };
  }
  const version = all.some((each) => each.version === 1)
    ? all.some((each) => each.version === 2)
      ? '1 and 2'
      : '1'
    : '2';
  const own = ownCgroup(host);
  const whose = { job: "the job's own", container: "the container's", other: 'shared with others' };
  const where = own === undefined ? 'this process is in none' : `${own.path} (${whose[own.of]})`;
  return { area: 'job', name: 'cgroups', state: 'ok', text: `version ${version}; ${where}` };
}

/** Who may count hardware events: 2 and below lets users count their own programs. */
function perf(host: Host): CheckItem {
  const name = 'perf events';
  const level = host.text('/proc/sys/kernel/perf_event_paranoid');
  if (level === undefined) return { area: 'job', name, state: 'absent', text: 'this kernel has none' };
  const text = `kernel.perf_event_paranoid is ${level}`;
  if (Number(level) <= 2 || process.getuid?.() === 0) return { area: 'job', name, state: 'ok', text };
  return {
    area: 'job',
    name,
    state: 'limited',
    text,
    hint: 'sysctl kernel.perf_event_paranoid=2 lets users count their own programs',
  };
}

const COMMANDS = [
  ['slurm', 'srun', '--version'],
  ['flux', 'flux', '--version'],
  ['pbs', 'qstat', '--version'],
] as const;

async function scheduler(environment: CheckOptions['environment']): Promise<CheckItem> {
  const name = 'scheduler';
  const inside = schedulerOf(environment);
  const id = inside.detect(environment);
  const run = schedulerRunner(3);
  for (const [which, command, flag] of COMMANDS) {
    const { stdout, trouble } = await run(command, [flag]);
    if (trouble?.endsWith('is not installed')) continue;
    if (trouble !== undefined && inside.name === which) return { area: 'job', name, state: 'limited', text: trouble };
    // outside of a job it may be installed and never set up
    if (trouble !== undefined)
      return {
        area: 'job',
        name,
        state: 'absent',
        text: `${command} is installed, but does not work here: ${trouble}`,
      };
    const version = stdout.trim().split('\n')[0] || which;
    return {
      area: 'job',
      name,
      state: 'ok',
      text: inside.name === which ? `${version}, in job ${id}` : `${version}, not in a job`,
    };
  }
  return {
    area: 'job',
    name,
    state: 'absent',
    text: 'none found: this machine is recorded, or those that --hosts names',
  };
}

function recordings(folder: string): CheckItem {
  const name = 'folder';
  const trial = path.join(folder, `.tacho-check-${process.pid}`);
  try {
    makeFolder(folder);
    const fd = openNew(trial);
    fs.writeSync(fd, 'x');
    fs.closeSync(fd);
    fs.unlinkSync(trial);
    const { bavail, bsize } = fs.statfsSync(folder);
    const text = `${folder} can be written, ${formatBytes(bavail * bsize)} free`;
    if (bavail * bsize >= LITTLE_SPACE) return { area: 'recordings', name, state: 'ok', text };
    return {
      area: 'recordings',
      name,
      state: 'limited',
      text,
      hint: 'recordings = "/a/larger/disk" in tacho.toml puts them elsewhere',
    };
  } catch (error) {
    return {
      area: 'recordings',
      name,
      state: 'failed',
      text: `${folder} cannot be written: ${reason(error)}`,
      hint: 'use -o FOLDER, or recordings = "FOLDER" in tacho.toml',
    };
  }
}

/** struct timex is smaller than this; its first field, modes = 0, asks without changing anything. */
const TIMEX_BYTES = 512;
const TIME_ERROR = 5;

/** Is the clock kept right by somebody? Samples of several nodes can be compared only then. */
function clock(): CheckItem {
  const name = 'clock';
  if (new Date().getFullYear() < 2025) {
    return {
      area: 'recordings',
      name,
      state: 'limited',
      text: `it says ${new Date().toISOString()}`,
      hint: 'set the clock',
    };
  }
  try {
    const adjtimex = loadKoffi().load('libc.so.6').func('int adjtimex(void *)');
    const state = adjtimex(Buffer.alloc(TIMEX_BYTES)) as number;
    if (state >= 0 && state !== TIME_ERROR) return { area: 'recordings', name, state: 'ok', text: 'synchronised' };
    return {
      area: 'recordings',
      name,
      state: 'limited',
      text: 'not synchronised: times of several nodes may not fit together',
      hint: 'chrony or systemd-timesyncd keeps it right',
    };
  } catch (error) {
    return { area: 'recordings', name, state: 'limited', text: `cannot be asked: ${reason(error)}` };
  }
}
