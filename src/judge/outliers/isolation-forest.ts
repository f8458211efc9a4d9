import { random } from '../../base/random.ts';
import { inOrder, type Matrix } from './matrix.ts';

/** As Liu, Ting and Zhou (2008) found enough. */
const TREES = 100;
const SAMPLE = 256;

/** Trees one behind the other: node i splits `feature[i]` at `split[i]`; a leaf has feature −1 and its depth in `split`. */
interface Forest {
  roots: number[];
  feature: number[];
  split: number[];
  /** The left child; the right one is the next. */
  child: number[];
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
    const scores = new Float64Array(matrix.rows);
    for (let r = 0; r < matrix.rows; r++) {
      scores[r] = forest.usual === 0 ? 0.5 : 2 ** (-meanDepth(forest, matrix, r) / forest.usual);
    }
    return scores;
  };
}

function grow(matrix: Matrix): Forest {
  const { rows, columns, values } = matrix;
  const sample = Math.min(SAMPLE, rows);
  const deepest = Math.ceil(Math.log2(Math.max(2, sample)));
  const forest: Forest = { roots: [], feature: [], split: [], child: [], usual: usualDepth(sample) };
  const next = random(rows * 31 + columns);
  const all = Uint32Array.from({ length: rows }, (_, r) => r);

  const leaf = (node: number, size: number, depth: number): void => {
    forest.feature[node] = -1;
    forest.split[node] = depth + usualDepth(size);
  };
  const build = (node: number, low: number, high: number, depth: number): void => {
    const size = high - low;
    if (size <= 1 || depth >= deepest) {
      leaf(node, size, depth);
      return;
    }
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
      for (let i = low; i < high; i++) {
        if (values[all[i]! * columns + column]! > cut) continue;
        [all[i], all[middle]] = [all[middle]!, all[i]!];
        middle++;
      }
      const child = forest.feature.length;
      forest.feature.push(-1, -1);
      forest.split.push(0, 0);
      forest.child.push(0, 0);
      forest.feature[node] = column;
      forest.split[node] = cut;
      forest.child[node] = child;
      build(child, low, middle, depth + 1);
      build(child + 1, middle, high, depth + 1);
      return;
    }
    leaf(node, size, depth);
  };

  for (let tree = 0; tree < TREES; tree++) {
    for (let i = 0; i < sample; i++) {
      const other = i + Math.floor(next() * (rows - i));
      [all[i], all[other]] = [all[other]!, all[i]!];
    }
    const root = forest.feature.push(-1) - 1;
    forest.split.push(0);
    forest.child.push(0);
    forest.roots.push(root);
    build(root, 0, sample, 0);
  }
  return forest;
}

function meanDepth(forest: Forest, { columns, values }: Matrix, row: number): number {
  const { feature, split, child } = forest;
  let total = 0;
  for (const root of forest.roots) {
    let node = root;
    while (feature[node]! >= 0) {
      node = child[node]! + (values[row * columns + feature[node]!]! <= split[node]! ? 0 : 1);
    }
    total += split[node]!;
  }
  return total / forest.roots.length;
}
