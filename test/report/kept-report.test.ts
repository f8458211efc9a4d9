import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { writeDemo } from '../../src/demo/demo.ts';
import { checkResults } from '../../src/judge/check-results.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { PROCESSES_FILE } from '../../src/judge/facts/kept-processes.ts';
import { keepResults } from '../../src/judge/keep-results.ts';
import { REPORT_FILE, readKeptReport } from '../../src/judge/kept-report.ts';
import { report } from '../../src/judge/report.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { sealRecording } from '../../src/recording/sealed/seal.ts';
import { openedJob } from '../../src/serve/collections/opened.ts';
import { temporary } from '../make-recording.ts';
import { tacho } from '../tacho.ts';

/** A sealed job of two nodes with phases and records; its report is kept, however small it is. */
async function kept(): Promise<{ folder: string; file: string }> {
  const folder = path.join(temporary(), 'demo');
  await writeDemo({ folder, nodes: 2, gpus: 1, seconds: 600, interval: 10 });
  keepResults(openRecording(folder), 1);
  return { folder, file: path.join(folder, REPORT_FILE) };
}

const made = (folder: string, phases = false) => report(gather(openRecording(folder), { isAfresh: true, phases }));
const read = (folder: string, phases = false) => readKeptReport(openRecording(folder), phases);

test('a kept report is the one that is made of the data, also with phases, elsewhere, and with what the end cost', async () => {
  const { folder } = await kept();
  assert.ok(read(folder)!.findings.length > 0 && read(folder)!.phases.length > 1);
  for (const phases of [false, true]) assert.deepEqual(read(folder, phases), made(folder, phases));
  assert.notDeepEqual(read(folder, true)!.phases, read(folder)!.phases);
  const moved = path.join(path.dirname(folder), 'moved');
  // a copy has files of other times
  fs.cpSync(folder, moved, { recursive: true });
  const job = JSON.parse(fs.readFileSync(path.join(moved, 'job.json'), 'utf8'));
  fs.writeFileSync(path.join(moved, 'job.json'), JSON.stringify({ ...job, finish_seconds: 1.5 }));
  assert.equal(read(moved)!.recording, moved);
  assert.deepEqual(read(moved), made(moved));
  assert.equal(read(moved)!.cost.cpu_seconds, read(folder)!.cost.cpu_seconds! + 1.5);
});

test('it does not count when a file, the job, the time zone or the code are others, or it is damaged', async (t) => {
  const { folder, file } = await kept();
  const [node] = openRecording(folder).nodes;
  const inNode = (name: string): string => path.join(node!.folder, name);
  const flip = (text: string): string =>
    text.slice(0, 200) + String.fromCharCode(text.charCodeAt(200) ^ 1) + text.slice(201);
  const isUsedWith = (changed: string, change: (text: string) => string): boolean => {
    const before = fs.readFileSync(changed);
    fs.writeFileSync(changed, Buffer.from(change(before.toString('latin1')), 'latin1'));
    const used = read(folder) !== undefined;
    fs.writeFileSync(changed, before);
    return used;
  };
  assert.equal(
    isUsedWith(path.join(folder, 'job.json'), (text) => text.replace(/"user":\s*"ada"/, '"user":"eva"')),
    false,
  );
  for (const name of ['agent.json', 'cpu.csv.zst', 'process_end.csv.zst'])
    assert.equal(isUsedWith(inNode(name), flip), false);
  assert.equal(isUsedWith(file, flip), false);
  const ofOtherCode = (text: string): string => {
    const plain = zstdDecompressSync(Buffer.from(text, 'latin1')).toString();
    return zstdCompressSync(plain.replace(/"code":"./, '"code":"x')).toString('latin1');
  };
  assert.equal(isUsedWith(file, ofOtherCode), false);
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  process.env.TZ = 'Asia/Tokyo';
  assert.equal(read(folder), undefined);
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
  assert.notEqual(read(folder), undefined);
  fs.writeFileSync(inNode('load.csv'), 'time,load1\n');
  assert.equal(read(folder), undefined);
});

test('what somebody else has kept is not believed', { skip: process.getuid!() !== 0 && 'needs root' }, async () => {
  const { folder, file } = await kept();
  assert.notEqual(read(folder), undefined);
  fs.chownSync(file, 12345, 12345);
  assert.equal(read(folder), undefined);
});

test('no report is kept of a recording that is not sealed, or where it would be more than two hundredths of it', async () => {
  const folder = path.join(temporary(), 'demo');
  await writeDemo({ folder, nodes: 1, gpus: 1, seconds: 600, interval: 10, live: true });
  keepResults(openRecording(folder), 1);
  assert.equal(fs.existsSync(path.join(folder, REPORT_FILE)), false);
  sealRecording(openRecording(folder));
  keepResults(openRecording(folder));
  assert.equal(fs.existsSync(path.join(folder, REPORT_FILE)), false);
});

test('verify compares what is kept with the data', async () => {
  const { folder, file } = await kept();
  const verify = (...more: string[]) => tacho(['verify', ...more, folder], {});
  assert.match(verify().out, /: ok\n$/);
  assert.deepEqual(checkResults(folder, false), []);
  const text = zstdDecompressSync(fs.readFileSync(file)).toString();
  const forged = text.replace(/"cpu_utilization":0\.\d/, '"cpu_utilization":0.7');
  assert.notEqual(forged, text);
  fs.writeFileSync(file, zstdCompressSync(forged));
  assert.notDeepEqual(read(folder), made(folder));
  assert.deepEqual(
    checkResults(folder, true).map((check) => [check.file, check.outcome]),
    [[REPORT_FILE, 'would repair']],
  );
  assert.deepEqual(
    checkResults(folder, false).map((check) => [check.file, check.outcome]),
    [[REPORT_FILE, 'repaired']],
  );
  assert.equal(fs.existsSync(file), false);
  assert.deepEqual(checkResults(folder, false), []);
  assert.equal(fs.existsSync(path.join(folder, PROCESSES_FILE)), false);
});

test('rules that are set otherwise are judged by the data', async () => {
  const { folder } = await kept();
  const card = (...more: string[]) => JSON.parse(tacho(['report', '--format', 'json', folder, ...more], {}).out);
  const usual = card();
  const [{ id }] = usual.findings;
  const config = path.join(path.dirname(folder), 'tacho.toml');
  fs.writeFileSync(config, `[rules]\noff = ["${id}"]\n`);
  const ids = card('--config', config).findings.map((finding: { id: string }) => finding.id);
  assert.equal(ids.includes(id), false);
  assert.equal(usual.recording, folder);
});

test('the page uses it, unless the site has rules of its own', async () => {
  const { folder } = await kept();
  const recording = openRecording(folder);
  const entry = { id: 'demo', path: folder };
  // there is nothing of which a report could be made
  assert.deepEqual(openedJob(entry, recording, undefined as never, undefined).report(), made(folder));
  const ids = made(folder).findings.map(({ id }) => id);
  const rules = { thresholds: new Map(), off: new Map([[ids[0]!, 'rules.off']]) };
  const { findings } = openedJob(entry, recording, gather(recording), rules).report();
  assert.deepEqual(
    findings.map(({ id }) => id),
    ids.filter((id) => id !== ids[0]),
  );
});
