import type { ProcessData } from '../api.ts';

/** The processes that used most CPU time, and all above them in the tree; how many others there were is said. */
export function mostUsed(data: ProcessData, most: number): ProcessData {
  if (data.length <= most) return data;
  const byUse = Array.from({ length: data.length }, (_, i) => i).sort(
    (a, b) => (data.cpu[b] ?? 0) - (data.cpu[a] ?? 0),
  );
  const kept = new Set<number>();
  for (const row of byUse) {
    if (kept.size >= most) break;
    for (let above = row; above >= 0 && !kept.has(above); above = data.parent[above]!) kept.add(above);
  }
  const rows = [...kept].sort((a, b) => a - b);
  const rowOf = new Map(rows.map((row, i) => [row, i]));
  const of = <T>(column: readonly T[]): T[] => rows.map((row) => column[row]!);
  return {
    ...data,
    length: rows.length,
    name: of(data.name),
    operation: of(data.operation),
    node: of(data.node),
    pid: of(data.pid),
    parent: of(data.parent).map((row) => rowOf.get(row) ?? -1),
    start: of(data.start),
    end: of(data.end),
    cpu: of(data.cpu),
    memory: of(data.memory),
    exit: of(data.exit),
    rank: data.rank.length === 0 ? [] : of(data.rank),
    threads: of(data.threads),
    left_out: data.length - rows.length,
  };
}
