import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { writeDemo } from '../src/demo/demo.ts';
import { REPORT_FILE } from '../src/judge/kept-report.ts';
import type { Row } from './row.ts';

export interface StartOptions {
  /** Runs of each command, alternating; the median counts. */
  runs?: number;
  /** Length of the demo's job. */
  seconds?: number;
}

const HERE = path.join(import.meta.dirname, '..');

const POINTS = ['--layout', 'wide', '--table', 'gpu', '--columns', 'utilization_percent', '--interval', '12s'];

interface Case {
  name: string;
  command: readonly string[];
  times: number[];
  /** The most memory of any run, in MB. */
  memory: number;
}

/** Whole commands as a user waits for them, from a checkout and from a release, beside what the machine needs anyway. */
export async function bench(options: StartOptions = {}): Promise<Row[]> {
  const { runs = 7, seconds = 7200 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const sealed = await writeDemo({ folder: path.join(folder, 'sealed'), seconds });
    const live = await writeDemo({ folder: path.join(folder, 'live'), seconds, live: true });
    const many = { nodes: 64, seconds: seconds / 2 };
    const wide = await writeDemo({ folder: path.join(folder, 'wide'), ...many });
    const wideLive = await writeDemo({ folder: path.join(folder, 'wide-live'), ...many, live: true });
    const [sealedBefore, wideBefore] = [sealed, wide].map(withoutReport) as [string, string];
    execFileSync('sh', [path.join(HERE, 'scripts/release'), path.join(folder, 'release')], { stdio: 'ignore' });
    const [name] = fs.readdirSync(path.join(folder, 'release')).filter((each) => !each.endsWith('.gz'));
    const release = path.join(folder, 'release', name!, 'tacho');
    const checkout = path.join(HERE, 'tacho');
    const empty = path.join(folder, 'empty.mjs');
    fs.writeFileSync(empty, '');

    const cases: Case[] = [];
    const time = (title: string, ...command: string[]): Case => {
      const made = { name: title, command, times: [], memory: 0 };
      cases.push(made);
      return made;
    };
    const nothing = time('true', 'true');
    const node = time('bare Node', process.execPath, empty);
    const measured = [
      { tacho: release, of: 'release', most: '≤ 0.1' },
      { tacho: checkout, of: 'checkout', most: '≤ 0.15' },
    ].map(({ tacho, of, most }) => ({
      of,
      most,
      version: time('version', tacho, '--version'),
      run: time('run', tacho, 'run', '--', 'true'),
      sealed: time('report, sealed', tacho, 'report', sealed),
      before: time('report, worked out', tacho, 'report', sealedBefore),
      phasesBefore: time('report --phases, worked out', tacho, 'report', '--phases', sealedBefore),
      wideBefore: time('report of 64 nodes, worked out', tacho, 'report', wideBefore),
      live: time('report, unsealed', tacho, 'report', live),
      phases: time('report --phases', tacho, 'report', '--phases', sealed),
      wide: time('report of 64 nodes, sealed', tacho, 'report', wide),
      wideLive: time('report of 64 nodes, unsealed', tacho, 'report', wideLive),
      points: time('series', tacho, 'export', sealed, ...POINTS, '--to', path.join(folder, 'points')),
      start: time('start', tacho, 'start', '-o', path.join(folder, 'started')),
      stop: time('stop', tacho, 'stop', path.join(folder, 'started')),
    }));
    for (let run = 0; run < runs; run++) for (const each of cases) measure(each, folder);

    return measured.flatMap(
      ({ of, most, version, run, sealed: report, live: unsealed, points, start, stop, ...more }) => [
        row(`tacho --version over true, ${of}`, '≤ 0.045', Math.max(0, median(version) - median(nothing)), node),
        row(`tacho run -- true over true, ${of}`, most, median(run) - median(nothing), nothing),
        row(`tacho report, sealed, whole command, ${of}`, '≤ 0.2', median(report), node),
        row(`the same, sealed by another version, ${of}`, '', median(more.before), node),
        row(`tacho report, unsealed, whole command, ${of}`, '≤ 2', median(unsealed), node),
        row(`tacho report --phases, sealed, ${of}`, '≤ 0.5', median(more.phases), node),
        row(`the same, sealed by another version, ${of}`, '', median(more.phasesBefore), node),
        row(`tacho report of 64 nodes × 1 h, sealed, ${of}`, '≤ 0.4', median(more.wide), node),
        {
          ...row(`memory of it, ${of}`, '', more.wide.memory, node),
          ...{
            must: '≤ 150 MB',
            unit: 'MB',
            peer: `bare Node ${node.memory.toFixed(0)} MB`,
            ratio: more.wide.memory / node.memory,
          },
        },
        row(`the same, sealed by another version, ${of}`, '', median(more.wideBefore), node),
        row(`tacho report of 64 nodes × 1 h, unsealed, ${of}`, '≤ 4', median(more.wideLive), node),
        row(`a column of 64 GPUs, 7,200 points to 600, sealed, ${of}`, '≤ 0.12', median(points), node),
        row(`tacho start until the first sample, one node, ${of}`, '≤ 0.3', median(start), node),
        row(`tacho stop, one node, ${of}`, '≤ 0.3', median(stop), node),
      ],
    );
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A copy whose report is worked out, as it is of one that another version has sealed. */
function withoutReport(recording: string): string {
  const copy = `${recording}-before`;
  fs.cpSync(recording, copy, { recursive: true, preserveTimestamps: true });
  fs.rmSync(path.join(copy, REPORT_FILE));
  return copy;
}

function row(what: string, must: string, measured: number, peer: Case): Row {
  const theirs = median(peer);
  return {
    what,
    must: must === '' ? '' : `${must} s`,
    measured,
    unit: 's',
    peer: `${peer.name} ${theirs.toFixed(3)} s`,
    ratio: measured / theirs,
  };
}

/** Runs a command once, for its seconds and memory. `stop` comes after `start`, and ends what that has started. */
function measure(one: Case, folder: string): void {
  const [file, ...args] = one.command as [string, ...string[]];
  const began = performance.now();
  const done = spawnSync('/usr/bin/time', ['-f', '%M', file, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  one.times.push((performance.now() - began) / 1000);
  if (done.status !== 0) throw new Error(`${one.command.join(' ')} failed:\n${done.stderr}`);
  one.memory = Math.max(one.memory, Number(done.stderr.trim().split('\n').at(-1)) / 1024);
  if (args[0] === 'stop') fs.rmSync(path.join(folder, 'started'), { recursive: true, force: true });
}

function median({ times }: Case): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
