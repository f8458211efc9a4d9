import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { random } from '../src/base/random.ts';
import { nodeFolder } from '../src/recording/folder/node-folder.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { TableWriter } from '../src/recording/live/append.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { processEndTable } from '../src/sources/records/tables.ts';
import { Frame } from '../src/table/frame.ts';
import { jobOf } from '../test/make-recording.ts';
import type { Row } from './row.ts';

export interface OutliersBenchOptions {
  /** Runs of each command, alternating; the median counts. */
  runs?: number;
  processes?: number;
}

const HERE = path.join(import.meta.dirname, '..');
const START = 1_794_775_752_000_000;
const PROGRAMS = ['sh', 'cc1', 'as', 'ld', 'rm', 'sed', 'make', 'cp', 'perl', 'python3', 'ncks', 'tar'];

/** Outliers among the processes of one large job, whole commands, from the sealed recording and before it is sealed. */
export async function bench(options: OutliersBenchOptions = {}): Promise<Row[]> {
  const { runs = 7, processes = 35_000 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const live = await makeJob(path.join(folder, 'live'), processes);
    const sealed = path.join(folder, 'sealed');
    fs.cpSync(live, sealed, { recursive: true });
    sealRecording(openRecording(sealed), { force: true });
    const empty = path.join(folder, 'empty.mjs');
    fs.writeFileSync(empty, '');
    const tacho = path.join(HERE, 'tacho');
    const cases = [
      [process.execPath, empty],
      [tacho, 'outliers', sealed],
      [tacho, 'outliers', live],
      [tacho, 'outliers', sealed, '--of', 'processes', '--features', 'all'],
    ].map((command) => ({ command, times: [] as number[] }));
    for (let run = 0; run < runs; run++) for (const each of cases) each.times.push(wall(each.command));
    const [node, ...ours] = cases.map(({ times }) => median(times));
    const count = processes.toLocaleString('en');
    const names = [
      `outliers among ${count} processes, sealed, whole command`,
      `outliers among ${count} processes, unsealed, whole command`,
      `… by all features instead of five, sealed`,
    ];
    return ours.map((measured, i) => ({
      what: names[i]!,
      must: i === 0 ? '≤ 1 s' : '',
      measured,
      unit: 's',
      peer: `bare Node ${node!.toFixed(3)} s`,
      ratio: measured / node!,
    }));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A job of many short processes of a dozen programs, and a few that take a hundred times as long. */
export async function makeJob(folder: string, processes: number): Promise<string> {
  const nodePath = path.join(folder, nodeFolder('c1'));
  fs.mkdirSync(nodePath, { recursive: true });
  const job = jobOf({ id: 'large', scheduler: 'none', name: 'large', end: START + processes * 1e4 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const writer = new TableWriter(nodePath, processEndTable, {});
  const frame = new Frame(processEndTable);
  const next = random(17);
  const numbers = processEndTable.columns
    .filter((column) => column.type !== 'text')
    .map(({ name }) => frame.number(name));
  for (let i = 0; i < processes; i++) {
    const start = START + i * 1e4;
    const longer = i % 997 === 0 ? 100 : 1;
    const duration = Math.round((2e4 + next() * 2e4) * longer);
    frame.clear(start + duration);
    const row = frame.row();
    const setText = (name: string, value: string): void => {
      frame.texts[row * frame.textWidth + frame.text(name)] = value;
    };
    for (const at of numbers) frame.numbers[row * frame.numberWidth + at] = Math.round((1000 + next() * 500) * longer);
    frame.numbers[row * frame.numberWidth + frame.number('starttime')] = i;
    frame.numbers[row * frame.numberWidth + frame.number('numtids')] = 1;
    setText('pid', String(1000 + (i % 30_000)));
    setText('start', String(start));
    setText('exename', PROGRAMS[Math.floor(next() * PROGRAMS.length)]!);
    setText('args', `-c step-${i % 500} --input file-${i}`);
    setText('tags', `op:${PROGRAMS[i % 7]}`);
    setText('ended', 'exit');
    writer.append(frame);
  }
  await writer.close();
  return folder;
}

/** Seconds that a command takes. */
function wall(command: readonly string[]): number {
  const [file, ...args] = command as [string, ...string[]];
  const began = performance.now();
  const done = spawnSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28 });
  if (done.status !== 0) throw new Error(`${command.join(' ')} failed:\n${done.stderr}`);
  return (performance.now() - began) / 1000;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
