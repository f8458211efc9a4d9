import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { gather } from '../src/judge/facts/gather.ts';
import { report } from '../src/judge/report.ts';
import { reportSchema } from '../src/judge/report-schema.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { verifyRecording } from '../src/recording/repair/verify.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { reportJson } from '../src/show/report/json.ts';
import { shortText } from '../src/show/report/short.ts';
import { cgroupTable } from '../src/sources/cgroup/table.ts';
import { disk } from '../src/sources/host/disk.ts';
import { loadavg } from '../src/sources/host/loadavg.ts';
import { processTable } from '../src/sources/process/table.ts';
import { listRecordings } from './made/list-recordings.ts';
import { reportText } from './made/report-text.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from './make-recording.ts';
import { tacho } from './tacho.ts';

/** A minute of load and of a disk; some file of it is damaged, and that must be told. */
async function recorded(sealed: boolean): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf()));
  const record = agentOf('c1', [loadavg.table, disk.table], { last_sample: START + 60e6 });
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(record));
  const times = Array.from({ length: 61 }, (_, t) => START + t * 1e6);
  const load = times.map((time, t): Row => ({ time, load1: t / 10, load5: Math.sin(t) }));
  await appendRows(node, loadavg.table, load);
  await appendRows(
    node,
    disk.table,
    times.map((time, t): Row => ({ time, disk: 'sda', read_bytes: t * 1e6 })),
  );
  if (sealed) sealRecording(openRecording(folder), { parquet: true });
  return folder;
}

const card = (folder: string) => report(gather(openRecording(folder)));
const load = (folder: string) => readTable(openRecording(folder).nodes[0]!, 'loadavg');

test('a sound recording has grade A and nothing lost', async () => {
  for (const sealed of [false, true]) {
    const { quality, unmeasured } = card(await recorded(sealed));
    assert.equal(quality.grade, 'A');
    assert.ok(!unmeasured.some((u) => u.hint?.includes('tacho verify')));
  }
});

test('a damaged job.json is told, whether anything else is there or not, and the report stays as its schema says', async () => {
  const folder = await recorded(false);
  const empty = path.join(temporary(), 'tacho-18');
  fs.mkdirSync(empty);
  for (const each of [folder, empty]) fs.writeFileSync(path.join(each, 'job.json'), '{ "format": 1, ');
  const [partly, nothing] = [card(folder), card(empty)];
  for (const jobReport of [partly, nothing]) {
    assert.match(jobReport.unmeasured[0]!.why, /cannot read .*job\.json: it is damaged/);
    reportSchema.parse(JSON.parse(reportJson([jobReport])));
  }
  assert.deepEqual([partly.findings.length, nothing.findings.length], [0, 1]);
  assert.deepEqual([nothing.quality.grade, nothing.quality.expected_ticks], ['D', 0]);
  assert.match(shortText(partly), /^Job +job, 1 node: unknown$/m);
  const text = reportText([nothing]);
  assert.match(text, /^no nodes known$/m);
  assert.match(text, /^Nothing of the job can be read: the recording is empty or damaged\.$/m);
  assert.match(text, /^Quality D: nothing was sampled \(damaged files\)\.$/m);
});

test('a part that lost its header is read with the columns of agent.json, and verify writes it again', async () => {
  const folder = await recorded(false);
  const file = path.join(folder, 'node=c1', 'loadavg.csv');
  const whole = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, whole.slice(whole.indexOf('\n') + 1));
  assert.deepEqual([load(folder).rows, load(folder).numbers.get('load1')![60]], [61, 6]);
  const jobReport = card(folder);
  assert.equal(jobReport.quality.grade, 'B');
  assert.match(jobReport.unmeasured[0]!.what, /loadavg: loadavg\.csv on c1/);
  assert.match(jobReport.unmeasured[0]!.why, /header is lost/);
  assert.deepEqual(
    verifyRecording(folder).map((c) => [c.outcome, c.what]),
    [['repaired', 'its header is lost']],
  );
  assert.equal(fs.readFileSync(file, 'utf8'), whole);
});

const damages: Record<string, (file: string) => void> = {
  emptied: (file) => fs.truncateSync(file),
  'cut off': (file) => fs.truncateSync(file, fs.statSync(file).size - 20),
  'of another table': (file) => fs.copyFileSync(file.replace('loadavg', 'disk'), file),
  'with a flipped bit': (file) => {
    const bytes = fs.readFileSync(file);
    bytes[Math.floor(bytes.length / 4)]! ^= 4;
    fs.writeFileSync(file, bytes);
  },
};

for (const [name, damage] of Object.entries(damages)) {
  test(`a sealed file ${name} is told, costs the grade, and verify leaves its statistics alone`, async () => {
    const folder = await recorded(true);
    const file = path.join(folder, 'node=c1', 'loadavg.parquet');
    const statistics = fs.readFileSync(file.replace('parquet', 'stats.json.zst'), 'utf8');
    damage(file);
    const { quality, unmeasured } = card(folder);
    assert.equal(quality.grade, 'C');
    assert.match(unmeasured[0]!.what, /loadavg: loadavg\.parquet on c1/);
    assert.match(unmeasured[0]!.hint!, /^tacho verify .*tacho-17 says/);
    const checks = verifyRecording(folder);
    assert.deepEqual(
      checks.map((c) => [c.file, c.outcome]),
      [['node=c1/loadavg.parquet', 'not repaired']],
    );
    assert.equal(fs.readFileSync(file.replace('parquet', 'stats.json.zst'), 'utf8'), statistics);
  });
}

test('lines that verify has moved aside are still told, and cost the grade', async () => {
  const folder = await recorded(false);
  const file = path.join(folder, 'node=c1/loadavg.csv');
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  fs.writeFileSync(file, [...lines.slice(0, 3), 'garbage', ...lines.slice(3)].join('\n'));
  const gradeAndWhy = () => [card(folder).quality.grade, card(folder).unmeasured[0]!.what];
  assert.deepEqual(gradeAndWhy(), ['B', 'loadavg: loadavg.csv on c1']);
  verifyRecording(folder);
  assert.deepEqual(gradeAndWhy(), ['B', 'loadavg: loadavg.csv on c1']);
  assert.equal(card(folder).unmeasured[0]!.why, '1 line could not be read, and went to loadavg.csv.torn');
});

test('what is left out for want of agent.json is told and costs the grade; descriptions of tables can be done without', async () => {
  const folder = await recorded(true);
  const tables = path.join(folder, 'node=c1/tables.json.zst');
  const agent = path.join(folder, 'node=c1/agent.json');
  const gradeAndWhy = () => {
    const { quality, unmeasured } = card(folder);
    const lost = unmeasured.filter((u) => u.hint?.includes('tacho verify'));
    return [quality.grade, ...lost.map(({ what, why }) => `${what}: ${why}`)];
  };
  fs.truncateSync(tables, 100);
  assert.deepEqual(gradeAndWhy(), ['B', `units and kinds of tables: cannot read ${tables}: it is damaged`]);
  const checks = () => verifyRecording(folder).map((c) => [path.basename(c.file), c.outcome]);
  const gone = ['tables.json.zst', 'note'];
  assert.deepEqual(checks(), [['tables.json.zst', 'repaired'], gone]);
  assert.ok(fs.existsSync(`${tables}.torn`));
  assert.deepEqual([gradeAndWhy(), checks()], [['A'], [gone]]);
  fs.rmSync(agent);
  const what = 'the job’s own part of c1 (cgroup, limits, cards), and what recording cost there';
  assert.deepEqual(gradeAndWhy(), ['B', `${what}: cannot read ${agent}: it is missing`]);
  assert.deepEqual(checks(), [['agent.json', 'not repaired']]);
});

test('an empty part, and a sealed file that is gone, are told', async () => {
  const live = await recorded(false);
  fs.truncateSync(path.join(live, 'node=c1/disk.csv'));
  assert.deepEqual(
    [card(live).quality.grade, card(live).unmeasured[0]!.what, card(live).unmeasured[0]!.why],
    ['C', 'disk: disk.csv on c1', 'it is empty'],
  );
  assert.deepEqual(
    verifyRecording(live).map((c) => [c.file, c.outcome]),
    [['node=c1/disk.csv', 'not repaired']],
  );
  const sealed = await recorded(true);
  fs.rmSync(path.join(sealed, 'node=c1/disk.parquet'));
  assert.match(card(sealed).unmeasured[0]!.why, /^it is missing; only its statistics are left$/);
  assert.deepEqual(
    verifyRecording(sealed).map((c) => [c.file, c.outcome]),
    [['node=c1/disk.parquet', 'not repaired']],
  );
});

test('a node whose processes or cgroup are lost did not do nothing: it was not measured', async () => {
  for (const [table, by] of [
    [processTable, 'tree'],
    [cgroupTable, 'cgroup'],
  ] as const) {
    const folder = await recorded(false);
    const job = jobOf({ nodes: ['c1', 'c2'], asked: { nodes: 2, cpus: 4 } });
    fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
    for (const name of job.nodes) {
      const node = path.join(folder, `node=${name}`);
      const record = agentOf(name, [loadavg.table, disk.table, processTable, table], {
        last_sample: START + 60e6,
        scope: { members: by, cgroup_shared: false },
        written: ['loadavg', table.name],
      });
      await appendRows(
        node,
        table,
        Array.from({ length: 61 }, (_, t): Row => {
          const time = START + t * 1e6;
          return by === 'tree'
            ? { time, pid: '5', start: String(START / 1000), user_ms: t * 1000 }
            : { time, cgroup: '.', usage_us: t * 1e6 };
        }),
      );
      await appendRows(node, loadavg.table, [
        { time: START, load1: 1 },
        { time: START + 60e6, load1: 1 },
      ]);
      fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(record));
    }
    fs.rmSync(path.join(folder, `node=c1/${table.name}.csv`));
    const { nodes, summary, findings, unmeasured } = card(folder);
    assert.deepEqual([nodes[0]!.cpu_utilization, nodes[1]!.cpu_utilization], [undefined, 0.5]);
    assert.equal(summary.cpus_measured, 2);
    assert.ok(!findings.some(({ id }) => id === 'node-idle'));
    assert.deepEqual(
      [unmeasured[0]!.what, unmeasured[0]!.why],
      [`${table.name}: ${table.name}.csv on c1`, 'it is missing'],
    );
    assert.ok(
      verifyRecording(folder).some((c) => c.file === `node=c1/${table.name}.csv` && c.outcome === 'not repaired'),
    );
  }
});

test('records of processes that cannot be read are told, too', async () => {
  const folder = await recorded(false);
  fs.writeFileSync(path.join(folder, 'node=c1/process_end.csv'), 'nonsense\n');
  const { quality, unmeasured } = card(folder);
  assert.equal(quality.grade, 'C');
  assert.match(unmeasured[0]!.what, /process_end: process_end\.csv on c1/);
  assert.equal(quality.damage.length, 1);
});

test('a column that cannot be read leaves the others, and an export says so', async () => {
  const folder = await recorded(true);
  const file = path.join(folder, 'node=c1', 'loadavg.parquet');
  const bytes = fs.readFileSync(file);
  // the doubles of load5 are the only ones that do not repeat: find a byte whose damage hits them alone
  for (let at = 4; at < bytes.length; at++) {
    bytes[at]! ^= 4;
    fs.writeFileSync(file, bytes);
    const { damage } = load(folder);
    if (damage[0]?.lost_columns?.[0] === 'load5') break;
    bytes[at]! ^= 4;
  }
  const batch = load(folder);
  assert.deepEqual(batch.damage[0]!.lost_columns, ['load5']);
  assert.deepEqual([batch.rows, batch.numbers.get('load1')![60]], [61, 6]);
  assert.ok(batch.numbers.get('load5')!.every(Number.isNaN));
  const { code, out, err } = tacho(['export', folder, '--table', 'loadavg']);
  assert.equal(code, 1);
  assert.equal(out.split('\n').length, 63);
  assert.match(err, /load5 cannot be read, the other columns can/);
  assert.match(err, /the export lacks .*loadavg\.parquet/);
});

test('a stray folder counts neither as a node nor as one that still records, and is told once', async () => {
  const folder = await recorded(true);
  const before = card(folder);
  fs.mkdirSync(path.join(folder, 'node=zz'));
  fs.writeFileSync(path.join(folder, 'node=zz', 'cpu.csv'), 'a,b\n');
  const { unmeasured, ...rest } = card(folder);
  const foreignFolder = { what: 'node=zz', why: 'no node of this job: left out' };
  assert.deepEqual(unmeasured, [foreignFolder, ...before.unmeasured]);
  const { unmeasured: _, ...same } = before;
  assert.deepEqual(rest, same);
  const action = 'left out';
  assert.deepEqual(verifyRecording(folder), [
    { file: 'node=zz', what: 'is no node of this job', outcome: 'note', action },
  ]);
  assert.deepEqual(
    listRecordings([folder]).map(({ nodes, state }) => [nodes, state]),
    [[1, 'sealed']],
  );
});
