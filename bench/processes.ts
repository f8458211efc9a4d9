import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { openRecording } from '../src/recording/folder/open.ts';
import { TableWriter } from '../src/recording/live/append.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { processEndTable, threadEndTable } from '../src/sources/records/tables.ts';
import { Frame } from '../src/table/frame.ts';
import { agentOf, jobOf } from '../test/make-recording.ts';
import type { Row } from './row.ts';

export interface ProcessesOptions {
  /** Runs of each command, alternating; the median counts. */
  runs?: number;
  processes?: number;
}

const TACHO = path.join(import.meta.dirname, '..', 'tacho');
const START = 1_794_775_752_000_000;

/** Whole commands on a job of 35,000 processes, beside what Node needs to start. */
export async function bench(options: ProcessesOptions = {}): Promise<Row[]> {
  const { runs = 5, processes = 35_000 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const job = await makeJob(path.join(folder, 'tacho-1'), '1', processes, 1);
    const slower = await makeJob(path.join(folder, 'tacho-2'), '2', processes, 1.3);
    const empty = path.join(folder, 'empty.mjs');
    fs.writeFileSync(empty, '');
    const cases = [
      { what: 'bare Node', must: '', command: [process.execPath, empty] },
      { what: 'tacho processes --tree', must: '≤ 1 s', command: [TACHO, 'processes', '--tree', job] },
      { what: 'tacho operations', must: '≤ 1 s', command: [TACHO, 'operations', job] },
      { what: 'tacho timeline --by operation', must: '', command: [TACHO, 'timeline', '--by', 'operation', job] },
      { what: 'tacho report', must: '', command: [TACHO, 'report', job] },
      { what: 'tacho compare, two such jobs', must: '', command: [TACHO, 'compare', job, slower] },
    ].map((one) => ({ ...one, times: [] as number[] }));
    for (let run = 0; run < runs; run++) for (const one of cases) one.times.push(wall(one.command));
    const [node, ...measured] = cases;
    const floor = median(node!.times);
    return measured.map(({ what, must, times }) => ({
      what: `${what}, ${processes.toLocaleString('en')} processes`,
      must,
      measured: median(times),
      unit: 's',
      peer: `bare Node ${floor.toFixed(3)} s`,
      ratio: median(times) / floor,
    }));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function wall(command: readonly string[]): number {
  const began = performance.now();
  const done = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`${command.join(' ')} failed:\n${done.stderr}`);
  return (performance.now() - began) / 1000;
}

const median = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1]!;

/** A sealed recording of a long script: steps that call tools, tags that name the steps, pids that are used again. */
async function makeJob(folder: string, id: string, processes: number, slowness: number): Promise<string> {
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const ends = new Frame(processEndTable);
  const threads = new Frame(threadEndTable);
  const set = (frame: Frame, row: number, name: string, value: number | string): void => {
    if (typeof value === 'string') frame.texts[row * frame.textWidth + frame.text(name)] = value;
    else frame.numbers[row * frame.numberWidth + frame.number(name)] = value;
  };
  const writers = [new TableWriter(nodePath, processEndTable), new TableWriter(nodePath, threadEndTable)];
  let time = START;
  const life = (i: number): number => Math.round(((i * 7919) % 5000) * 200 * slowness) + 1000;
  for (let i = 0; i < processes; i++) {
    // every tenth is a script that the nine after it belong to, and they end before it
    const head = i - (i % 10);
    const pid = 1000 + (i % 30_000);
    const start = i === head ? time : time + (i - head) * 2000;
    const end = i === head ? start + 2e6 * slowness : Math.min(start + life(i), time + 2e6 * slowness);
    if (i % 10 === 9) time += 2e6 * slowness;
    const facts = {
      pid: String(pid),
      start: String(start),
      ppid: i === head ? 1 : 1000 + (head % 30_000),
      exename: i === head ? 'sh' : ['cp', 'ncks', 'mv', 'sed'][i % 4]!,
      path: '/usr/bin/tool',
      args: `--input /data/run${i % 500}/field_${i}.nc --output /data/out/field_${i}.nc`,
      tags: `op:step${Math.floor(i / 10) % 40};seq:${Math.floor(i / 1000)}`,
      ended: 'exit',
      exitcode: i % 97 === 0 ? 1 : 0,
      numtids: 1,
    };
    const metrics = {
      usertime: life(i) / 2,
      systemtime: life(i) / 8,
      rssmax: 4000 + (i % 9000),
      rchar: i * 512,
      wchar: i * 256,
      starttime: Math.round(start / 1e4),
    };
    for (const [frame, writer] of [
      [ends, writers[0]!],
      [threads, writers[1]!],
    ] as const) {
      frame.clear(end);
      const row = frame.row();
      const own = frame === ends ? facts : { pid: facts.pid, start: facts.start, tid: facts.pid, thread_start: start };
      for (const [name, value] of Object.entries({ ...own, ...metrics })) set(frame, row, name, value);
      writer.append(frame);
    }
  }
  for (const writer of writers) await writer.close();
  const job = jobOf({ id, scheduler: 'none', name: 'steps', end: time });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const agent = agentOf('c1', [processEndTable, threadEndTable], { last_sample: time, end: time });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  sealRecording(openRecording(folder));
  return folder;
}
