import { append } from '../base/extremes.ts';

/** More names than any cluster has: a list beyond it is a mistake, and must not fill the memory. */
const LIMIT = 1_000_000;

/**
 * The names in a scheduler's node list, in order: `c[1-3,07-10],gpu[001-002]-ib` gives c1 c2 c3 c07 c08 c09 c10
 * gpu001-ib gpu002-ib. What is not a well-formed list is taken as it stands, so that no name is ever lost.
 */
export function expandHostlist(list: string): string[] {
  const names: string[] = [];
  for (const part of splitList(list)) append(names, expand(part, LIMIT - names.length));
  return names;
}

/** The list's parts: commas inside brackets do not separate. */
function splitList(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const c of list) {
    if (c === '[') depth++;
    if (c === ']') depth = Math.max(0, depth - 1);
    if (depth === 0 && (c === ',' || /\s/.test(c))) {
      if (part !== '') parts.push(part);
      part = '';
    } else part += c;
  }
  if (part !== '') parts.push(part);
  return parts;
}

function expand(part: string, room: number): string[] {
  const open = part.indexOf('[');
  const close = part.indexOf(']', open);
  if (open < 0 || close < 0) return [part];
  const numbers = range(part.slice(open + 1, close), room);
  if (numbers === undefined) return [part];
  const before = part.slice(0, open);
  // a name may have several brackets: rack[1-2]node[1-4]
  const after = expand(part.slice(close + 1), Math.max(1, Math.floor(room / numbers.length)));
  return numbers.flatMap((n) => after.map((rest) => before + n + rest));
}

/** "1-3,07-10" as texts with their leading zeros; undefined when it is no such thing. */
function range(text: string, room: number): string[] | undefined {
  const found: string[] = [];
  for (const piece of text.split(',')) {
    const ends = /^(\d+)(?:-(\d+))?$/.exec(piece);
    if (ends === null) return undefined;
    const first = Number(ends[1]);
    const last = Number(ends[2] ?? ends[1]);
    if (last < first || found.length + last - first >= room) return undefined;
    for (let n = first; n <= last; n++) found.push(String(n).padStart(ends[1]!.length, '0'));
  }
  return found;
}
