import * as path from 'node:path';
import { fleetRows } from './fleet-rows.ts';
import { jobRows, RUN } from './job-rows.ts';
import { DATASOURCE, type Panel, type Row } from './panel.ts';

/** The version of the form in which Grafana 11 writes dashboards; newer ones bring it up to date when they import it. */
export const SCHEMA_VERSION = 39;

const FOLDER = path.join(import.meta.dirname, '../../packaging/grafana');

/** packaging/grafana, by path: what the files should hold now. */
export function dashboards(): Map<string, string> {
  const files = { 'job.json': jobDashboard(), 'fleet.json': fleetDashboard() };
  return new Map(
    Object.entries(files).map(([name, dashboard]) => [
      path.join(FOLDER, name),
      `${JSON.stringify(dashboard, null, 2)}\n`,
    ]),
  );
}

/** Choices at the top of a page; `all`: several at once, and all at first. */
function choice(name: string, label: string, query: string, all: boolean): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: `choice-${name}` },
    refresh: 2,
    sort: 1,
    multi: all,
    includeAll: all,
    ...(all ? { allValue: '.*', current: { text: ['All'], value: ['$__all'] } } : {}),
  };
}

/**
 * One value of a label, which may also be missing; Grafana's own way lists only values that are there. `missing`: what that
 * choice is called, and the regular expression by which it is found.
 */
function one(name: string, of: string, series: string, missing: readonly [name: string, expression: string]): object {
  const countQuery = `count by (${of}) (last_over_time(${series}[$__range]))`;
  const nameless = `label_replace(${countQuery}, "choice", "${missing.join(' = ')}", "${of}", "")`;
  const query = `query_result(label_replace(${nameless}, "choice", "$1 = $1", "${of}", "(.+)"))`;
  return {
    ...choice(name, name, query, false),
    regex: '/choice="(?<text>.+) = (?<value>[^"]+)"/',
    // by number, the highest first: the newest run
    sort: 4,
  };
}

const source = { name: 'datasource', label: 'data source', type: 'datasource', query: 'prometheus', refresh: 1 };
const user = (clusters: string): object =>
  choice('user', 'user', `label_values(tacho_job_info{cluster=~"${clusters}",recorded_by=""}, user)`, true);

function jobDashboard(): object {
  // a store of one cluster may do without its name
  const cluster = one('cluster', 'cluster', 'tacho_node_info{job!=""}', ['any', '.*']);
  const job = choice(
    'job',
    'job',
    'label_values(tacho_job_info{cluster=~"$cluster",user=~"$user",recorded_by=""}, job)',
    false,
  );
  const jobs = 'cluster=~"$cluster",job="$job",recorded_by=""';
  // ids are used by several users, where there are several clusters or somebody pretends
  const owner = one('owner', 'user', `tacho_node_info{${jobs},user=~"$user"}`, ['any', '.*']);
  const run = one('run', 'restart', `tacho_node_info{${jobs},user=~"$owner"}`, ['first', '()']);
  const node = choice('node', 'node', `label_values(tacho_node_info{${RUN}}, node)`, true);
  const phases = {
    name: 'phases',
    datasource: DATASOURCE,
    enable: true,
    iconColor: 'blue',
    expr: `tacho_marker_phase{${RUN}} == 1`,
    titleFormat: '{{name}}',
    step: '1s',
  };
  return dashboard(
    'tacho-job',
    'Tacho: a job',
    jobRows(),
    [source, cluster, user('$cluster'), job, owner, run, node],
    [phases],
  );
}

function fleetDashboard(): object {
  // not called "cluster": links hand choices on, and the other page has one at a time
  const clusters = choice('clusters', 'clusters', 'label_values(tacho_node_info, cluster)', true);
  const node = choice('node', 'node', 'label_values(tacho_node_info{cluster=~"$clusters"}, node)', true);
  const choices = [source, clusters, user('$clusters'), node];
  return dashboard('tacho-fleet', 'Tacho: all nodes', fleetRows(), choices, []);
}

function dashboard(
  uid: string,
  title: string,
  rows: readonly Row[],
  choices: readonly object[],
  annotations: readonly object[],
): object {
  return {
    uid,
    title,
    description: 'Made by npm run docs from the definitions of Tacho’s tables.',
    tags: ['tacho'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    time: { from: 'now-1h', to: 'now' },
    refresh: '',
    timezone: 'browser',
    templating: { list: choices },
    annotations: { list: annotations },
    links: [
      { type: 'dashboards', tags: ['tacho'], title: 'Tacho', asDropdown: false, includeVars: true, keepTime: true },
    ],
    panels: panelsOf(rows),
  };
}

/** Panels from left to right and from above to below; those of a closed row are inside of it. */
function panelsOf(rows: readonly Row[]): object[] {
  const all: object[] = [];
  let id = 1;
  let y = 0;
  for (const row of rows) {
    const head = { id: id++, type: 'row', title: row.title, gridPos: { x: 0, y: y++, w: 24, h: 1 } };
    const inside: object[] = [];
    let [x, height] = [0, 0];
    for (const panel of row.panels) {
      if (x + panel.width > 24) {
        y += height;
        [x, height] = [0, 0];
      }
      inside.push(panelJson(panel, id++, { x, y, w: panel.width, h: panel.height }));
      x += panel.width;
      height = Math.max(height, panel.height);
    }
    if (row.collapsed === true) all.push({ ...head, collapsed: true, panels: inside });
    else all.push({ ...head, collapsed: false, panels: [] }, ...inside);
    y += height;
  }
  return all;
}

function panelJson(panel: Panel, id: number, gridPos: object): object {
  const custom = panel.stack === true ? { stacking: { mode: 'normal' }, fillOpacity: 30 } : { fillOpacity: 5 };
  const instant = panel.type !== 'timeseries';
  return {
    id,
    type: panel.type,
    title: panel.title,
    description: panel.description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: {
        unit: panel.unit,
        min: 0,
        ...(panel.max === undefined ? {} : { max: panel.max }),
        ...(panel.type === 'timeseries' ? { custom: { lineWidth: 1, showPoints: 'never', ...custom } } : {}),
      },
      overrides: [],
    },
    options: optionsOf(panel),
    targets: panel.targets.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      editorMode: 'code',
      ...(instant
        ? { instant: true, range: false, format: panel.type === 'table' ? 'table' : 'time_series' }
        : { range: true }),
    })),
    ...(panel.type === 'table'
      ? {
          transformations: [
            { id: 'organize', options: { excludeByName: { Time: true }, renameByName: { Value: 'nodes' } } },
          ],
        }
      : {}),
  };
}

function optionsOf({ type }: Panel): object {
  if (type === 'stat') return { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none', graphMode: 'none' };
  if (type === 'table') return { showHeader: true };
  return {
    legend: { displayMode: 'table', placement: 'bottom', calcs: ['mean', 'max'] },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
}
