import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { code, reason } from '../base/fault.ts';
import { isWritable } from '../base/folder.ts';
import { guard } from '../base/guard.ts';
import { tryByGuard } from '../base/guard-channel.ts';
import { ours } from '../base/ours.ts';
import { randomHex } from '../base/random-hex.ts';
import { stated } from '../base/stated.ts';
import { processId, stillRuns } from '../jobs/on-node/process-id.ts';
import { defined, type Environment } from '../jobs/schedulers/command.ts';
import type { Note } from '../sources/host.ts';
import { eventsNamed, eventsNotCounted, splitEvents } from '../sources/records/perf-events.ts';
import { processEndTable } from '../sources/records/tables.ts';
import type { Records } from '../sources/scope.ts';
import { agentRecords } from './launch.ts';
import { RECORD_FOLDERS } from './record-folders.ts';

/** The library that processes of a job are started with (native/record.h); a site may have put it on its nodes' disks. */
export const libraryOf = (env: Environment): string =>
  env.TACHO_RECORD_LIBRARY || ours('native/build/libtacho-record.so');

const WHAT = 'processes that record themselves';
const TEST_MS = 10_000;
/** What an agent left behind that died is kept so long for `tacho verify`, as long as its recording is there. */
const ABANDONED_MS = 7 * 24 * 3600 * 1000;
/** The same where not even the folder that the recording was in can be seen. */
const UNSEEN_MS = 24 * 3600 * 1000;

/** The file that the job's processes write to: on every node another one, of the same name. Nothing is made yet. */
export function planRecords(env: Environment): Records {
  const recordsRoot = RECORD_FOLDERS.find(isWritable) ?? RECORD_FOLDERS[0]!;
  // everybody can list that place: the name tells neither job nor, of a node's own agent, the job's user
  const name = `tacho-${process.getuid!()}-${randomHex(8)}`;
  const named = splitEvents(env.TACHO_RECORD_EVENTS);
  // what cannot be counted stays on the list: the agent says so
  const events = [...new Set([...eventsNamed(named), ...eventsNotCounted(named).map((one) => one.name)])];
  return { file: path.join(recordsRoot, name, 'events'), events };
}

/** Makes the file on this node and tries the library. Undefined: processes can be recorded; otherwise what to say. */
export async function prepareRecords(records: Records, env: Environment, recording: string): Promise<Note | undefined> {
  try {
    makeFolder(path.dirname(records.file), recording);
    fs.closeSync(fs.openSync(records.file, 'a', 0o600));
  } catch (error) {
    return note(`cannot make ${records.file}: ${reason(error)}`);
  }
  const folder = path.dirname(records.file);
  // what is wrong is for this process to find out
  const trouble = (await isTried(env, folder)) ? undefined : tryLibrary(env, folder);
  if (trouble !== undefined) discardRecords(records);
  return trouble;
}

export function discardRecords(records: Records): void {
  fs.rmSync(path.dirname(records.file), { recursive: true, force: true });
}

/** A folder that only its owner can read; the name could be somebody else's by accident or on purpose. */
function makeFolder(folder: string, recording: string): void {
  removeAbandoned(path.dirname(folder));
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (code(error) !== 'EEXIST') throw error;
    const folderStats = fs.lstatSync(folder);
    if (!folderStats.isDirectory() || folderStats.uid !== process.getuid!() || (folderStats.mode & 0o077) !== 0) {
      throw new Error('somebody else has made that folder');
    }
  }
  noteReader(folder, recording);
}

/** Says beside the file who reads it, and for which recording: without both it may go some day. */
export function noteReader(folder: string, recording: string): void {
  const agent = { ...processId(process.pid), recording: path.resolve(recording) };
  fs.writeFileSync(path.join(folder, 'agent'), JSON.stringify(agent), { mode: 0o600 });
}

/** The recording for which it is read. */
export function readsFor(folder: string): string | undefined {
  try {
    return (JSON.parse(fs.readFileSync(path.join(folder, 'agent'), 'utf8')) as { recording?: string }).recording;
  } catch {
    return undefined;
  }
}

/** Agents that were killed leave their file behind, and it lies in memory. */
export function removeAbandoned(recordsRoot: string): void {
  const uid = process.getuid!();
  for (const name of fs.readdirSync(recordsRoot)) {
    if (!/^tacho-\d+-/.test(name)) continue;
    const folder = `${recordsRoot}/${name}`;
    try {
      // whoever made the folder is who may say so
      if (fs.lstatSync(folder).uid !== uid) continue;
      const agent = JSON.parse(fs.readFileSync(`${folder}/agent`, 'utf8'));
      const events = fs.readdirSync(folder).find((each) => /^events(-[\w-]+)?$/.test(each))!;
      const age = Date.now() - fs.statSync(`${folder}/${events}`).mtimeMs;
      const useless = age > ABANDONED_MS || isRemoved(agent.recording, age);
      if (useless && !stillRuns(agent)) fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // not one of ours, or going away in this moment
    }
  }
}

/** A container may share /dev/shm, and not see where the recording is. */
const isRemoved = (recording: string, age: number): boolean =>
  !fs.existsSync(recording) && (age > UNSEEN_MS || fs.existsSync(path.dirname(recording)));

/** A small program with the library, and the line that it must leave. A library that does not fit would break or litter all. */
function trial(env: Environment, folder: string) {
  const file = path.join(folder, 'trial');
  return {
    command: (fs.existsSync('/bin/true') ? ['/bin/true'] : ['/bin/sh', '-c', ':']) as [string, ...string[]],
    // a trial is no process of whatever is recorded around it
    env: { ...defined(env), ...injected({ ...env, TACHO_RECORD: undefined }, { file, events: [] }) },
    hasWritten: () => fs.existsSync(file) && /^E5\t.*\t\.$/m.test(fs.readFileSync(file, 'latin1')),
    discard: () => fs.rmSync(file, { force: true }),
  };
}

/** Whether the library works, if a guard above us can tell: it starts programs sooner, and beside what we do. */
async function isTried(env: Environment, folder: string): Promise<boolean> {
  if (guard.channel === undefined || wrongFile(libraryOf(env)) !== undefined) return false;
  const { command, env: theirs, hasWritten, discard } = trial(env, folder);
  try {
    return (await tryByGuard(guard.channel, command, theirs, TEST_MS)) === 0 && hasWritten();
  } finally {
    discard();
  }
}

/** Starts a small program with the library. Undefined: it works. */
export function tryLibrary(env: Environment, folder: string): Note | undefined {
  const wrong = wrongFile(libraryOf(env));
  if (wrong !== undefined) return wrong;
  const { command, env: theirs, hasWritten, discard } = trial(env, folder);
  try {
    const done = spawnSync(command[0], command.slice(1), {
      env: theirs,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: TEST_MS,
    });
    const firstLine = done.stderr?.trim().split('\n')[0] ?? '';
    if (done.error !== undefined) return note(`${command[0]} could not be started with it: ${reason(done.error)}`);
    if (done.status !== 0) {
      return note(
        `${command[0]} fails with it (${done.signal ?? `exit ${done.status}`})${firstLine === '' ? '' : `: ${firstLine}`}`,
      );
    }
    if (hasWritten()) return undefined;
    return note(firstLine === '' ? `${command[0]} was started with it and has written nothing` : firstLine);
  } finally {
    discard();
  }
}

/** Why the library cannot be used where the command is started, which need not be a node of the job. */
export function tryLibraryHere(env: Environment): string | undefined {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-trial-'));
  try {
    const trouble = tryLibrary(env, folder);
    return trouble === undefined ? undefined : `${os.hostname()}: ${trouble.why}`;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The first node whose agent found that the library cannot be used there, and why. */
export function refusal(recording: string, nodes: readonly string[]): string | undefined {
  for (const [node, { unmeasured }] of agentRecords(recording, nodes)) {
    const preloadNote = unmeasured.find(({ what }) => what === WHAT);
    if (preloadNote !== undefined) return `node ${node}: ${preloadNote.why}`;
  }
  return undefined;
}

const MACHINES: Record<number, string> = {
  3: 'i386',
  21: 'ppc64le',
  40: 'arm',
  62: 'x64',
  183: 'arm64',
  243: 'riscv64',
};

const GIVEN = 'TACHO_RECORD_LIBRARY names it; without that Tacho uses its own';

/** What the file itself shows to be wrong, in better words than the loader's. */
function wrongFile(library: string): Note | undefined {
  if (/[\s:]/.test(library)) {
    return note(
      `${library} has a space or a colon in its path, which LD_PRELOAD cannot have`,
      'install Tacho elsewhere',
    );
  }
  const own = library === libraryOf({});
  const head = Buffer.alloc(20);
  try {
    const fd = fs.openSync(library, 'r');
    fs.readSync(fd, head, 0, 20, 0);
    fs.closeSync(fd);
  } catch (error) {
    return code(error) === 'ENOENT'
      ? note(
          `${library} is not there`,
          own ? 'install a C compiler (apt-get install gcc libc6-dev), then sh scripts/build-native' : GIVEN,
        )
      : note(`cannot read ${library}: ${reason(error)}`);
  }
  if (head.toString('latin1', 0, 4) !== '\x7fELF')
    return note(`${library} is not a library`, own ? 'sh scripts/build-native' : GIVEN);
  const machine = MACHINES[head.readUInt16LE(18)] ?? 'another architecture';
  if (machine !== process.arch) {
    return note(
      `${library} is made for ${machine}, this node is ${process.arch}`,
      'sh scripts/build-native on such a node',
    );
  }
  return undefined;
}

function note(why: string, hint?: string): Note {
  return { table: processEndTable.name, what: WHAT, why, ...stated({ hint }) };
}

/** The variables that make processes record themselves. */
export function injected(env: Environment, records: Records): Record<string, string> {
  const library = libraryOf(env);
  const isOurs = (each: string): boolean => path.basename(each) === path.basename(library);
  const already = (env.LD_PRELOAD ?? '').split(/[\s:]+/).filter((each) => each !== '' && !isOurs(each));
  // whoever records this job already goes on with it: the agent of its node, or a recording around this one
  const others = (env.TACHO_RECORD ?? '').split(':').filter((each) => each !== '' && each !== records.file);
  return {
    LD_PRELOAD: [...already, library].join(':'),
    TACHO_RECORD: [...others.slice(-MOST_OTHERS), records.file].join(':'),
    // programs made with -fsanitize=address refuse to start when any library comes before theirs
    ASAN_OPTIONS: [
      ...(env.ASAN_OPTIONS ?? '').split(':').filter((each) => each !== '' && each !== NO_ORDER),
      NO_ORDER,
    ].join(':'),
  };
}

/** The library takes as many as four. */
const MOST_OTHERS = 3;
const NO_ORDER = 'verify_asan_link_order=0';
