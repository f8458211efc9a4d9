import { append } from './extremes.ts';
import { figure } from './figure.ts';

/** More names than any cluster has: a list beyond it is a mistake, and must not fill the memory. */
const LIMIT = 1_000_000;

/**
 * The names in a scheduler's node list, in order: `c[1-3,07-10],gpu[001-002]-ib` gives c1 c2 c3 c07 c08 c09 c10
 * gpu001-ib gpu002-ib. What is not a well-formed list is taken as it stands, so that no name is ever lost.
 */
export function expandHostlist(list: string, most = LIMIT): string[] {
  const names: string[] = [];
  for (const listEntry of splitList(list)) append(names, expand(listEntry, most - names.length));
  return names;
}

/** A short list that `expandHostlist` makes the same names of, in the same order; only ends of names are ranges. */
export const compressHostlist = (names: readonly string[]): string =>
  runs(names)
    .map(({ text }) => text)
    .join(',');

/** Nodes for people: all of them in short, or the first few of many. */
export function nodesText(names: readonly string[], most = 8): string {
  const all = runs(names);
  const shown = all.slice(0, most);
  const rest = shown.reduce((left, { size }) => left - size, names.length);
  const text = shown.map((run) => run.text).join(', ');
  return rest > 0 ? `${text} and ${figure(rest)} more` : text;
}

const NUMBERED = /^([^[\],\s]*?)(\d{1,15})$/;
const WITH_DOMAIN = /^([^[\],\s.]*?)(\d{1,15})(\.[^[\],\s]*)$/;

/** Three names or more that follow each other are one range; two are as short as they stand. */
function runs(names: readonly string[]): { text: string; size: number }[] {
  const rangeTexts: { text: string; size: number }[] = [];
  for (let i = 0; i < names.length; ) {
    const [, prefix, first = '', domain = ''] = NUMBERED.exec(names[i]!) ?? WITH_DOMAIN.exec(names[i]!) ?? [];
    const nth = (n: number): string => String(Number(first) + n).padStart(first.length, '0');
    let size = 1;
    while (prefix !== undefined && names[i + size] === prefix + nth(size) + domain) size++;
    if (size < 3) size = 1;
    rangeTexts.push({ text: size === 1 ? names[i]! : `${prefix}[${first}-${nth(size - 1)}]${domain}`, size });
    i += size;
  }
  return rangeTexts;
}

/** The list's parts: commas inside brackets do not separate. */
function splitList(list: string): string[] {
  const entries: string[] = [];
  let depth = 0;
  let entry = '';
  for (const c of list) {
    if (c === '[') depth++;
    if (c === ']') depth = Math.max(0, depth - 1);
    if (depth === 0 && (c === ',' || /\s/.test(c))) {
      if (entry !== '') entries.push(entry);
      entry = '';
    } else entry += c;
  }
  if (entry !== '') entries.push(entry);
  return entries;
}

function expand(entry: string, room: number): string[] {
  const open = entry.indexOf('[');
  const close = entry.indexOf(']', open);
  if (open < 0 || close < 0) return [entry];
  const numbers = range(entry.slice(open + 1, close), room);
  if (numbers === undefined) return [entry];
  const before = entry.slice(0, open);
  // a name may have several brackets: rack[1-2]node[1-4]
  const after = expand(entry.slice(close + 1), Math.max(1, Math.floor(room / numbers.length)));
  return numbers.flatMap((n) => after.map((rest) => before + n + rest));
}

/** "1-3,07-10" as texts with their leading zeros; undefined when it is no such thing. */
function range(text: string, room: number): string[] | undefined {
  const expanded: string[] = [];
  for (const rangeText of text.split(',')) {
    const ends = /^(\d+)(?:-(\d+))?$/.exec(rangeText);
    if (ends === null) return undefined;
    const first = Number(ends[1]);
    const last = Number(ends[2] ?? ends[1]);
    if (last < first || expanded.length + last - first >= room) return undefined;
    for (let n = first; n <= last; n++) expanded.push(String(n).padStart(ends[1]!.length, '0'));
  }
  return expanded;
}
