import { greatest, smallest } from '../../base/extremes.ts';
import { cellEnd } from '../../recording/read/rate-cells.ts';
import type { Table } from '../../table/table.ts';
import { cellRates, firstRate, lastRate, NAME } from './cell-rates.ts';
import type { Labels, Store } from './client.ts';
import { columnsByMetric } from './columns.ts';
import { addEdges, HELD_MILLISECONDS, holdEdges, reach } from './edges.ts';
import { chunks, duration, selector, type Which } from './selector.ts';

/** Whose samples are asked for, and of when. Times are epoch milliseconds, both included. */
export interface Asked {
  store: Store;
  owner: Which;
  nodes: readonly string[];
  table: Table;
  /** Milliseconds between samples of this table. */
  every: number;
  from: number;
  to: number;
  /** There may be samples of the same series before `from`, or behind `to`. */
  confined: boolean;
}

/** All that the store says of one column of one series, in the units of the store and in seconds. */
export interface Told {
  labels: Labels;
  /** By the name of what was asked. */
  values: Map<string, number>;
}

/** What one column of one series is called among all answers: its labels without those that the question added. */
function seriesKey(labels: Labels, added: string): string {
  const names = Object.keys(labels).filter((name) => name !== added);
  return JSON.stringify(names.sort().map((name) => [name, labels[name]]));
}

const PLAIN = [
  'count_over_time',
  'min_over_time',
  'max_over_time',
  'tmax_over_time',
  'avg_over_time',
  'stddev_over_time',
  'first_over_time',
  'last_over_time',
  'tfirst_over_time',
  'tlast_over_time',
  'integrate',
];

/** A query is at most 16 KiB long; the names of metrics are most of it. */
const NAMES_IN_QUERY = 100;

/** Points of a subquery that every store allows for a series, and that one with little memory has room for at once. */
const MOST_POINTS = 50_000;
const POINTS_AT_ONCE = 1e6;

/** More points than this are not worth it: a grid is made coarser. */
const POINTS_IN_ALL = 20e6;

/** Asks a store what it knows of a table on some nodes: a handful of queries, however many series there are. */
export async function askTable(asked: Asked): Promise<Told[]> {
  const columns = [...columnsByMetric(asked.table)];
  const told = new Map<string, Told>();
  for (const names of chunks(
    columns.map(([name]) => name),
    NAMES_IN_QUERY,
  ))
    await askPlain(asked, names, told);
  const kinds = new Map(columns);
  const setEdges = asked.table.sparse === true ? holdEdges : addEdges;
  if (asked.confined)
    for (const { labels, values } of told.values()) setEdges(asked, kinds.get(labels.__name__!)!, values);
  // what ended before the window began was only asked for what held before it
  for (const [key, { values }] of told) if (!values.has('count_over_time')) told.delete(key);
  if (told.size === 0) return [];
  const found = new Set([...told.values()].map(({ labels }) => labels.__name__!));
  const there = columns.filter(([name]) => found.has(name));
  const counters = there.filter(([, column]) => column.kind === 'counter').map(([name]) => name);
  // what is asked on a grid ends with the last sample: values must not be held beyond it
  const span = {
    first: Math.round(smallest([...told.values()].map(({ values }) => values.get('tfirst_over_time')!)) * 1000),
    last: Math.round(greatest([...told.values()].map(({ values }) => values.get('tlast_over_time')!)) * 1000),
  };
  for (const names of chunks(counters, NAMES_IN_QUERY)) await askCounters(asked, names, span, told);
  if (asked.table.sparse === true) {
    for (const names of chunks(
      there.map(([name]) => name),
      NAMES_IN_QUERY,
    ))
      await askHeld(asked, names, span, told);
  }
  return [...told.values()];
}

const seriesOf = ({ owner, nodes }: Asked, names: readonly string[]): string => selector({ ...owner, names, nodes });

async function askPlain(asked: Asked, names: readonly string[], told: Map<string, Told>): Promise<void> {
  const { to, from, table, confined } = asked;
  const series = seriesOf(asked, names);
  // a window of MetricsQL is open where it begins
  const window = duration(to - from + 1);
  const functions = PLAIN.map((name) => `"${name}"`).join(',');
  const questions = [ask(asked, `aggr_over_time((${functions}), ${series}[${window}])`, to, 'rollup', told)];
  if (table.sparse !== true) {
    const quantiles = `quantiles_over_time("phi", 0.05, 0.25, 0.5, 0.75, 0.95, ${series}[${window}])`;
    questions.push(ask(asked, quantiles, to, 'phi', told));
  }
  if (confined) {
    const far = duration(reach(asked));
    const before = `aggr_over_time(("last_over_time", "tlast_over_time"), ${series}[${far}] offset ${window})`;
    const after = `aggr_over_time(("first_over_time", "tfirst_over_time"), ${series}[${far}] offset -${far})`;
    questions.push(ask(asked, before, to, 'rollup', told, 'before_'), ask(asked, after, to, 'rollup', told, 'after_'));
    // integrate() counts the value that held when the window began
    const back = duration(heldBefore(asked.every));
    if (table.sparse !== true)
      questions.push(ask(asked, `last_over_time(${series}[${back}] offset ${window})`, to, 'before', told));
  }
  await Promise.all(questions);
}

/** How far back VictoriaMetrics looks for the sample before a window, by the interval of the samples. */
function heldBefore(every: number): number {
  if (every <= 2000) return 5 * every;
  if (every <= 4000) return 3 * every;
  if (every <= 8000) return 2 * every;
  if (every <= 16_000) return every + every / 2;
  return every <= 32_000 ? every + every / 4 : every + every / 8;
}

async function askCounters(asked: Asked, names: readonly string[], span: Span, told: Map<string, Told>): Promise<void> {
  const { from, to, confined, table } = asked;
  const series = seriesOf(asked, names);
  const window = duration(to - from + 1);
  await ask(asked, `increase_prometheus(${series}[${window}])`, to, 'increase', told);
  const cells = table.sparse === true ? undefined : cellsOf(asked, names, span, told);
  // a part would get the step into it, too
  const byNeighbours = !confined && cells?.all !== true;
  if (byNeighbours) await ask(asked, `rollup_rate(${series}[${window}])`, to, 'rollup', told, 'rate_');
  const { grid, end, nodes, ahead } = cells ?? gridOf(asked, names, span, told);
  for (const some of nodes) {
    const part = { ...asked, nodes: some };
    const about = { ...asked, series: seriesOf(part, names), ahead, back: span.last - span.first + asked.every };
    const { given, rates } =
      cells === undefined ? { given: '', rates: newestRates(part, names, ahead) } : cellRates(about);
    const extremes = `"tmax_over_time"${byNeighbours ? '' : ', "min_over_time", "max_over_time"'}`;
    await ask(part, `${given} aggr_over_time((${extremes}), (${rates})${grid})`, end, 'rollup', told, 'rate_');
    const quantiles = `quantiles_over_time("phi", 0.05, 0.5, 0.95, (${rates})${grid})`;
    await ask(part, `${given} ${quantiles}`, end, 'phi', told, 'rate_');
  }
  if (cells?.all === true) await askEdges(asked, names, told);
}

/** So many cells around a first or last sample hold what its rate is made of, unless many ticks were missed. */
const CELLS_AROUND = 5;

/** The rates at the beginning and at the end of each series: where the cells are in which some series begin or end. */
async function askEdges(asked: Asked, names: readonly string[], told: Map<string, Told>): Promise<void> {
  const { every } = asked;
  const wanted = new Set(names);
  const all = [...told.values()].filter(({ labels }) => wanted.has(labels.__name__!));
  const moments = (what: string): Span => {
    const times = all.map(({ values }) => Math.round(values.get(what)! * 1000));
    return { first: smallest(times), last: greatest(times) };
  };
  const around = CELLS_AROUND * every;
  const begin = moments('tfirst_over_time');
  const end = moments('tlast_over_time');
  for (const [prefix, rateOf, span] of [
    ['begin_', firstRate, { first: begin.first, last: begin.last + around }],
    ['end_', lastRate, { first: end.first - around, last: end.last }],
  ] as const) {
    const { grid, end: at, nodes, ahead } = cellsOf(asked, names, { ...span, first: span.first - every }, told);
    for (const some of nodes) {
      const part = { ...asked, nodes: some };
      const { given, rates } = rateOf({ ...asked, series: seriesOf(part, names), ahead, back: around + every });
      const extremes = '"tmax_over_time", "min_over_time", "max_over_time"';
      await ask(part, `${given} aggr_over_time((${extremes}), (${rates})${grid})`, at, 'rollup', told, prefix);
    }
  }
}

/** By the two newest samples at each point of a grid whose points lie between ticks: every step of the counter once. */
function newestRates(asked: Asked, names: readonly string[], ahead: number): string {
  return `irate(${seriesOf(asked, names)}[${duration(asked.every)}] offset -${duration(ahead)}) keep_metric_names`;
}

/** A grid whose points are the multiples in the middles of cells: of those that another one with samples precedes. */
function cellsOf(
  asked: Asked,
  names: readonly string[],
  { first, last }: Span,
  told: ReadonlyMap<string, Told>,
): Grid & { all: boolean } {
  const { every } = asked;
  const { step, nodes } = roomFor(asked, names, { first, last }, told);
  const middle = (time: number): number => Math.ceil((time - cellEnd(every)) / every) * every;
  const end = Math.floor(middle(last) / step) * step;
  const grid = `[${duration(Math.max(step / 2, end - middle(first + every) + step / 2))}:${duration(step)}]`;
  return { grid, end, nodes, ahead: cellEnd(every), all: step === every };
}

/** In a sparse table a value counts for as long as it held: it is looked at on a grid. */
async function askHeld(asked: Asked, names: readonly string[], span: Span, told: Map<string, Told>): Promise<void> {
  const { grid, end, ahead, nodes } = gridOf(asked, names, span, told, true);
  const hold = duration(HELD_MILLISECONDS);
  for (const some of nodes) {
    const part = { ...asked, nodes: some };
    const series = seriesOf(part, names);
    // it holds as long as another row follows
    const value = `(last_over_time(${series}[${hold}] offset -${duration(ahead)}) keep_metric_names)`;
    const next = `(count_over_time(${series}[${hold}] offset -${duration(ahead + HELD_MILLISECONDS)}) keep_metric_names)`;
    const held = `(${value} and ${next})${grid}`;
    await ask(part, `quantiles_over_time("phi", 0.05, 0.25, 0.5, 0.75, 0.95, ${held})`, end, 'phi', told);
    await ask(part, `stddev_over_time(${held})`, end, 'held_stddev', told);
    await ask(part, `avg_over_time(${held})`, end, 'held_avg', told);
  }
}

/** First and last sample of all series. */
interface Span {
  first: number;
  last: number;
}

interface Grid {
  /** As a subquery writes it: [10s:1s] */
  grid: string;
  /** Its last point: the moment of the query. */
  end: number;
  /** How far ahead of each point the moment lies that is looked at, between two ticks. */
  ahead: number;
  /** The nodes, as many at a time as there is room for. */
  nodes: string[][];
}

/** Steps of a grid that are not too many, and as many nodes at a time as there is room for. */
function roomFor(
  { every, nodes }: Asked,
  names: readonly string[],
  { first, last }: Span,
  told: ReadonlyMap<string, Told>,
): { step: number; nodes: string[][] } {
  const wanted = new Set(names);
  let series = 0;
  for (const { labels } of told.values()) if (wanted.has(labels.__name__!)) series++;
  const ticks = (last - first) / every + 1;
  const step = every * Math.max(1, Math.ceil(ticks / MOST_POINTS), Math.ceil((ticks * series) / POINTS_IN_ALL));
  const points = ((last - first) / step + 1) * Math.max(1, series / nodes.length);
  return { step, nodes: chunks(nodes, Math.max(1, Math.floor(POINTS_AT_ONCE / points))) };
}

/** A grid with a point for each tick, or each but the first. Points of a subquery are whole multiples of its step since 1970. */
function gridOf(
  asked: Asked,
  names: readonly string[],
  { first, last }: Span,
  told: ReadonlyMap<string, Told>,
  all = false,
): Grid {
  const { step, nodes } = roomFor(asked, names, { first, last }, told);
  const phase = last % step;
  return {
    grid: `[${duration(Math.max(step / 2, last - first + (all ? step / 2 : -step / 2)))}:${duration(step)}]`,
    end: last - phase,
    ahead: phase + asked.every / 2,
    nodes,
  };
}

/** Puts the answers to what is known of each series: under the value of the label `added`, or else under its name. */
async function ask(
  { store }: Asked,
  expression: string,
  time: number,
  added: string,
  told: Map<string, Told>,
  prefix = '',
): Promise<void> {
  for (const answer of await store.query(`${expression} keep_metric_names`, time)) {
    const { value } = answer;
    const { [NAME]: name, ...others } = answer.labels;
    const labels = name === undefined ? others : { ...others, __name__: name };
    const key = seriesKey(labels, added);
    let series = told.get(key);
    if (series === undefined) {
      series = { labels, values: new Map() };
      told.set(key, series);
    }
    const what = labels[added] ?? added;
    series.values.set(prefix === '' ? what : prefix + what.replace(/_over_time$/, ''), value);
  }
}
