import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { openRecording } from '../../src/recording/open.ts';
import { agentTable } from '../../src/sources/agent.ts';
import { sources } from '../../src/sources/index.ts';
import { labelName, metricsOf } from '../../src/table/names.ts';
import { temporary } from '../make-recording.ts';
import { pushRecordings } from './push.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { type: string; uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { refId: string; expr: string; datasource: { uid: string } }[];
  collapsed?: boolean;
  panels?: Panel[];
}

interface Dashboard {
  uid: string;
  title: string;
  schemaVersion: number;
  templating: { list: { name: string; type: string; query: string | { query: string } }[] };
  annotations: { list: { name: string; expr: string }[] };
  panels: Panel[];
}

const FOLDER = path.join(import.meta.dirname, '../../packaging/grafana');
const read = (name: string): Dashboard => JSON.parse(fs.readFileSync(path.join(FOLDER, name), 'utf8'));
const files = ['job.json', 'fleet.json'];
const JOB = '48213';
const SECONDS = 600;

const skip = whyNoVictoria();
let victoria: Victoria;
let end: number;

before(async () => {
  if (skip) return;
  const place = temporary();
  const size = { nodes: 2, gpus: 2, seconds: SECONDS };
  const folder = await writeDemo({ folder: path.join(place, 'demo'), live: true, ...size });
  victoria = await startVictoria();
  await pushRecordings(victoria.url, place);
  const { job } = openRecording(folder);
  end = job.end! / 1e6;
  await victoria.load(missingTables(job.start / 1000));
});

after(() => victoria?.remove());

/** Samples of the tables that the demo lacks: no NFS, no Lustre. */
function missingTables(start: number): string {
  const lines: string[] = [];
  const tables = [...sources.map(({ table }) => table), agentTable];
  for (const table of tables.filter(({ name }) => ['nfs', 'lustre', 'pressure', 'agent'].includes(name))) {
    const keys = table.keys.map(({ name }) => `,${labelName(name)}="x"`).join('');
    for (const metric of metricsOf(table)) {
      if (metric === undefined) continue;
      for (let s = 0; s < SECONDS; s += 5)
        lines.push(`${metric.name}{job="${JOB}",node="node01"${keys}} ${s} ${start + s * 1000}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

const inside = (panels: readonly Panel[]): Panel[] => panels.flatMap((p) => [p, ...inside(p.panels ?? [])]);

/** As Grafana fills in what is chosen at the top. */
const chosen = (expr: string): string =>
  expr
    .replaceAll('$__rate_interval', '60s')
    .replaceAll('$__range', `${SECONDS}s`)
    .replaceAll('$job', JOB)
    .replaceAll(/\$(node|cluster|user)\b/g, '.*');

async function ask(place: string, form: Record<string, string>): Promise<{ data: unknown; error?: string }> {
  const answer = await fetch(`${victoria.url}/api/v1/${place}`, { method: 'POST', body: new URLSearchParams(form) });
  return (await answer.json()) as { data: unknown; error?: string };
}

for (const file of files) {
  test(`${file}: every panel's query answers`, { skip }, async () => {
    const { panels, annotations, templating } = read(file);
    const silent: string[] = [];
    let asked = 0;
    for (const { title, type, targets = [] } of inside(panels)) {
      for (const { expr } of targets) {
        const query = chosen(expr);
        const range = type === 'timeseries';
        const found = range
          ? await ask('query_range', { query, start: String(end - SECONDS), end: String(end - 5), step: '15' })
          : await ask('query', { query, time: String(end - 5) });
        const result = (found.data as { result?: { values?: [number, string][]; value?: [number, string] }[] })?.result;
        const values = (result ?? []).flatMap((r) => (range ? r.values! : [r.value!]));
        if (!values.some(([, value]) => Number.isFinite(Number(value))))
          silent.push(`${title}: ${query} ${found.error ?? ''}`);
        asked++;
      }
    }
    assert.deepEqual(silent, []);
    assert.ok(asked > 25, `${asked}`);
    for (const { expr } of annotations.list) {
      const query = chosen(expr);
      const found = await ask('query_range', { query, start: String(end - SECONDS), end: String(end), step: '1' });
      assert.ok((found.data as { result: unknown[] }).result.length > 0, expr);
    }
    for (const { name, query } of templating.list.filter(({ type }) => type === 'query')) {
      const wanted = /^label_values\((.+), (\w+)\)$/.exec((query as { query: string }).query)!;
      const form = { 'match[]': chosen(wanted[1]!), start: String(end - SECONDS), end: String(end) };
      const found = await ask('series', form);
      assert.ok(
        (found.data as Record<string, string>[]).some((labels) => labels[wanted[2]!] !== undefined),
        `the choice ${name}`,
      );
    }
  });

  test(`${file} is a dashboard as Grafana imports it`, () => {
    const { uid, title, schemaVersion, templating, panels } = read(file);
    assert.ok(uid !== '' && title !== '' && schemaVersion >= 36);
    const all = inside(panels);
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    const names = templating.list.map(({ name }) => name);
    for (const panel of all) {
      const { x, y, w, h } = panel.gridPos;
      assert.ok(x >= 0 && x + w <= 24 && y >= 0 && w > 0 && h > 0, panel.title);
      if (panel.type === 'row') continue;
      assert.equal(panel.datasource!.uid, '$' + '{datasource}', panel.title);
      assert.match(panel.description!, /\S.*\.$/, panel.title);
      assert.ok(panel.fieldConfig!.defaults.unit !== undefined, panel.title);
      assert.equal(new Set(panel.targets!.map(({ refId }) => refId)).size, panel.targets!.length);
      for (const { expr } of panel.targets!)
        for (const [, name] of expr.matchAll(/\$(?!__)(\w+)/g)) assert.ok(names.includes(name!), expr);
      const over = all.filter(
        ({ type, gridPos: o, id }) =>
          type !== 'row' && id !== panel.id && x < o.x + o.w && o.x < x + w && y < o.y + o.h && o.y < y + h,
      );
      assert.deepEqual(
        over.map((other) => other.title),
        [],
        panel.title,
      );
    }
  });
}
