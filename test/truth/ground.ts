import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Report } from '../../src/judge/report-schema.ts';
import { TACHO } from '../tacho.ts';

/** One figure of one job: what Tacho says, and what somebody else measured in the same run. */
export interface Figure {
  job: string;
  what: string;
  tacho: number | undefined;
  truth: number;
  /** Who measured it. */
  by: string;
  /** The documented bound: this share of the truth, and this much beside it. */
  share: number;
  beside: number;
}

/** Where jobs are built and recorded. */
export interface Ground {
  folder: string;
  /** The program of job.c. */
  job: string;
  /** Says what is left out, and why. */
  leave(what: string, why: string): void;
}

const HERE = import.meta.dirname;

/** Builds a program in the folder; undefined when there is no compiler for it. */
export function build(folder: string, name: string, compiler: readonly string[], source = 'job.c'): string | undefined {
  const program = path.join(folder, name);
  const [command, ...options] = compiler;
  const done = spawnSync(command!, [...options, '-o', program, path.join(HERE, source)], {
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${process.env.PATH}:/usr/local/go/bin`,
      GOCACHE: path.join(folder, 'go'),
      GO111MODULE: 'off',
    },
  });
  return done.status === 0 ? program : undefined;
}

export function has(program: string): boolean {
  const { PATH = '' } = process.env;
  return [...PATH.split(':'), '/usr/sbin', '/sbin'].some((folder) => fs.existsSync(path.join(folder, program)));
}

/** A folder with the program of job.c in it, gone at the end. */
export async function onGround(use: (ground: Ground) => Promise<void> | void, leave: Ground['leave']): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-truth-'));
  try {
    // programs of other users' namespaces look into it, too
    fs.chmodSync(folder, 0o755);
    const job = build(folder, 'job', ['cc', '-O1', '-pthread']);
    if (job === undefined) return leave('everything', 'there is no C compiler');
    await use({ folder, job, leave });
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

export interface Recorded {
  recording: string;
  report: Report;
  /** What the command printed. */
  out: string;
  code: number | null;
}

let recordings = 0;

/** Neither the scheduler's variables nor settings of Tacho's, but these. */
function cleanEnvironment(more: Record<string, string>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(SLURM|PBS|FLUX|TACHO)_/.test(name));
  return { ...Object.fromEntries(own), ...more };
}

/** Records a command as a user would, and reads its report. */
export function record(
  { folder }: Ground,
  command: readonly string[],
  options: {
    interval?: string;
    env?: Record<string, string>;
    run?: readonly string[];
    report?: readonly string[];
    through?: readonly string[];
  } = {},
): Recorded {
  const to = path.join(folder, `recording-${++recordings}`);
  const env = cleanEnvironment({ XDG_CONFIG_HOME: folder, ...options.env });
  const args = [
    ...(options.through ?? []),
    TACHO,
    'run',
    ...(options.interval === undefined ? [] : ['-i', options.interval]),
    ...(options.run ?? []),
    '--no-report',
    '-o',
    to,
    '--',
    ...command,
  ];
  const done = spawnSync(args[0]!, args.slice(1), { encoding: 'utf8', env, cwd: folder, timeout: 600_000 });
  const output = execFileSync(TACHO, ['report', to, '--format', 'json', ...(options.report ?? [])], {
    encoding: 'utf8',
    env,
    maxBuffer: 1 << 28,
  });
  return { recording: to, report: JSON.parse(output) as Report, out: done.stdout, code: done.status };
}

/** A column of all recorded processes, added up. */
export function addedUp({ recording }: Recorded, column: string): number {
  const args = ['processes', recording, '--limit', '0', '--columns', column, '--format', 'json'];
  const output = execFileSync(TACHO, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  return (JSON.parse(output) as Record<string, number | null>[]).reduce((sum, row) => sum + (row[column] ?? 0), 0);
}

/** What job.c printed of itself. */
export const ownFigures = (out: string) =>
  JSON.parse(out.trim().split('\n').at(-1)!) as Record<
    | ('cpu' | 'user' | 'system' | 'waited' | 'minor' | 'major' | 'switches' | 'forced' | 'rss')
    | ('children' | 'children_user' | 'read' | 'read_calls' | 'write_calls' | 'began' | 'ended'),
    number
  >;

/** A cgroup of our own that commands move themselves into: the kernel counts there, and Tacho knows nothing of it. */
export interface TruthCgroup {
  folders: readonly string[];
  cpuSeconds(): number;
  /** undefined where the kernel does not count it. */
  memoryPeak(): number | undefined;
}

/** undefined: this user may make none. */
export function withCgroup<T>(use: (cgroup: TruthCgroup) => T): T | undefined {
  const root = '/sys/fs/cgroup';
  const name = `tacho-truth-${process.pid}-${++recordings}`;
  const isUnified = fs.existsSync(`${root}/cgroup.controllers`);
  const folders = (isUnified ? [root] : [`${root}/cpuacct`, `${root}/memory`]).map((at) => path.join(at, name));
  const text = (file: string): string => fs.readFileSync(file, 'utf8');
  try {
    for (const folder of folders) fs.mkdirSync(folder);
  } catch {
    for (const folder of folders) if (fs.existsSync(folder)) fs.rmdirSync(folder);
    return undefined;
  }
  const [first, second] = folders as [string, string];
  try {
    return use({
      folders,
      cpuSeconds: () =>
        isUnified
          ? Number(/^usage_usec (\d+)/m.exec(text(`${first}/cpu.stat`))![1]) / 1e6
          : Number(text(`${first}/cpuacct.usage`)) / 1e9,
      memoryPeak() {
        const file = isUnified ? `${first}/memory.peak` : `${second}/memory.max_usage_in_bytes`;
        return fs.existsSync(file) ? Number(text(file)) : undefined;
      },
    });
  } finally {
    for (const folder of folders) removeCgroup(folder);
  }
}

/** The kernel may need a moment after the last process has gone. */
function removeCgroup(folder: string): void {
  for (let i = 0; i < 50; i++) {
    try {
      fs.rmdirSync(folder);
      return;
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}
