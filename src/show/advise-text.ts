import type { Advice, Savings } from '../advise/advise.ts';
import type { ResourceAdvice } from '../advise/resources.ts';
import { formatDuration } from '../base/duration.ts';
import { count, figure, listed, percent } from '../base/readable.ts';
import { formatBytes } from '../base/size.ts';
import { objectCsv } from './object-csv.ts';
import { paint } from './terminal/paint.ts';
import { ascii, pad, printable, textWidth, wrap } from './terminal/text-table.ts';

export interface AdviseTextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
}

/** Advice for people: what was asked for, what would do and why, and the head of the script. */
export function adviseText(all: readonly Advice[], options: AdviseTextOptions = {}): string {
  const { stream = {} } = options;
  const width = Math.min(options.width ?? 80, 100);
  const pen = paint(stream);
  const text = `${all.map((one) => adviceLines(one, titleOf(one, all), width, pen).join('\n')).join('\n\n')}\n`;
  return stream.isTTY ? text : ascii(text);
}

/** What the jobs are called; where others are called the same, with their size. */
function titleOf(one: Advice, all: readonly Advice[]): string {
  const { name, user } = one;
  if (!all.some((other) => other !== one && other.name === name && other.user === user))
    return user === '' ? name : `${name} (${user})`;
  const size = (['nodes', 'CPUs', 'GPUs'] as const).flatMap((resource) => {
    const asked = one.resources.find((each) => each.resource === resource)?.asked;
    return asked === undefined || asked === 0 ? [] : count(asked, resource.slice(0, -1));
  });
  return `${name} (${[user, ...size].filter((word) => word !== '').join(', ')})`;
}

function adviceLines(one: Advice, title: string, width: number, pen: ReturnType<typeof paint>): string[] {
  const lines = wrap(headOf(one, title), width);
  lines[0] = pen.bold(lines[0]!);
  lines.push('');
  const cells = one.resources.map((resource) => ({
    resource,
    name: resource.resource === 'memory' && one.request.nodes !== 1 ? 'memory, each node' : resource.resource,
    asked: amount(resource, resource.asked),
    advised:
      resource.verdict === 'unknown' && resource.advised === undefined
        ? 'not known'
        : amount(resource, resource.advised),
  }));
  const widths = (['name', 'asked', 'advised'] as const).map((key) =>
    Math.max(key === 'name' ? 0 : textWidth(key), ...cells.map((cell) => textWidth(cell[key]))),
  );
  const row = (name: string, asked: string, advised: string): string =>
    `${pad(name, widths[0]!)}  ${pad(asked, widths[1]!, 'right')}  ${pad(advised, widths[2]!, 'right')}`;
  lines.push(pen.dim(row('', 'asked', 'advised')));
  for (const { resource, name, asked, advised } of cells) {
    const start = row(name, asked, advised);
    const indent = ' '.repeat(textWidth(start) + 2);
    const [first = '', ...rest] = wrap(printable(resource.why), Math.max(24, width - indent.length));
    const isChange = resource.verdict === 'less' || resource.verdict === 'more';
    lines.push(
      `${isChange ? pen.bold(start) : start}  ${pen.dim(first)}`.trimEnd(),
      ...rest.map((each) => pen.dim(indent + each)),
    );
  }
  if (one.script.length > 0) lines.push('', ...one.script);
  const saved = savedWords(one.savings);
  if (saved !== undefined) lines.push('', ...wrap(saved, width));
  const notes = [...one.resources.flatMap(tailWords), ...one.uncertain];
  if (notes.length > 0) {
    lines.push('', pen.dim(`How sure this is: ${one.confidence}`));
    for (const note of notes) {
      const [first = '', ...rest] = wrap(printable(note), width - 2);
      lines.push(`- ${first}`, ...rest.map((each) => `  ${each}`));
    }
  }
  return lines;
}

function headOf({ runs, completed, not_completed: others, arrays }: Advice, title: string): string {
  const rest = Object.entries(others).map(([state, number]) => `${figure(number)} ${state.replaceAll('_', ' ')}`);
  const array = arrays.length === 0 ? '' : `; ${arrays.length === 1 ? 'array' : 'arrays'} ${listed(arrays, 4)}`;
  return printable(
    `${title}: ${count(runs, 'run')}, ${listed([`${figure(completed)} completed`, ...rest], 8)}${array}`,
  );
}

function amount({ resource }: ResourceAdvice, value: number | undefined): string {
  if (value === undefined) return '-';
  if (resource === 'time') return formatDuration(value);
  return resource === 'memory' ? formatBytes(value) : figure(value);
}

function tailWords(resource: ResourceAdvice): string[] {
  const { tail, usual } = resource;
  if (tail.length === 0 || usual === undefined) return [];
  const jobs = listed(
    tail.map(({ job }) => job),
    4,
  );
  const who = tail.length === 1 ? `job ${jobs} needs` : `${figure(tail.length)} runs (${jobs}) need`;
  return [
    `The tail of ${resource.resource}: ${who} more than the others, for which ${amount(resource, usual)} would do.`,
  ];
}

function savedWords({ runs, core_hours, gpu_hours, memory_byte_hours, ...shares }: Savings): string | undefined {
  const savedTexts = [
    core_hours === undefined || core_hours === 0
      ? ''
      : `${count(core_hours, 'core-hour')} (${percent(shares.core_share)})`,
    gpu_hours === undefined || gpu_hours === 0 ? '' : `${count(gpu_hours, 'GPU-hour')} (${percent(shares.gpu_share)})`,
    memory_byte_hours === undefined || memory_byte_hours === 0
      ? ''
      : `${formatBytes(memory_byte_hours).replace(/B$/, 'B-hours')} of memory (${percent(shares.memory_share)})`,
  ].filter((savedText) => savedText !== '');
  if (savedTexts.length === 0) return undefined;
  return `In ${count(runs, 'completed run')} it would have saved ${listed(savedTexts)}.`;
}

export const adviseJson = (all: readonly Advice[]): string => `${JSON.stringify(all, null, 1)}\n`;

/** The heads of scripts alone. */
export const adviseScript = (all: readonly Advice[]): string =>
  `${all.map((one) => [...(all.length > 1 ? [`# ${printable(titleOf(one, all))}`] : []), ...one.script].join('\n')).join('\n\n')}\n`;

// biome-ignore format: as they come
const COLUMNS = ['user', 'name', 'runs', 'completed', 'resource', 'asked', 'advised', 'verdict', 'p50', 'p95', 'max', 'max_job', 'why'];

/** One row per resource. */
export const adviseCsv = (all: readonly Advice[]): string =>
  objectCsv(
    COLUMNS,
    all.flatMap(({ user, name, runs, completed, resources }) =>
      resources.map(({ evidence: { runs: _, ...evidence }, ...resource }) => ({
        ...{ user, name, runs, completed },
        ...evidence,
        ...resource,
      })),
    ),
  );
