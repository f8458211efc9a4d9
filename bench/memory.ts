import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryCgroup, whyNoMemoryCgroup } from '../test/memory-cgroup.ts';
import type { Row } from './row.ts';

export interface MemoryOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
}

const HERE = path.join(import.meta.dirname, '..');
const LOOK_MS = 5;

/** The highest of each at any moment, in bytes. */
interface Peaks {
  /** By the kernel: what counts against the job's limit. */
  charged: number;
  /** Programs' own memory, which only an end gives back. */
  anonymous: number;
  /** All that processes see, added up: pages of Node's file in each of them. */
  resident: number;
}

interface Case {
  name: string;
  script: string;
  /** Whose files are taken out of the page cache before. */
  cold?: string;
  /** What V8 keeps of a checkout, in files with these names, is taken away before: as after its installation. */
  first?: string;
  peaks: Peaks[];
}

/**
 * What Tacho's commands take of a job's memory, beside a bare Node that waits. The files of Node itself are charged to
 * whoever reads them first: here somebody has before (a second job on a node), but for the lines that say cold.
 */
export async function bench(options: MemoryOptions = {}): Promise<Row[]> {
  const { runs = 5 } = options;
  if (whyNoMemoryCgroup !== false) throw new Error(whyNoMemoryCgroup);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    execFileSync('sh', [path.join(HERE, 'scripts/release'), path.join(folder, 'release')], { stdio: 'ignore' });
    const [name] = fs.readdirSync(path.join(folder, 'release')).filter((each) => !each.endsWith('.gz'));
    const release = path.join(folder, 'release', name!);
    const node = path.join(release, 'bin/node');
    const bare = { name: 'bare Node', script: `'${node}' -e 'setTimeout(() => {}, 1000)'`, peaks: [] as Peaks[] };
    const checkout = path.join(HERE, 'tacho');
    const both = (of: string, tacho: string, cold?: string): Case[] =>
      [
        { name: `tacho run, ${of}`, script: `'${tacho}' run -- sleep 2` },
        {
          name: `tacho start, mark, stop, ${of}`,
          script: `'${tacho}' start && '${tacho}' mark begin a && sleep 2 && '${tacho}' stop`,
        },
      ].map((each) => ({ ...each, peaks: [], ...(cold === undefined ? {} : { cold }) }));
    const first = ['tacho.run.compiled', '{job,agent,stop}.*.compiled'];
    const cases: Case[] = [
      bare,
      { ...bare, name: 'bare Node, cold', cold: release, peaks: [] },
      ...both('release', path.join(release, 'tacho')),
      ...both('release, cold', path.join(release, 'tacho'), release),
      ...both('checkout, first start', checkout).map((each, i) => ({ ...each, first: first[i]! })),
      ...both('checkout', checkout),
    ];
    // a checkout bundles its sources, and V8 keeps what it compiled of them: the first time is not measured
    for (const each of cases) await peaksOf(each, release, folder);
    for (let run = 0; run < runs; run++)
      for (const each of cases) each.peaks.push(await peaksOf(each, release, folder));
    const [warmNode, coldNode, ...measured] = cases;
    return measured.flatMap((each) => {
      const floor = each.cold === undefined ? warmNode! : coldNode!;
      const charged = row(`${each.name}: charged`, each.cold === undefined ? '≤ 45 MB' : '', each, floor, 'charged');
      if (each.cold !== undefined) return [charged];
      return [
        charged,
        row(`${each.name}: programs' own`, '', each, floor, 'anonymous'),
        row(`${each.name}: resident, added up`, '', each, floor, 'resident'),
      ];
    });
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function row(what: string, must: string, of: Case, floor: Case, kind: keyof Peaks): Row {
  const [ours, theirs] = [median(of, kind), median(floor, kind)];
  return {
    what,
    must,
    measured: ours / 1e6,
    unit: 'MB',
    peer: `bare Node ${(theirs / 1e6).toFixed(1)} MB`,
    ratio: ours / theirs,
  };
}

function median({ peaks: peaksOfRuns }: Case, kind: keyof Peaks): number {
  const sorted = peaksOfRuns.map((peaks) => peaks[kind]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** Runs a script as a session of its own in a cgroup of its own. */
async function peaksOf({ name, script, cold, first }: Case, release: string, folder: string): Promise<Peaks> {
  if (first !== undefined)
    for (const file of fs.globSync(path.join(HERE, 'node_modules/.tacho', first))) fs.rmSync(file);
  if (cold !== undefined) dropFromCache(cold);
  else readAll(release);
  const cwd = fs.mkdtempSync(path.join(folder, 'job-'));
  const cgroup = new MemoryCgroup();
  try {
    const [file, ...args] = cgroup.command('sh', '-c', script);
    const env = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: folder };
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    child.stderr.on('data', (bytes: Buffer) => {
      output += bytes;
    });
    let code: number | null | undefined;
    child.once('close', (status) => {
      code = status;
    });
    let [anonymous, resident] = [0, 0];
    while (code === undefined) {
      anonymous = Math.max(anonymous, cgroup.anonymous());
      resident = Math.max(
        resident,
        cgroup.processes().reduce((all, pid) => all + residentOf(pid), 0),
      );
      await sleep(LOOK_MS);
    }
    if (code !== 0) throw new Error(`${name} failed:\n${output}`);
    return { charged: cgroup.peak(), anonymous, resident };
  } finally {
    await cgroup.remove();
    fs.rmSync(cwd, { recursive: true, force: true });
  }
}

function residentOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const filesOf = (release: string): string[] =>
  fs
    .globSync('{bin,lib,native/build}/*', { cwd: release, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

/** As on a node where nobody has used Tacho yet. */
function dropFromCache(release: string): void {
  for (const file of filesOf(release))
    spawnSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0']);
}

/** As on a node where somebody has. */
function readAll(release: string): void {
  for (const file of filesOf(release)) fs.readFileSync(file);
}
