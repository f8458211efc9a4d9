import { made } from '../base/made.ts';
import type { AgentRecord } from '../recording/folder/agent-record.ts';
import { isFleet } from '../recording/folder/fleet.ts';
import type { Job } from '../recording/folder/job.ts';
import { gpuTable } from '../sources/gpu/gpu.ts';
import type { Frame } from '../table/frame.ts';
import { infoName, labelName, labelTexts, type Metric, metricsOf } from '../table/names.ts';
import type { Table } from '../table/table.ts';
import { type Fact, jobFacts, nodeFactSeries, omnistatJobLabels } from './job-series.ts';
import { hasOmnistatNames, omnistatMetrics, omnistatName, omnistatValue } from './omnistat-names.ts';
import { factLabels, type Labels, labelsBeside, recordingLabels } from './series-labels.ts';

/** One recording that is being written, and the newest samples of its tables. */
export interface Exposed {
  job: Job;
  agent: AgentRecord;
  frames: Iterable<Frame>;
}

export interface ExpositionOptions {
  /** OpenMetrics 1.0.0 instead of Prometheus' text format 0.0.4. */
  openMetrics?: boolean;
  /** Omnistat's names for GPUs besides Tacho's. */
  omnistat?: boolean;
  /** Labels for every series. */
  labels?: Labels;
}

type Type = 'gauge' | 'counter' | 'info';

/** All samples of one name stand together, whichever recording they are from. */
interface Family {
  name: string;
  type: Type;
  unit: string;
  help: string;
  lines: string;
}

/** The newest samples as text for a scrape. Tables of events, and those that are written only on change, are left out. */
export function exposition(recordings: readonly Exposed[], options: ExpositionOptions = {}): string {
  const families = new Map<string, Family>();
  const family = (name: string, type: Type, unit: string, help: string): Family => {
    return made(families, name, () => ({ name, type, unit, help, lines: '' }));
  };
  // what a node records of itself stands for all jobs that run on it
  const fleet = new Set(recordings.filter((each) => isFleet(each.job)).map((each) => each.agent.node));
  for (const { job, agent, frames } of recordings) {
    const ofJob = !isFleet(job);
    const common = recordingLabels(agent.node, job, options.labels);
    for (const fact of [...(ofJob ? jobFacts(job) : []), ...nodeFactSeries(agent, ofJob)])
      addFact(family, fact, common);
    for (const frame of frames) {
      const { table } = frame;
      if (table.events === true || table.sparse === true) continue;
      // the agent is one process for all: what it costs is the node's
      if (ofJob && table.scope === 'node' && fleet.has(agent.node)) continue;
      addFrame(family, frame, common);
      if (options.omnistat === true && hasOmnistatNames(table)) addOmnistat(family, frame, agent.node);
    }
    if (options.omnistat === true && ofJob) addOmnistatJob(family, job, agent);
  }
  return write(families.values(), options.openMetrics === true);
}

type FamilyOf = (name: string, type: Type, unit: string, help: string) => Family;

function addFact(family: FamilyOf, { name, help, labels, value }: Fact, common: Labels): void {
  const type = name.endsWith('_info') ? 'info' : 'gauge';
  const unit = /_(seconds|bytes)$/.exec(name)?.[1] ?? '';
  const all = labelText(factLabels(common, labels));
  family(name, type, unit, help).lines += `${name}{${all}} ${value}\n`;
}

/** What follows from a table, worked out once. */
interface Plan {
  metrics: (Metric | undefined)[];
  keys: string[];
  /** Label and place among the row's texts. */
  texts: [string, number][];
  info: string;
}

const plans = new WeakMap<Table, Plan>();

function planOf(frame: Frame): Plan {
  const { table } = frame;
  let plan = plans.get(table);
  if (plan === undefined) {
    plan = {
      metrics: metricsOf(table),
      keys: table.keys.map((key) => labelName(key.name)),
      texts: labelTexts(table).map((column) => [labelName(column.name), frame.text(column.name)]),
      info: infoName(table),
    };
    plans.set(table, plan);
  }
  return plan;
}

function addFrame(family: FamilyOf, frame: Frame, labelsOfAll: Labels): void {
  const { table, numbers, numberWidth, textWidth, texts, rows, indexes } = frame;
  const { metrics, keys, texts: textLabels, info } = planOf(frame);
  const common = labelText(labelsBeside(labelsOfAll, [...keys, ...textLabels.map(([label]) => label)]));
  // the labels of a row are the same for all of its columns
  const labels: string[] = [];
  for (let row = 0; row < rows; row++) {
    let text = common;
    for (let k = 0; k < keys.length; k++) text += pair(keys[k]!, texts[row * textWidth + k]!);
    labels.push(text);
  }
  for (const [c, metric] of metrics.entries()) {
    if (metric === undefined) continue;
    const { name, factor } = metric;
    const divisor = factor < 1 ? Math.round(1 / factor) : 1 / factor;
    let lines = '';
    for (let row = 0; row < rows; row++) {
      const value = numbers[row * numberWidth + indexes[c]!]!;
      if (!Number.isNaN(value)) lines += `${name}{${labels[row]}} ${value / divisor}\n`;
    }
    if (lines !== '') family(name, metric.type, metric.unit, metric.help).lines += lines;
  }
  if (textLabels.length === 0) return;
  let lines = '';
  for (let row = 0; row < rows; row++) {
    let own = '';
    for (const [label, at] of textLabels) own += pair(label, texts[row * textWidth + at]!);
    if (own !== '') lines += `${info}{${labels[row]}${own}} 1\n`;
  }
  if (lines !== '') family(info, 'info', '', table.help).lines += lines;
}

const { gpu: GPU, vendor: VENDOR } = gpuTable.at;

function addOmnistat(family: FamilyOf, frame: Frame, node: string): void {
  const { table, numbers, numberWidth, textWidth, texts, rows } = frame;
  for (const metric of omnistatMetrics) {
    const { stem, help, columns, location } = metric;
    if (!columns.every((name) => table.columns.some((column) => column.name === name))) continue;
    const [first, second] = columns.map((name) => frame.number(name));
    for (let row = 0; row < rows; row++) {
      const from = row * numberWidth;
      const value = omnistatValue(metric, numbers[from + first!]!, numbers[from + (second ?? first)!]!);
      if (!Number.isFinite(value)) continue;
      const name = omnistatName(texts[row * textWidth + VENDOR]!, stem);
      const where = location === undefined ? '' : pair('location', location);
      const labels = `instance="${escaped(node)}"${pair('card', texts[row * textWidth + GPU]!)}${where}`;
      family(name, 'gauge', '', help).lines += `${name}{${labels}} ${value}\n`;
    }
  }
}

/** The series by which Omnistat's queries find the nodes of a job. */
function addOmnistatJob(family: FamilyOf, job: Job, agent: AgentRecord): void {
  const labels = labelText(Object.entries(omnistatJobLabels(job, agent.node)));
  family('rmsjob_info', 'gauge', '', 'The job that runs on the node').lines += `rmsjob_info{${labels}} 1\n`;
}

function write(families: Iterable<Family>, openMetrics: boolean): string {
  let text = '';
  for (const { name, type, unit, help, lines } of families) {
    let about = name;
    if (openMetrics && type === 'counter') about = name.slice(0, -'_total'.length);
    if (openMetrics && type === 'info') about = name.slice(0, -'_info'.length);
    const kind = type === 'info' && !openMetrics ? 'gauge' : type;
    text += `# HELP ${about} ${openMetrics ? escaped(help) : help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`;
    text += `# TYPE ${about} ${kind}\n`;
    if (openMetrics && unit !== '') text += `# UNIT ${about} ${unit}\n`;
    text += lines;
  }
  return openMetrics ? `${text}# EOF\n` : text;
}

/** `,name="value"`; an empty label is no label. */
const pair = (name: string, value: string): string => (value === '' ? '' : `,${name}="${escaped(value)}"`);

function labelText(labels: Labels): string {
  return labels
    .map(([name, value]) => pair(name, value))
    .join('')
    .slice(1);
}

function escaped(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
