import { short } from '../../charts/numbers.ts';
import { commandOf } from '../../query/processes/columns.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { processEndTable } from '../../sources/tables.ts';
import type { ProcessData } from '../api.ts';

/** Longer commands fill the line, and the memory of the browser. */
const LONGEST = 400;
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Every process, as columns. */
export function processDataOf(set: ProcessSet): ProcessData {
  const [names, nodes] = [new Map<string, number>(), new Map<string, number>()];
  const codeIn = (codes: Map<string, number>, text: string): number => {
    const textCode = codes.get(text) ?? codes.size;
    codes.set(text, textCode);
    return textCode;
  };
  const rows = Array.from({ length: set.length }, (_, i) => i);
  const memory = set.metrics.get(processEndTable.col.rssmax.name);
  return {
    length: set.length,
    name: rows.map((i) => codeIn(names, cut(commandOf(set, i)))),
    operation: rows.map((i) => codeIn(names, set.tags[i]!)),
    names: [...names.keys()],
    node: rows.map((i) => codeIn(nodes, set.node[i]!)),
    nodes: [...nodes.keys()],
    pid: rows.map((i) => set.pid[i]!),
    parent: rows.map((i) => set.parent[i]!),
    start: rows.map((i) => short9(set.start[i]!)),
    end: rows.map((i) => short9(set.end[i]!)),
    cpu: rows.map((i) => short(set.cpu_time[i]! / 1e6)),
    memory: rows.map((i) => short((memory?.[i] ?? Number.NaN) * 1024)),
    exit: rows.map((i) => short(set.exitcode[i]!)),
    rank: set.rank.every((rank) => rank === '') ? [] : [...set.rank],
    threads: rows.map((i) => short(set.threads[i]!)),
  };
}

/** A moment, to the microsecond. */
const short9 = (time: number): number | null => (Number.isNaN(time) ? null : Math.round(time));
