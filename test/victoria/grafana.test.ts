import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { sources } from '../../src/sources/index.ts';
import { agentTable } from '../../src/sources/own/agent.ts';
import { labelName, metricsOf } from '../../src/table/names.ts';
import { eventually } from '../made/eventually.ts';
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
  templating: { list: { name: string; type: string; query: string | { query: string }; regex?: string }[] };
  annotations: { list: { name: string; expr: string }[] };
  panels: Panel[];
}

const FOLDER = path.join(import.meta.dirname, '../../packaging/grafana');
const read = (name: string): Dashboard => JSON.parse(fs.readFileSync(path.join(FOLDER, name), 'utf8'));
const files = ['job.json', 'fleet.json'];
const JOB = '48213';
const SECONDS = 600;
const CLUSTER = 'alps';

const skip = whyNoVictoria();
let victoria: Victoria;
let end: number;
let owner: string;
/** By page and expression: what the first run on CLUSTER answers while nothing else is in the store. */
const alone = new Map<string, Answer>();

before(async () => {
  if (skip) return;
  const workFolder = temporary();
  const size = { nodes: 2, gpus: 2, seconds: SECONDS };
  const folder = await writeDemo({ folder: path.join(workFolder, 'demo'), live: true, ...size });
  victoria = await startVictoria();
  await pushRecordings(victoria.url, workFolder, [['cluster', CLUSTER]]);
  const { job } = openRecording(folder);
  end = job.end! / 1e6;
  owner = job.user;
  await victoria.load(missingTables(job.start / 1000));
  for (const file of files) for (const query of queries(file)) alone.set(query.key, await seriesOf(query));
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
        lines.push(
          `${metric.name}{cluster="${CLUSTER}",job="${JOB}",user="${owner}",node="node01"${keys}} ${s} ${start + s * 1000}`,
        );
    }
  }
  return `${lines.join('\n')}\n`;
}

const inside = (panels: readonly Panel[]): Panel[] => panels.flatMap((p) => [p, ...inside(p.panels ?? [])]);

/** As Grafana fills in what is chosen at the top. */
const chosen = (expr: string, cluster = CLUSTER, run = '()'): string =>
  expr
    .replaceAll('$__rate_interval', '60s')
    .replaceAll('$__range', `${SECONDS}s`)
    .replaceAll('$job', JOB)
    .replaceAll('$run', run)
    .replaceAll('$owner', owner)
    .replaceAll(/\$clusters?\b/g, cluster)
    .replaceAll(/\$(node|user)\b/g, '.*');

async function ask(address: string, form: Record<string, string>): Promise<{ data: unknown; error?: string }> {
  const body = new URLSearchParams({ ...form, nocache: '1' });
  const response = await fetch(`${victoria.url}/api/v1/${address}`, { method: 'POST', body });
  return (await response.json()) as { data: unknown; error?: string };
}

interface Query {
  key: string;
  expr: string;
  /** Over the whole time, in steps of so many seconds; undefined: at its end. */
  step?: string;
}

/** What a page asks for its panels and annotations. */
function queries(file: string): Query[] {
  const { panels, annotations } = read(file);
  const ofPanels = inside(panels).flatMap(({ title, type, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr, ...(type === 'timeseries' ? { step: '15' } : {}) })),
  );
  const ofAnnotations = annotations.list.map(({ name, expr }) => ({ title: name, expr, step: '1' }));
  return [...ofPanels, ...ofAnnotations].map(({ title, ...query }) => ({
    ...query,
    key: `${file}, ${title}: ${query.expr}`,
  }));
}

/** Series with their values, in an order of their own; or what went wrong. */
type Answer = string[];

async function seriesOf({ expr, step }: Query, cluster?: string, run?: string): Promise<Answer> {
  const query = chosen(expr, cluster, run);
  const response =
    step === undefined
      ? await ask('query', { query, time: String(end - 5) })
      : await ask('query_range', { query, start: String(end - SECONDS), end: String(end - 5), step });
  if (response.error !== undefined) return [response.error];
  const { result } = response.data as {
    result: { metric: object; values?: [number, string][]; value?: [number, string] }[];
  };
  return result
    .map(({ metric, values, value }) => {
      const numbers = (values ?? [value!]).map(([time, number]) => [time, Number(Number(number).toPrecision(9))]);
      return JSON.stringify([metric, numbers.filter(([, number]) => Number.isFinite(number))]);
    })
    .sort();
}

/** Loads all series of the job again with another label, with other values and on other nodes. */
async function again(name: string, value: string): Promise<void> {
  const form = { 'match[]': `{job="${JOB}",cluster="${CLUSTER}",restart="",__name__!="tacho_record"}` };
  const response = await fetch(`${victoria.url}/api/v1/export`, { method: 'POST', body: new URLSearchParams(form) });
  const lines: string[] = [];
  for (const line of (await response.text()).split('\n').filter((each) => each !== '')) {
    const { metric, values, timestamps } = JSON.parse(line);
    const node = metric.node === 'node01' ? 'node01' : 'node09';
    const phase = metric.__name__ === 'tacho_marker_phase';
    const early = metric.__name__ === 'tacho_job_start_timestamp_seconds';
    const other = { ...(phase ? { name: 'another' } : {}), ...(name === 'restart' ? {} : { user: 'another' }) };
    const labels = { ...metric, ...other, node, [name]: value };
    const changed = (each: number): number => (phase ? each : early ? each / 2 : each * 3 + 1);
    lines.push(JSON.stringify({ metric: labels, values: values.map(changed), timestamps }));
  }
  await fetch(`${victoria.url}/api/v1/import`, { method: 'POST', body: lines.join('\n') });
  await victoria.flush();
}

/** The choices of a page that Grafana would offer: what they are called, and what is filled in. */
async function offered(file: string, choice: string): Promise<string[]> {
  const { query, regex } = read(file).templating.list.find(({ name }) => name === choice)!;
  const [, expr] = /^query_result\((.+)\)$/.exec((query as { query: string }).query)!;
  const response = await ask('query', { query: chosen(expr!), time: String(end - 5) });
  const { result } = response.data as { result: { metric: Record<string, string> }[] };
  const pattern = new RegExp(regex!.slice(1, -1));
  return result
    .map(({ metric }) => {
      const labels = Object.entries(metric).map(([name, value]) => `${name}="${value}"`);
      const { text, value } = pattern.exec(`{${labels.join(',')}} 1 1700000000000`)!.groups!;
      return `${text}: ${value}`;
    })
    .sort();
}

/** VictoriaMetrics goes on for a moment with what the same query found before new series came. */
async function offers(choice: string, wanted: readonly string[]): Promise<void> {
  await eventually(
    () => `${wanted.length} choices of ${choice}`,
    async () => (await offered('job.json', choice)).length === wanted.length,
  );
  assert.deepEqual(await offered('job.json', choice), wanted);
}

const differing = async (file: string): Promise<string[]> => {
  const mixed: string[] = [];
  for (const query of queries(file))
    if (JSON.stringify(await seriesOf(query)) !== JSON.stringify(alone.get(query.key))) mixed.push(query.key);
  return mixed;
};

for (const file of files) {
  test(`${file}: every panel's query answers`, { skip }, async () => {
    const { templating } = read(file);
    const asked = queries(file).map(({ key }) => key);
    const hasValue = (key: string): boolean => alone.get(key)!.some((series) => series.includes(',[['));
    assert.deepEqual(
      asked.filter((key) => !hasValue(key)).map((key) => `${key} ${alone.get(key)}`),
      [],
    );
    assert.ok(asked.length > 25, `${asked.length}`);
    for (const { name, query } of templating.list.filter(({ type }) => type === 'query')) {
      const wanted = /^label_values\((.+), (\w+)\)$/.exec((query as { query: string }).query);
      if (wanted === null) continue;
      const form = { 'match[]': chosen(wanted[1]!), start: String(end - SECONDS), end: String(end) };
      const response = await ask('series', form);
      assert.ok(
        (response.data as Record<string, string>[]).some((labels) => labels[wanted[2]!] !== undefined),
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

test('a job of the same number on another cluster changes nothing', { skip }, async () => {
  assert.deepEqual(await offered('job.json', 'cluster'), ['alps: alps']);
  await again('cluster', 'davos');
  await offers('cluster', ['alps: alps', 'davos: davos']);
  assert.deepEqual([...(await differing('job.json')), ...(await differing('fleet.json'))], []);
});

test("another user's job of the same number changes nothing, nor does what a user sent", { skip }, async () => {
  assert.deepEqual(await offered('job.json', 'owner'), [`${owner}: ${owner}`]);
  await again('recorded_by', 'user');
  assert.deepEqual(await offered('job.json', 'owner'), [`${owner}: ${owner}`]);
  assert.deepEqual([...(await differing('job.json')), ...(await differing('fleet.json'))], []);
  await again('user', 'mallory');
  await offers('owner', [`${owner}: ${owner}`, 'mallory: mallory']);
  assert.deepEqual(await differing('job.json'), []);
});

test('a second run of the job changes nothing in the first, and can be chosen itself', { skip }, async () => {
  assert.deepEqual(await offered('job.json', 'run'), ['first: ()']);
  await again('restart', '1');
  await offers('run', ['1: 1', 'first: ()']);
  assert.deepEqual(await differing('job.json'), []);
  for (const query of queries('job.json')) {
    const second = await seriesOf(query, CLUSTER, '1');
    assert.ok(second.length > 0, query.key);
  }
});

test('a store whose series name no cluster has one choice, which finds them', { skip }, async () => {
  await victoria.load(`tacho_node_info{job="7",node="n1"} 1 ${Math.round((end - 10) * 1000)}\n`);
  assert.ok((await offered('job.json', 'cluster')).includes('any: .*'));
});
