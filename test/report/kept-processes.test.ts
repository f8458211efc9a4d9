import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { keepProcesses, PROCESSES_FILE, readKeptProcesses } from '../../src/judge/facts/kept-processes.ts';
import { report } from '../../src/judge/report.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { temporary } from '../make-recording.ts';

/** A sealed job of two nodes with records of processes, threads and ranks; its processes are kept, however small it is. */
async function kept(): Promise<{ folder: string; file: string }> {
  const folder = path.join(temporary(), 'demo');
  await writeDemo({ folder, nodes: 2, gpus: 1, seconds: 600, interval: 10 });
  const recording = openRecording(folder);
  keepProcesses(recording, gather(recording).processes, 1);
  return { folder, file: path.join(folder, PROCESSES_FILE) };
}

const NOW = 1e15;
const card = (folder: string, phases = false) => report(gather(openRecording(folder), { now: NOW, phases }));

test('a report is the same with kept processes and without', async () => {
  const { folder, file } = await kept();
  const set = readKeptProcesses(openRecording(folder))!;
  const [withThem, phases] = [card(folder), card(folder, true)];
  fs.rmSync(file);
  const { processes } = gather(openRecording(folder));
  assert.ok(processes!.length > 20);
  assert.deepEqual(set, processes);
  assert.deepEqual(card(folder), withThem);
  assert.deepEqual(card(folder, true), phases);
});

test('kept processes do not count when a file, the times or the users are others, or they are damaged', async () => {
  const { folder, file } = await kept();
  const isUsed = (): boolean => readKeptProcesses(openRecording(folder)) !== undefined;
  const around = (changed: string, change: (text: string) => string): boolean => {
    const before = fs.readFileSync(changed);
    fs.writeFileSync(changed, Buffer.from(change(before.toString('latin1')), 'latin1'));
    const used = isUsed();
    fs.writeFileSync(changed, before);
    return used;
  };
  const [node] = openRecording(folder).nodes;
  const inNode = (name: string): string => path.join(node!.folder, name);
  assert.equal(isUsed(), true);
  assert.equal(
    around(path.join(folder, 'job.json'), (text) => text.replace(/"user":\s*"ada"/, '"user":"eva"')),
    false,
  );
  assert.equal(
    around(inNode('agent.json'), (text) => text.replace(/"start":\s*1/, '"start":2')),
    false,
  );
  assert.equal(
    around(inNode('cpu.csv.zst'), (text) => `${text}x`),
    false,
  );
  // a bit that fell over: the records have the same size, and fail their checksum
  const flip = (text: string): string =>
    text.slice(0, 200) + String.fromCharCode(text.charCodeAt(200) ^ 1) + text.slice(201);
  assert.equal(around(inNode('process_end.csv.zst'), flip), false);
  assert.equal(around(file, flip), false);
  assert.equal(isUsed(), true);
  fs.writeFileSync(inNode('load.csv'), 'time,load1\n');
  assert.equal(isUsed(), false);
});

test('processes are not kept where they would be more than two hundredths of the recording', async () => {
  const { folder, file } = await kept();
  fs.rmSync(file);
  const recording = openRecording(folder);
  keepProcesses(recording, gather(recording).processes);
  assert.equal(fs.existsSync(file), false);
});
