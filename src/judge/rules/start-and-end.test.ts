import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { cgroupTable } from '../../sources/tables.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';
import { EDGE } from './shared/use-over-time.ts';

const SECONDS = 120;

/** Two minutes on some nodes; `busy` CPUs at each second. */
async function recorded(
  busy: (t: number) => number,
  nodes = ['c1'],
  isSampled = (_: number): boolean => true,
): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  for (const node of nodes) {
    const nodePath = path.join(folder, `node=${node}`);
    let used = 0;
    const rows = Array.from({ length: SECONDS + 1 }, (_, t) => {
      const row = { time: START + t * 1e6, cgroup: '.', usage_us: Math.round(used) };
      used += busy(t) * 1e6;
      return row;
    }).filter((_, t) => isSampled(t));
    await appendRows(nodePath, cgroupTable, rows);
    const scope = { members: 'cgroup', cgroup: '/job_17' } as const;
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf(node, [cgroupTable], { scope })));
  }
  const end = START + SECONDS * 1e6;
  const job = jobOf({
    nodes,
    end,
    state: 'completed',
    exit_code: 0,
    asked: { nodes: nodes.length, cpus: 2 * nodes.length },
  });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  return folder;
}

const judgedOf = (folder: string, id: string, limits: Partial<typeof EDGE> = {}): string | undefined => {
  const settings = { thresholds: new Map([[id, { ...EDGE, ...limits }]]), off: new Map() };
  return report(gather(openRecording(folder)), settings).findings.find((one) => one.id === id)?.text;
};

test('a long start and a long end with little use, on one node and on several', async () => {
  const late = await recorded((t) => (t < 40 ? 0.02 : 2));
  assert.match(
    judgedOf(late, 'slow-start')!,
    /^40\.0 s at the start \(33 %\) had little use: 0\.02 CPUs busy, (1\.9\d|2) in the rest$/,
  );
  assert.equal(judgedOf(late, 'slow-end'), undefined);
  const early = await recorded((t) => (t < 90 ? 2 : 0.02), ['c1', 'c2']);
  assert.match(
    judgedOf(early, 'slow-end')!,
    /^(28|30)\.0 s at the end \(2[35] %\) had little use: 0\.0\d CPUs busy, (3\.9\d|4) in the rest$/,
  );
  assert.equal(judgedOf(early, 'slow-start'), undefined);
});

test('a short start, a start that works a little, and jobs that hardly work have none', async () => {
  for (const busy of [
    (t: number) => (t < 15 ? 0 : 2),
    (t: number) => (t < 40 ? 0.6 : 2),
    (t: number) => (t < 40 ? 0 : 0.2),
    (t: number) => (t % 40 === 0 ? 2 : 0),
    () => 2,
  ]) {
    const folder = await recorded(busy);
    assert.equal(judgedOf(folder, 'slow-start'), undefined, busy.toString());
    assert.equal(judgedOf(folder, 'slow-end'), undefined, busy.toString());
  }
});

test('a time that was not sampled is no time of little use', async () => {
  const busy = (t: number) => (t < 96 ? 2 : 0);
  assert.match(judgedOf(await recorded(busy), 'slow-end')!, /^2\d\.0 s at the end/);
  assert.equal(judgedOf(await recorded(busy, ['c1'], (t) => t < 102), 'slow-end'), undefined);
});

test('limits of the configuration count where statistics alone would say that all is well', async () => {
  for (const nodes of [['c1'], ['c1', 'c2']]) {
    const folder = await recorded((t) => (t < 12 || t >= 108 ? 0 : 2), nodes);
    for (const id of ['slow-start', 'slow-end']) {
      assert.equal(judgedOf(folder, id), undefined);
      assert.match(
        judgedOf(folder, id, { duration: 0.05 })!,
        /^1[0-4]\.0 s at the (start|end) \(([\d.]+) %\) had little use/,
      );
    }
  }
});
