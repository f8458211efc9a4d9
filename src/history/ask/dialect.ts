/** What differs between the SQL of DuckDB, PostgreSQL and Spark in the questions that are asked of all of them. */
export interface Dialect {
  name: 'duckdb' | 'postgres' | 'spark';
  text(value: string): string;
  /** Epoch microseconds of a time column. */
  micros(column: string): string;
  /** A text against a regular expression, anywhere in it. */
  matches(column: string, pattern: string): string;
  /** The value of a tag in a column of JSON text. */
  tag(column: string, key: string): string;
  /** `from`, and for each row of it whole numbers from `first` to `last`, as `slot`. */
  slots(from: string, first: string, last: string): string;
  /** A whole number, rounded down. */
  floor(expression: string): string;
  /** An element of a list of numbers, the first is 1. */
  element(values: readonly number[], at: string): string;
}

const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;

export const duckdb: Dialect = {
  name: 'duckdb',
  text: quoted,
  micros: (column) => `epoch_us(${column})`,
  matches: (column, pattern) => `regexp_matches(${column}, ${quoted(pattern)})`,
  tag: (column, key) => `json_extract_string(${column}, ${quoted(`$.${JSON.stringify(key)}`)})`,
  slots: (from, first, last) =>
    `(select *, unnest(range((${first})::bigint, (${last})::bigint + 1)) as slot from ${from})`,
  floor: (expression) => `floor(${expression})::bigint`,
  element: (values, at) => `([${values.join(', ')}])[${at}]`,
};

export const postgres: Dialect = {
  name: 'postgres',
  text: quoted,
  micros: (column) => `(extract(epoch from ${column}) * 1000000)::bigint`,
  matches: (column, pattern) => `${column} ~ ${quoted(pattern)}`,
  tag: (column, key) => `(${column}::jsonb ->> ${quoted(key)})`,
  slots: (from, first, last) =>
    `(select q.*, g.slot from ${from} q cross join lateral generate_series((${first})::bigint, (${last})::bigint) as g(slot))`,
  floor: (expression) => `floor(${expression})::bigint`,
  element: (values, at) => `(array[${values.join(', ')}]::double precision[])[${at}]`,
};

export const spark: Dialect = {
  name: 'spark',
  text: (value) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  micros: (column) => `unix_micros(${column})`,
  matches: (column, pattern) => `${column} rlike ${spark.text(pattern)}`,
  tag: (column, key) => `get_json_object(${column}, ${spark.text(`$['${key}']`)})`,
  slots: (from, first, last) =>
    `(select *, explode(sequence(cast(${first} as bigint), cast(${last} as bigint))) as slot from ${from})`,
  floor: (expression) => `cast(floor(${expression}) as bigint)`,
  element: (values, at) => `element_at(array(${values.map((value) => `${value}D`).join(', ')}), cast(${at} as int))`,
};
