import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { readProcesses } from '../../query/processes/processes.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';

/** How long processes lived whose end nobody recorded: rows of them are written only when something changed. */

const at = (seconds: number): number => START + Math.round(seconds * 1e6);

/** A node that crashed after `ticks` seconds: one process, with rows at these moments, the last with this state. */
async function crashed(ticks: number, rows: readonly number[], state: string, recorded = true): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const node = path.join(folder, 'node=c1');
  const who = { pid: '50', start: String(START / 1000) };
  fs.mkdirSync(node, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ end: at(1000), state: 'node_fail' })));
  const tables = [agentTable, processTable, processStartTable];
  const { end, end_reason, ...record } = agentOf('c1', tables, { ticks: 1, last_sample: START });
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(record));
  const agentRows = Array.from({ length: ticks + 1 }, (_, t): Row => ({ time: at(t), cpu_us: t }));
  await appendRows(node, agentTable, agentRows);
  const process = (time: number, i: number): Row => {
    const last = i === rows.length - 1;
    return { time: at(time), ...who, name: 'solve', state: last ? state : 'R', user_ms: last ? 1000 : 0 };
  };
  await appendRows(node, processTable, rows.map(process));
  const began = { time: START, pid: '50', start: String(START), ppid: 1, uid: 1000, exename: 'solve', path: '/solve' };
  if (recorded) await appendRows(node, processStartTable, [began]);
  return folder;
}

/** As the report and as the list of processes have it: seconds, and CPUs busy in the report. */
function lifetimeIn(folder: string): (number | undefined)[] {
  const [processReport] = report(gather(openRecording(folder))).processes;
  const set = readProcesses([openRecording(folder)]);
  return [processReport!.seconds, processReport!.cpus_busy, (set.end[0]! - set.start[0]!) / 1e6];
}

test('a process of a node that crashed lived until its last tick, whether it changed or not', async () => {
  for (const recorded of [true, false]) {
    const folder = await crashed(8, [0, 1, 4], 'S', recorded);
    assert.deepEqual(lifetimeIn(folder), [8, 0.125, 8]);
    sealRecording(openRecording(folder));
    assert.deepEqual(lifetimeIn(folder), [8, 0.125, 8], 'sealed');
  }
});

test('a process that was seen to end, or of which nothing was seen for too long, lived until its last row', async () => {
  assert.deepEqual(lifetimeIn(await crashed(8, [0, 1, 4], 'X')), [4, 0.25, 4]);
  assert.deepEqual(lifetimeIn(await crashed(8, [0, 1, 4], 'Z')), [4, 0.25, 4]);
  // no agent was there when it ended: the next one knows nothing of it
  assert.deepEqual(lifetimeIn(await crashed(300, [0, 1, 4], 'S')), [4, 0.25, 4]);
});

/** A job of 25 seconds, sampled every ten: `solve` is older than its recording, and has its last row, with this state, then. */
async function older(last: number, state: string, recorded: boolean, used = 1000): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ end: at(25), interval_seconds: 10 })));
  const tables = [agentTable, processTable, processEndTable];
  const record = agentOf('c1', tables, { interval_seconds: 10, end: at(25), last_sample: at(25) });
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(record));
  await appendRows(
    node,
    agentTable,
    [0, 10, 20, 25].map((t) => ({ time: at(t), cpu_us: t })),
  );
  const row = (time: number, state: string, user_ms: number): Row => {
    const who = { pid: '50', start: String(START / 1000 - 9000), name: 'solve' };
    return { time: at(time), ...who, state, user_ms, system_ms: 0, read_bytes: user_ms };
  };
  await appendRows(node, processTable, [row(0, 'R', 1000), ...(last > 0 ? [row(last, state, used)] : [])]);
  const who = { pid: '60', start: String(at(1)), ppid: 1, uid: 1000, exename: 'burn', path: '/burn' };
  if (recorded)
    await appendRows(node, processEndTable, [{ time: at(3), ...who, usertime: 2e6, systemtime: 0, ended: 'exit' }]);
  return folder;
}

test('a process older than its recording that was seen once used nobody knows what, not nothing', async () => {
  const processFigures = (folder: string, selection = {}) => {
    const { processes, summary } = report(gather(openRecording(folder), selection));
    const { cpu_seconds, cpus_busy, read_bytes } = processes.find(({ pid }) => pid === '50')!;
    return [cpu_seconds, cpus_busy, read_bytes, summary.cpu_seconds, summary.cpu_source];
  };
  const unknown = [undefined, undefined, undefined];
  const first = { to: at(15) };
  for (const sealed of [false, true]) {
    const alone = await older(10, 'X', false);
    const beside = await older(10, 'X', true);
    if (sealed) for (const folder of [alone, beside]) sealRecording(openRecording(folder));
    assert.deepEqual(processFigures(alone), [...unknown, undefined, undefined]);
    assert.deepEqual(processFigures(alone, first), [...unknown, undefined, undefined]);
    const set = readProcesses([openRecording(alone)]);
    assert.deepEqual([set.cpu_time[0], set.metrics.get('read_bytes')], [Number.NaN, undefined]);
    // those that tell of themselves are not all there were
    assert.deepEqual(processFigures(beside), [...unknown, 2, 'records and samples']);
    assert.deepEqual(processFigures(beside, first), [...unknown, 2, 'records and samples']);
  }
  const notesIn = (folder: string) =>
    report(gather(openRecording(folder))).unmeasured.filter(({ what }) => what === 'CPU time of 1 process');
  const why = 'older than the recording, and gone at the next sample after its first';
  for (const recorded of [false, true])
    assert.deepEqual(notesIn(await older(10, 'X', recorded)), [{ what: 'CPU time of 1 process', why, nodes: ['c1'] }]);
  assert.deepEqual(notesIn(await older(20, 'X', true)), []);
  // seen again at the next tick, it had used nothing, or a second
  assert.deepEqual(processFigures(await older(20, 'X', false)), [0, 0, 0, 0, 'processes']);
  assert.deepEqual(processFigures(await older(0, '', false)), [0, 0, 0, 0, 'processes']);
  assert.deepEqual(processFigures(await older(20, 'X', false), { to: at(22) }), [0, 0, 0, 0, 'processes']);
  assert.deepEqual(processFigures(await older(10, 'R', false, 2000)).slice(0, 1), [1]);
});
