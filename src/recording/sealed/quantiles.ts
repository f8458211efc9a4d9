/**
 * Exact quantiles of the first `count` values, whose order is changed on the way. Between two values the result is
 * interpolated, as numpy and DuckDB's quantile_cont do. Selecting a few ranks costs a fraction of sorting.
 */
export function quantiles(values: Float64Array, count: number, shares: readonly number[]): number[] {
  const all = values.subarray(0, count);
  const ranks: number[] = [];
  for (const share of shares) {
    const low = Math.floor(share * (count - 1));
    if (ranks.at(-1) !== low) ranks.push(low);
    if (low + 1 < count) ranks.push(low + 1);
  }
  select(all, 0, count - 1, ranks, 0, ranks.length - 1, depthFor(count));
  return shares.map((share) => interpolate(all, share));
}

/** The same for values that are in ascending order already. */
export function sortedQuantiles(values: Float64Array, count: number, shares: readonly number[]): number[] {
  return shares.map((share) => interpolate(values.subarray(0, count), share));
}

function interpolate(values: Float64Array, share: number): number {
  const position = share * (values.length - 1);
  const low = Math.floor(position);
  const value = values[low]!;
  return position === low ? value : value + (values[low + 1]! - value) * (position - low);
}

/**
 * Quantiles of values that count for as long as they held: the least value at which the share of the weight is
 * reached. Shares ascend. The order of values and weights is changed on the way.
 */
export function weightedQuantiles(
  values: Float64Array,
  weights: Float64Array,
  count: number,
  shares: readonly number[],
): number[] {
  let total = 0;
  for (let i = 0; i < count; i++) total += weights[i]!;
  const quantileValues: number[] = [];
  const targets = shares.map((share) => share * total);
  selectWeighted(values, weights, 0, count - 1, 0, targets, 0, targets.length - 1, quantileValues, depthFor(count));
  return quantileValues;
}

/** Finds targets[first…last] among values[low…high]; `before` is the weight of everything below them. */
function selectWeighted(
  values: Float64Array,
  weights: Float64Array,
  low: number,
  high: number,
  before: number,
  targets: readonly number[],
  first: number,
  last: number,
  quantileValues: number[],
  depth: number,
): void {
  if (first > last) return;
  // few values, or an order that defeats the pivots
  if (high - low < 16 || depth === 0) {
    sortPairs(values, weights, low, high);
    let sum = before;
    let at = low;
    for (let t = first; t <= last; t++) {
      while (at < high && sum + weights[at]! < targets[t]!) sum += weights[at++]!;
      quantileValues[t] = values[at]!;
    }
    return;
  }
  const end = partition(values, low, high, weights);
  let below = before;
  for (let i = low; i <= end; i++) below += weights[i]!;
  let split = first;
  while (split <= last && targets[split]! <= below) split++;
  selectWeighted(values, weights, low, end, before, targets, first, split - 1, quantileValues, depth - 1);
  selectWeighted(values, weights, end + 1, high, below, targets, split, last, quantileValues, depth - 1);
}

const depthFor = (count: number): number => 2 * (32 - Math.clz32(count));

function sortPairs(values: Float64Array, weights: Float64Array, low: number, high: number): void {
  if (high - low > 64) {
    const order = Uint32Array.from({ length: high - low + 1 }, (_, i) => low + i).sort(
      (a, b) => values[a]! - values[b]!,
    );
    const sorted = [values, weights].map((each) => Float64Array.from(order, (i) => each[i]!));
    values.set(sorted[0]!, low);
    weights.set(sorted[1]!, low);
    return;
  }
  for (let i = low + 1; i <= high; i++) {
    const value = values[i]!;
    const weight = weights[i]!;
    let j = i - 1;
    for (; j >= low && values[j]! > value; j--) {
      values[j + 1] = values[j]!;
      weights[j + 1] = weights[j]!;
    }
    values[j + 1] = value;
    weights[j + 1] = weight;
  }
}

/** Splits values[low…high] into two parts, none of the first greater than any of the second; returns the first's end. */
function partition(values: Float64Array, low: number, high: number, weights?: Float64Array): number {
  const x = values[low]!;
  const y = values[(low + high) >> 1]!;
  const z = values[high]!;
  const pivot = Math.max(Math.min(x, y), Math.min(Math.max(x, y), z));
  let i = low - 1;
  let j = high + 1;
  for (;;) {
    while (values[++i]! < pivot);
    while (values[--j]! > pivot);
    if (i >= j) return j;
    const swap = values[i]!;
    values[i] = values[j]!;
    values[j] = swap;
    if (weights === undefined) continue;
    const weight = weights[i]!;
    weights[i] = weights[j]!;
    weights[j] = weight;
  }
}

/** Brings the values of the given ranks (ascending) to where a full sort would put them. */
function select(
  values: Float64Array,
  from: number,
  to: number,
  ranks: readonly number[],
  first: number,
  last: number,
  depth: number,
): void {
  let low = from;
  let high = to;
  let a = first;
  const b = last;
  let left = depth;
  while (a <= b) {
    // few values, or an order that defeats the pivots
    if (high - low < 24 || left-- === 0) {
      values.subarray(low, high + 1).sort();
      return;
    }
    const j = partition(values, low, high);
    let split = a;
    while (split <= b && ranks[split]! <= j) split++;
    if (split > a && split <= b) select(values, low, j, ranks, a, split - 1, left);
    if (split <= b) {
      low = j + 1;
      a = split;
    } else high = j;
  }
}
