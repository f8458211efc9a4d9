import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { openPlain, readPlain } from '../base/plain-file.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { needOwn } from '../recording/folder/as-owner.ts';
import type { OwnUse } from '../recording/folder/job.ts';
import { MOST_BYTES, readJson } from '../recording/folder/record-file.ts';

/** In the recording's folder while it goes on: a line for each command of Tacho's that ran in the job. */
export const OWN_USE = 'own.log';
/** A hundred thousand commands. */
const MOST_NOTES = 8 << 20;
/** Linux tells user space about 100 clock ticks a second on every machine. */
const TICKS = 100;

/** What this process had used before the launcher began, as that says; main.ts has taken the variable away, the kernel keeps it. */
const BEFORE = usedBy(/(?:^|\0)TACHO_OWN=([^\0]*)/.exec(readEnvironment())?.[1] ?? '');

/** What a process of Node uses to end, which it cannot note: the kernel takes its memory back. */
export const END_SECONDS = 0.01;

const noted = new Set<string>();

/** When this process ends, it notes what it used: it ran in the job, but is no part of it. `children`: they are Tacho's too. */
export function noteAtExit(recording: string, env: Environment, children = true): void {
  const folder = path.resolve(recording);
  if (noted.has(folder)) return;
  noted.add(folder);
  process.on('exit', () => noteOwnUse(folder, env, children, END_SECONDS));
}

/** Notes what this process has used so far and so many seconds more, in a recording that goes on. */
export function noteOwnUse(recording: string, env: Environment, children = true, more = 0): void {
  try {
    const job = readJson(path.join(recording, 'job.json'), MOST_BYTES.job) as { end?: number };
    if (job.end !== undefined) return;
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const now = usedBy(fs.readFileSync('/proc/self/stat', 'latin1'));
    const alone = Math.max(0, (userCPUTime + systemCPUTime) / 1e6 - BEFORE.alone) + more;
    const seconds = alone + (children ? now.children - BEFORE.children : 0);
    const node = env.SLURMD_NODENAME ?? os.hostname().split('.')[0]!;
    const span = [performance.timeOrigin, Date.now()].map((ms) => Math.round(ms * 1000));
    const fields = [node, seconds.toFixed(6), maxRSS * 1024, ...span];
    needOwn(recording);
    const flags = fs.constants.O_WRONLY | fs.constants.O_APPEND | fs.constants.O_CREAT;
    const fd = openPlain(path.join(recording, OWN_USE), flags);
    try {
      fs.writeFileSync(fd, `${fields.join('\t')}\n`);
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    // a command does its work, whether or not it can say what that cost
  }
}

function readEnvironment(): string {
  try {
    return fs.readFileSync('/proc/self/environ', 'latin1');
  } catch {
    // a file system without /proc, or one that hides it
    return '';
  }
}

/** CPU time by /proc/PID/stat: of the process, and of children that it has waited for. */
function usedBy(stat: string): { alone: number; children: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (fieldIndex: number): number =>
    (Number(fields[fieldIndex]) + Number(fields[fieldIndex + 1])) / TICKS || 0;
  return { alone: seconds(11), children: seconds(13) };
}

/** What was noted, by node; the notes are taken away. Undefined: nothing was. */
export function takeOwnUse(recording: string, nodes: readonly string[]): Record<string, OwnUse> | undefined {
  const file = path.join(recording, OWN_USE);
  let notes: string;
  try {
    notes = readPlain(file, MOST_NOTES).toString();
  } catch {
    // nothing was noted, or by somebody else
    return undefined;
  }
  fs.rmSync(file, { force: true });
  return ownUse(notes, nodes);
}

/** What notes say, by node. Undefined: nothing. */
export function ownUse(notes: string, nodes: readonly string[]): Record<string, OwnUse> | undefined {
  const useByNode: Record<string, OwnUse> = {};
  for (const line of notes.split('\n')) {
    const [where = '', ...numbers] = line.split('\t');
    const [seconds = Number.NaN, bytes = Number.NaN, begin = Number.NaN, end = Number.NaN] = numbers.map(Number);
    const node = nodeNamed(where, nodes);
    if (!(seconds >= 0 && bytes >= 0) || node === undefined) continue;
    useByNode[node] ??= { commands: 0, cpu_seconds: 0, max_rss_bytes: 0 };
    const own = useByNode[node];
    own.commands++;
    own.cpu_seconds += seconds;
    own.max_rss_bytes = Math.max(own.max_rss_bytes, bytes);
    if (!(end - begin >= 0)) continue;
    own.spans ??= [];
    own.spans.push([begin, end, seconds]);
  }
  for (const own of Object.values(useByNode)) if (own.spans !== undefined) own.spans = fewer(own.spans);
  return Object.keys(useByNode).length === 0 ? undefined : useByNode;
}

/** The only node may go by another name, and others by their names with their domain. */
function nodeNamed(name: string, nodes: readonly string[]): string | undefined {
  if (nodes.length === 1 || nodes.includes(name)) return nodes.length === 1 ? nodes[0] : name;
  const [first, ...more] = nodes.filter((node) => node.split('.')[0] === name);
  return more.length === 0 ? first : undefined;
}

/** Number of commands that keep their own times: job.json is read often. */
const MOST_SPANS = 400;

type Spans = NonNullable<OwnUse['spans']>;

/** Of too many, each two that follow each other become one, until they are few enough. */
function fewer(spans: Spans): Spans {
  if (spans.length <= MOST_SPANS) return spans;
  const pairs: Spans = [];
  for (let i = 0; i < spans.length; i += 2) {
    const [a, b] = [spans[i]!, spans[i + 1]];
    pairs.push(b === undefined ? a : [Math.min(a[0], b[0]), Math.max(a[1], b[1]), a[2] + b[2]]);
  }
  return fewer(pairs);
}
