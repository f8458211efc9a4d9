import { random } from '../../base/random.ts';
import { inOrder, type Matrix } from './matrix.ts';

/** As Liu, Ting and Zhou (2008) found enough. */
const TREES = 100;
const SAMPLE = 256;

/** Trees one behind the other: node i splits `feature[i]` at `split[i]`; a leaf has feature −1 and its depth in `split`. */
interface Forest {
  roots: Uint32Array;
  feature: Int16Array;
  split: Float64Array;
  /** The left child; the right one is the next. */
  child: Uint32Array;
  /** The mean depth that points of a sample of this size have. */
  usual: number;
}

/** The mean length of an unsuccessful search in a binary tree of n: what isolating one point among n usually takes. */
export function usualDepth(n: number): number {
  if (n <= 1) return 0;
  if (n === 2) return 1;
  return 2 * (Math.log(n - 1) + 0.5772156649015329) - (2 * (n - 1)) / n;
}

/**
 * Learns how many random cuts it takes to isolate a point (Liu, Ting and Zhou 2008). The answer scores rows: near 1 for
 * those that are alone after a few cuts, 0.5 where nothing stands out, towards 0 for the midst of a crowd. The same rows
 * give the same scores, whatever their order.
 */
export function isolationForest(given: Matrix): (matrix: Matrix) => Float64Array {
  const forest = grow(inOrder(given));
  return (matrix) => {
    if (forest.usual === 0) return new Float64Array(matrix.rows).fill(0.5);
    return meanDepths(forest, matrix).map((depth) => 2 ** (-depth / forest.usual));
  };
}

function grow({ rows, columns, values }: Matrix): Forest {
  const sample = Math.min(SAMPLE, rows);
  const deepest = Math.ceil(Math.log2(Math.max(2, sample)));
  // a tree has fewer than twice as many nodes as leaves
  const room = TREES * 2 * sample;
  const roots = new Uint32Array(TREES);
  const feature = new Int16Array(room).fill(-1);
  const split = new Float64Array(room);
  const child = new Uint32Array(room);
  const next = random(rows * 31 + columns);
  const all = new Uint32Array(rows);
  for (let i = 0; i < rows; i++) all[i] = i;
  const swap = (i: number, j: number): void => {
    const kept = all[i]!;
    all[i] = all[j]!;
    all[j] = kept;
  };
  let nodes = 0;

  const build = (node: number, low: number, high: number, depth: number): void => {
    const size = high - low;
    split[node] = depth + usualDepth(size);
    if (size <= 1 || depth >= deepest) return;
    // a feature that does not vary here cannot be cut: the next one that does
    const first = Math.floor(next() * columns);
    for (let tried = 0; tried < columns; tried++) {
      const column = (first + tried) % columns;
      let min = Number.POSITIVE_INFINITY;
      let max = Number.NEGATIVE_INFINITY;
      for (let i = low; i < high; i++) {
        const value = values[all[i]! * columns + column]!;
        if (value < min) min = value;
        if (value > max) max = value;
      }
      if (min === max) continue;
      const cut = min + next() * (max - min);
      let middle = low;
      for (let i = low; i < high; i++) if (values[all[i]! * columns + column]! <= cut) swap(i, middle++);
      const left = nodes;
      nodes += 2;
      feature[node] = column;
      split[node] = cut;
      child[node] = left;
      build(left, low, middle, depth + 1);
      build(left + 1, middle, high, depth + 1);
      return;
    }
  };

  for (let tree = 0; tree < TREES; tree++) {
    for (let i = 0; i < sample; i++) swap(i, i + Math.floor(next() * (rows - i)));
    roots[tree] = nodes++;
    build(roots[tree]!, 0, sample, 0);
  }
  return { roots, feature, split, child, usual: usualDepth(sample) };
}

/** Number of rows that stay in the processor's cache together with a tree. */
const BLOCK = 256;

function meanDepths({ roots, feature, split, child }: Forest, { rows, columns, values }: Matrix): Float64Array {
  const depths = new Float64Array(rows);
  for (let from = 0; from < rows; from += BLOCK) {
    const to = Math.min(rows, from + BLOCK);
    for (let tree = 0; tree < roots.length; tree++) {
      for (let row = from, at = from * columns; row < to; row++, at += columns) {
        let node = roots[tree]!;
        for (let column = feature[node]!; column >= 0; column = feature[node]!)
          node = child[node]! + (values[at + column]! <= split[node]! ? 0 : 1);
        depths[row]! += split[node]!;
      }
    }
  }
  return depths.map((depth) => depth / roots.length);
}
