import { farthest, grown, shareBefore } from '../../recording/read/edges.ts';
import type { Column } from '../../table/table.ts';
import type { Asked } from './questions.ts';

/** Seconds for which a row of a sparse table holds at most, and a little more. */
export const HELD_MILLISECONDS = 65_000;

/** A value, and when it was sampled in epoch seconds. */
interface Sample {
  time: number;
  value: number;
}

type Values = Map<string, number>;

/** How far from a part its edges' samples may lie, in milliseconds. */
export const reach = ({ table, every }: Asked): number => (table.sparse === true ? HELD_MILLISECONDS : farthest(every));

function sampleAt(values: Values, value: string, time: string): Sample | undefined {
  const [found, moment] = [values.get(value), values.get(time)];
  return found === undefined || moment === undefined ? undefined : { value: found, time: moment };
}

/** What is known of a column at the edges of a part: the samples around them, and those next to them inside. */
function around({ from, to }: Asked, values: Values) {
  const count = values.get('count_over_time') ?? 0;
  const before = sampleAt(values, 'before_last', 'before_tlast');
  const after = sampleAt(values, 'after_first', 'after_tfirst');
  const first = count > 0 ? sampleAt(values, 'first_over_time', 'tfirst_over_time') : after;
  const last = count > 0 ? sampleAt(values, 'last_over_time', 'tlast_over_time') : before;
  const begin = before === undefined || first === undefined || first.time * 1000 <= from ? undefined : [before, first];
  const end = after === undefined || last === undefined || last.time * 1000 >= to ? undefined : [last, after];
  return { count, begin, end } as { count: number; begin?: [Sample, Sample]; end?: [Sample, Sample] };
}

/** What lies between two samples at a moment in epoch milliseconds; `begins`: seen from the second one (see clip.ts). */
function valueAt(asked: Asked, column: Column, [before, after]: [Sample, Sample], moment: number, begins: boolean) {
  const { table, every } = asked;
  const times = { before: before.time * 1000, after: after.time * 1000 };
  const share = shareBefore(moment, times, table.sparse === true ? every : undefined);
  const step = column.kind === 'counter' ? grown(before.value, after.value) : after.value - before.value;
  return begins ? after.value - step * (1 - share) : before.value + step * share;
}

/** In a sparse table a row holds until the next: at the beginning of a part the one before, at its end the last. */
export function holdEdges(asked: Asked, column: Column, values: Values): void {
  const { from, to } = asked;
  const at = (what: string): number | undefined => values.get(what);
  const set = (what: string, value: number): Values => values.set(what, value);
  const { count, begin, end } = around(asked, values);
  const isCounter = column.kind === 'counter';
  if (begin !== undefined) {
    const held = isCounter ? valueAt(asked, column, begin, from, true) : begin[0].value;
    const first = at('first_over_time') ?? held;
    set('before', begin[0].value);
    set('increase_before', first - held);
    if (count > 0) set('tfirst_inside', at('tfirst_over_time')!);
    set('count_over_time', count + 1);
    set('first_over_time', held).set('tfirst_over_time', from / 1000);
    if (!(held < at('max_over_time')!)) set('max_over_time', held).set('tmax_over_time', from / 1000);
    set('min_over_time', Math.min(held, at('min_over_time') ?? held));
    if (count === 0) set('last_over_time', held).set('tlast_over_time', from / 1000);
  }
  if (end === undefined || !values.has('count_over_time')) return;
  set('count_over_time', at('count_over_time')! + 1).set('tlast_over_time', to / 1000);
  if (!isCounter) return;
  const reached = valueAt(asked, column, end, to, count === 0);
  set('increase_before', (at('increase_before') ?? 0) + reached - at('last_over_time')!);
  set('last_over_time', reached);
  if (reached > at('max_over_time')!) set('max_over_time', reached).set('tmax_over_time', to / 1000);
}

/** Adds what lies between the edges of a part and its samples; a part without any sample has what lies between those around it. */
export function addEdges(asked: Asked, column: Column, values: Values): void {
  const { from, to } = asked;
  const near = (two: [Sample, Sample] | undefined): two is [Sample, Sample] =>
    two !== undefined && (two[1].time - two[0].time) * 1000 <= farthest(asked.every);
  const { count, begin, end } = around(asked, values);
  if (count === 0) {
    if (near(begin) && to > from)
      setAlone(asked, values, valueAt(asked, column, begin, from, true), valueAt(asked, column, begin, to, true));
    return;
  }
  let [more, area] = [0, 0];
  if (near(begin)) {
    const [, first] = begin;
    const value = valueAt(asked, column, begin, from, true);
    more += first.value - value;
    area += ((first.value + value) / 2) * (first.time - from / 1000);
    values.set('edge_from', from / 1000);
  }
  if (near(end)) {
    const [last] = end;
    const value = valueAt(asked, column, end, to, false);
    more += value - last.value;
    area += ((last.value + value) / 2) * (to / 1000 - last.time);
    values.set('edge_to', to / 1000);
  }
  values.set('edge_increase', more).set('edge_area', area);
}

function setAlone({ from, to }: Asked, values: Values, first: number, last: number): void {
  const [low, high] = [Math.min(first, last), Math.max(first, last)];
  values.set('alone', 1).set('count_over_time', 2);
  values.set('first_over_time', first).set('last_over_time', last);
  values.set('min_over_time', low).set('max_over_time', high);
  values.set('tfirst_over_time', from / 1000).set('tlast_over_time', to / 1000);
  values.set('tmax_over_time', (last > first ? to : from) / 1000);
  values.set('avg_over_time', (first + last) / 2).set('stddev_over_time', (high - low) / 2);
  for (const share of [0.05, 0.25, 0.5, 0.75, 0.95]) values.set(String(share), low + share * (high - low));
  values.set('edge_increase', last - first).set('edge_area', ((first + last) / 2) * ((to - from) / 1000));
}
