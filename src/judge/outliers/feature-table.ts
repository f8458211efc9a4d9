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

/** Tables one below the other; what only some of them have is missing in the others. */
export function joinFeatures(tables: readonly FeatureTable[]): FeatureTable {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const features = new Map<string, Float64Array>();
  let at = 0;
  for (const table of tables) {
    for (const [name, values] of table.features) {
      let joined = features.get(name);
      if (joined === undefined) {
        joined = new Float64Array(rows).fill(Number.NaN);
        features.set(name, joined);
      }
      joined.set(values, at);
    }
    at += table.rows;
  }
  return { rows, features };
}
