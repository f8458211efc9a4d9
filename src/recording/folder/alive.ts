import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { greatest } from '../../base/extremes.ts';
import { code } from '../../base/fault.ts';
import type { AgentRecord } from './agent-record.ts';
import { lastTime } from './last-time.ts';
import type { NodeRecording } from './open.ts';

/** Number of intervals (and least number of seconds) without a new sample after which the agent is gone. */
const INTERVALS = 5;
const SECONDS = 30;

/**
 * When the newest sample of a node was taken and written to its live files, in epoch microseconds; undefined: there are
 * none. The sample says so itself: the file may be a copy, and then its own time is that of copying.
 */
export function newestWrite(node: NodeRecording): number | undefined {
  let newest: number | undefined;
  let withoutSample: number | undefined;
  for (const files of node.tables.values()) {
    const live = files.parts.at(-1);
    if (live === undefined) continue;
    const file = path.join(node.folder, live);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const written = Math.round(stat.mtimeMs * 1e3);
    const taken = lastTime(file);
    if (taken === undefined) withoutSample = Math.max(written, withoutSample ?? 0);
    else newest = Math.max(Math.min(written, taken), newest ?? 0);
  }
  return newest ?? withoutSample;
}

/** When the newest sample was written, on any node. */
export function lastSign({ nodes }: { nodes: readonly NodeRecording[] }): number | undefined {
  const times = nodes.flatMap((node) => node.agent?.end ?? newestWrite(node) ?? node.agent?.last_sample ?? []);
  return times.length === 0 ? undefined : greatest(times);
}

/** Asked for once: this is looked at for every stream of an archive. */
let hostname: string | undefined;

/** An agent of this very machine whose process has gone: it was killed, however fresh its newest sample is. */
export function isGone({ pid, facts }: Pick<AgentRecord, 'pid' | 'facts'>): boolean {
  hostname ??= os.hostname();
  return facts.hostname === hostname && pid > 0 && hasEnded(pid);
}

/** No process of this machine has this number any more. */
function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // a zombie has ended
    return /^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    return code(error) === 'ESRCH';
  }
}

/** How long after its last byte a temporary file may still be in use: a hub may seal on another machine. */
export const STILL_WRITTEN_MS = 60_000;

/** What the names of temporary files tell of who writes them: the process, where its number counts, and chance. */
export const ownMark = (): string => `${process.pid}-${machineMark()}${randomBytes(4).toString('hex')}`;

let machine: string | undefined;

/** Of this machine, or of this container in it: elsewhere a process has another number, or none. */
function machineMark(): string {
  machine ??= createHash('sha256').update(`${os.hostname()} ${pidNamespace()}`).digest('hex').slice(0, 8);
  return machine;
}

function pidNamespace(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** A temporary file that another process, told by the file's name, is at work on: here, or for all we know elsewhere. */
export function isBeingWritten(file: string, now = Date.now() * 1000): boolean {
  const [, digits = '0', mark] = /\.(\d+)(?:-([\da-f]{8})[\da-f]*)?\.tmp$/.exec(file) ?? [];
  const pid = Number(digits);
  const written = fs.lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (pid === 0 || written === undefined || now / 1e3 - written >= STILL_WRITTEN_MS) return false;
  if (mark !== undefined && mark !== machineMark()) return true;
  return pid !== process.pid && !hasEnded(pid);
}

/** Has the agent's process a file of the folder open? The clock may have been set since: that says nothing about it. */
function holdsFiles({ folder, agent }: NodeRecording): boolean {
  if (agent === undefined || agent.facts.hostname !== os.hostname()) return false;
  try {
    const within = `${fs.realpathSync(folder)}/`;
    const open = `/proc/${agent.pid}/fd`;
    return fs.readdirSync(open).some((fd) => targetOf(`${open}/${fd}`).startsWith(within));
  } catch {
    // it is somebody else's: then nothing of it is ours to mend
    return false;
  }
}

function targetOf(link: string): string {
  try {
    return fs.readlinkSync(link);
  } catch {
    return '';
  }
}

/** Is the node's agent still writing? It has not said that it ended, it is there, and its newest sample is fresh. */
export function isAlive(node: NodeRecording, now = Date.now() * 1000): boolean {
  if (node.agent !== undefined && (node.agent.end !== undefined || isGone(node.agent))) return false;
  const newest = newestWrite(node);
  if (newest === undefined) return false;
  const patience = Math.max(SECONDS, INTERVALS * (node.agent?.interval_seconds ?? 1)) * 1e6;
  return now - newest < patience || holdsFiles(node);
}
