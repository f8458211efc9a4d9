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
  select(all, 0, count - 1, ranks, 0, ranks.length - 1, 2 * (32 - Math.clz32(count)));
  return shares.map((share) => interpolate(all, share));
}

/** The same for values that are in ascending order already. */
export function sortedQuantiles(values: Float64Array, count: number, shares: readonly number[]): number[] {
  return shares.map((share) => interpolate(values.subarray(0, count), share));
}

function interpolate(values: Float64Array, share: number): number {
  const place = share * (values.length - 1);
  const low = Math.floor(place);
  const value = values[low]!;
  return place === low ? value : value + (values[low + 1]! - value) * (place - low);
}

/** Quantiles of values that count for as long as they held: the least value that reaches the share of the weight. */
export function weightedQuantiles(
  values: Float64Array,
  weights: Float64Array,
  count: number,
  shares: readonly number[],
): number[] {
  const order = new Uint32Array(count).map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
  let total = 0;
  for (let i = 0; i < count; i++) total += weights[i]!;
  let sum = 0;
  let at = 0;
  return shares.map((share) => {
    while (at < count - 1 && sum + weights[order[at]!]! < share * total) sum += weights[order[at++]!]!;
    return values[order[at]!]!;
  });
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
    const middle = (low + high) >> 1;
    const x = values[low]!;
    const y = values[middle]!;
    const z = values[high]!;
    const pivot = Math.max(Math.min(x, y), Math.min(Math.max(x, y), z));
    let i = low - 1;
    let j = high + 1;
    for (;;) {
      while (values[++i]! < pivot);
      while (values[--j]! > pivot);
      if (i >= j) break;
      const swap = values[i]!;
      values[i] = values[j]!;
      values[j] = swap;
    }
    let split = a;
    while (split <= b && ranks[split]! <= j) split++;
    if (split > a && split <= b) select(values, low, j, ranks, a, split - 1, left);
    if (split <= b) {
      low = j + 1;
      a = split;
    } else high = j;
  }
}
