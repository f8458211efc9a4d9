/** Things of one kind, and what was measured of each: `features.get('cpu_time')[row]`. NaN = not known. */
export interface FeatureTable {
  rows: number;
  features: Map<string, Float64Array>;
}

/** The table of these rows alone. */
export function takeFeatures(table: FeatureTable, rows: ArrayLike<number>, names: Iterable<string>): FeatureTable {
  const features = new Map<string, Float64Array>();
  for (const name of names) {
    const values = table.features.get(name);
    if (values === undefined) continue;
    const taken = new Float64Array(rows.length);
    for (let r = 0; r < rows.length; r++) taken[r] = values[rows[r]!]!;
    features.set(name, taken);
  }
  return { rows: rows.length, features };
}
