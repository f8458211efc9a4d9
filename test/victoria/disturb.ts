import * as fs from 'node:fs';
import * as path from 'node:path';
import { FIRST_RUN } from '../../src/demo/facts.ts';

/** Bytes: more than is read in any other second. */
const BURST = 7e10;

/** By how much samples of each node are late: the first cell lasts for less and for more than half an interval, and so does the last. */
const MOVED = [
  new Map([
    [0, 0.73],
    [899, -0.85],
  ]),
  new Map([
    [3, 0.55],
    [4, 0.1],
    [898, 0.45],
    [899, -0.45],
  ]),
];

/**
 * As agents write it on a busy machine: the first sample of a node is taken when it begins and the last when it ends, a
 * little before or behind a tick, and some ticks are late. Nodes begin at different times. Most is read right at the beginning,
 * and on one node as much again at the end.
 */
export function disturb(folder: string): void {
  for (const [n, node] of fs
    .readdirSync(folder)
    .filter((name) => name.startsWith('node='))
    .entries()) {
    for (const file of fs.readdirSync(path.join(folder, node))) {
      if (!file.endsWith('.csv') || /^(process|marker)/.test(file)) continue;
      const filePath = path.join(folder, node, file);
      const [head, ...lines] = fs.readFileSync(filePath, 'utf8').trimEnd().split('\n');
      const read = head!.split(',').indexOf('read_bytes');
      const moved = lines.flatMap((line) => {
        const [, time] = /^(\d{16})(?=,)/.exec(line)!;
        const second = Math.floor((Number(time) - FIRST_RUN.start) / 1e6);
        if (second < n * 3) return [];
        const by = MOVED[n]!.get(second) ?? (second === 500 + n ? 0.62 : 0);
        const cells = line.split(',');
        cells[0] = String(Number(time) + Math.round(by * 1e6));
        const more = (second > n * 3 ? BURST : 0) + (second === 899 && n === 1 ? BURST : 0);
        if (read >= 0) cells[read] = String(Number(cells[read]) + more);
        return cells.join(',');
      });
      fs.writeFileSync(filePath, `${[head, ...moved].join('\n')}\n`);
    }
  }
}
