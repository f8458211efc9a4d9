import { compressHostlist, expandHostlist } from '../../base/hostlist.ts';
import type { Job, OwnUse } from './job.ts';
import { type Check, list, map, text } from './shape.ts';

/**
 * Names of nodes in job.json: a list, or of many the short text that schedulers have for them (`c[1-10000]`). So the record
 * of a job on a hundred thousand nodes stays small.
 */

/** Up to so many names stand as they are. */
const FEW = 64;
const MANY = 1000;
/** Number of names that one record may stand for: a short text must not fill the memory of its reader. */
const MOST_NAMES = 400_000;
/** Two ranges in one name are none of ours. */
const TWO_RANGES = /\[[^\],]*(?:,[^\],]*)*\][^,[]*\[/;

/** What a record has been made longer by so far; equal texts are one list. */
interface Expanded {
  names: number;
  lists: Map<string, string[]>;
}

/** By what gathers the record's faults, which is one for each record. */
const expanded = new WeakMap<string[], Expanded>();

const isRange = (name: string): boolean => name.includes('[');

function expand(short: string, wrong: string[]): string[] | undefined {
  const all = expanded.get(wrong) ?? { names: 0, lists: new Map<string, string[]>() };
  expanded.set(wrong, all);
  const before = all.lists.get(short);
  if (before !== undefined) return before;
  const names = TWO_RANGES.test(short) ? [] : expandHostlist(short, MOST_NAMES - all.names + 1);
  // a range that is too long stands as it is
  if (names.length === 0 || names.length + all.names > MOST_NAMES || names.some(isRange)) return undefined;
  all.names += names.length;
  all.lists.set(short, names);
  return names;
}

/** Names of nodes, in full or in short. */
export const nodeNames: Check = (value, wrong) => {
  if (typeof value !== 'string') return list(text)(value, wrong);
  const names = expand(value, wrong);
  if (names === undefined) wrong.push('');
  return names;
};

/** What belongs to each node; nodes of which the same is said may stand together. */
export const byNode =
  (item: Check): Check =>
  (value, wrong) => {
    if (typeof value !== 'object' || value === null || !Object.keys(value).some((key) => key.includes('[')))
      return map(item)(value, wrong);
    const each = Object.entries(value).flatMap(([key, of]) => (expand(key, wrong) ?? []).map((node) => [node, of]));
    return map(item)(Object.fromEntries(each), wrong);
  };

function short(names: readonly string[]): readonly string[] | string {
  if (names.length <= FEW || names.some(isRange)) return names;
  const packed = compressHostlist(names);
  const again = expandHostlist(packed);
  // names that no scheduler has stay as they are
  return again.length === names.length && again.every((name, i) => name === names[i]) ? packed : names;
}

function shortKeys<T>(each: Readonly<Record<string, T>>): Record<string, T> {
  const entries = Object.entries(each);
  if (entries.length <= FEW) return each;
  const texts = new Map<T, string>();
  const textOf = (of: T): string => {
    const text = texts.get(of) ?? JSON.stringify(of);
    texts.set(of, text);
    return text;
  };
  const same = Map.groupBy(entries, ([, of]) => textOf(of));
  return Object.fromEntries(
    [...same.values()].flatMap((group) => {
      const names = short(group.map(([name]) => name));
      return typeof names === 'string' ? [[names, group[0]![1]]] : group;
    }),
  );
}

/** Of commands on very many nodes only the sums are kept, not when each of them ran. */
function ownUseInShort(own: Readonly<Record<string, OwnUse>>): Record<string, OwnUse> {
  const packed = shortKeys(own);
  if (Object.keys(packed).length <= MANY) return packed;
  return Object.fromEntries(Object.entries(packed).map(([node, { spans: _, ...sums }]) => [node, sums]));
}

/** A job as it is written: many nodes in short. */
export function jobInShort(job: Job): object {
  const { nodes, steps, per_node, not_recorded, taken_nodes, own_use } = job;
  // most steps run on all nodes, which are one list then (expand)
  const shortened = new Map<readonly string[], readonly string[] | string>();
  const once = (names: readonly string[]): readonly string[] | string => {
    const inShort = shortened.get(names) ?? short(names);
    shortened.set(names, inShort);
    return inShort;
  };
  return {
    ...job,
    ...(nodes === undefined ? {} : { nodes: once(nodes) }),
    ...(steps && { steps: steps.map((step) => (step.nodes ? { ...step, nodes: once(step.nodes) } : step)) }),
    ...(per_node && { per_node: shortKeys(per_node) }),
    ...(not_recorded && { not_recorded: shortKeys(not_recorded) }),
    ...(taken_nodes && { taken_nodes: shortKeys(taken_nodes) }),
    ...(own_use && { own_use: ownUseInShort(own_use) }),
  };
}
