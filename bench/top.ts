import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gpuTable, processTable } from '../src/sources/tables.ts';
import type { Table } from '../src/table/table.ts';
import { agentOf, jobOf } from '../test/make-recording.ts';
import type { Row } from './row.ts';

export interface TopOptions {
  nodes?: number;
  seconds?: number;
}

const TACHO = path.join(import.meta.dirname, '..', 'tacho');
const PROCESSES = 20;
const GPUS = 8;
/** Its first look reads back a minute; then the program is started, and what it costs to go on is measured. */
const BEGINNING_MS = 10_000;
const TICKS_PER_SECOND = 100;

/** What `tacho top` on a terminal of 80 × 24 costs while a job runs: each node writes GPUs and processes every second. */
export async function bench({ nodes = 64, seconds = 30 }: TopOptions = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-top-'));
  const recording = path.join(folder, 'tacho-64');
  const start = Date.now() * 1000 - 60e6;
  const names = Array.from({ length: nodes }, (_, n) => `c${n + 1}`);
  const { end: _, ...job } = jobOf({ id: '64', name: 'solve', nodes: names, start, state: 'running' });
  fs.mkdirSync(recording);
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  for (const name of names) {
    const nodePath = path.join(recording, `node=${name}`);
    fs.mkdirSync(nodePath);
    const { end: _end, end_reason: _reason, ...agent } = agentOf(name, [gpuTable, processTable], { start });
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify({ ...agent, scope: { members: 'tree' } }));
    for (const table of [gpuTable, processTable])
      fs.writeFileSync(path.join(nodePath, `${table.name}.csv`), `${headOf(table).join(',')}\n`);
  }
  let second = 0;
  const tick = (): void => {
    const time = Date.now() * 1000;
    second++;
    for (const name of names) {
      const at = path.join(recording, `node=${name}`);
      fs.appendFileSync(path.join(at, 'gpu.csv'), gpuLines(time, second));
      fs.appendFileSync(path.join(at, 'process.csv'), processLines(time, second, start));
    }
  };
  tick();
  const timer = setInterval(tick, 1000);
  const line = `stty cols 80 rows 24; echo $$ >'${folder}/pid'; exec '${TACHO}' top '${recording}'`;
  const terminal = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'ignore', 'ignore'] });
  try {
    await sleep(BEGINNING_MS);
    const pid = fs.readFileSync(path.join(folder, 'pid'), 'utf8').trim();
    const before = cpuSeconds(pid);
    await sleep(seconds * 1000);
    const used = cpuSeconds(pid) - before;
    return [
      {
        ...{ what: `tacho top, ${nodes} nodes: CPU`, must: '≤ 5 %', measured: (100 * used) / seconds, unit: '%' },
        ...{ peer: `${GPUS} GPUs, ${PROCESSES} processes a node`, ratio: Number.NaN },
      },
    ];
  } finally {
    clearInterval(timer);
    terminal.stdin.write('q');
    await sleep(500);
    terminal.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const headOf = ({ keys, columns }: Table): string[] => ['time', ...[...keys, ...columns].map(({ name }) => name)];

const linesOf = (table: Table, rows: readonly Record<string, number | string>[]): string =>
  rows
    .map(
      (row) =>
        `${headOf(table)
          .map((name) => row[name] ?? '')
          .join(',')}\n`,
    )
    .join('');

const gpuLines = (time: number, second: number): string =>
  linesOf(
    gpuTable,
    Array.from({ length: GPUS }, (_, gpu) => ({
      ...{ time, gpu, mine: 'yes', utilization_percent: (second * 7 + gpu) % 100 },
      ...{ memory_used_bytes: 2 ** 34, power_watts: 300 + gpu },
    })),
  );

const processLines = (time: number, second: number, start: number): string =>
  linesOf(
    processTable,
    Array.from({ length: PROCESSES }, (_, i) => ({
      ...{ time, pid: 1000 + i, start: Math.round(start / 1000), name: `rank-${i}`, user: 'ada', state: 'R', ppid: 1 },
      ...{ user_ms: second * 900, system_ms: second * 20, children_user_ms: 0, children_system_ms: 0 },
      rss_bytes: 2 ** 30 + second * 4096,
    })),
  );

/** Of a process so far, in user and in system mode. */
function cpuSeconds(pid: string): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
