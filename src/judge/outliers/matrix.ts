/** Rows of numbers, all known: `values[row * columns + column]`. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

export function matrixOf(rows: readonly (readonly number[])[]): Matrix {
  const columns = rows[0]?.length ?? 0;
  const values = new Float64Array(rows.length * columns);
  rows.forEach((row, r) => {
    values.set(row, r * columns);
  });
  return { rows: rows.length, columns, values };
}

/** These rows, in this order. */
export function takeRows(matrix: Matrix, rows: ArrayLike<number>): Matrix {
  const { columns } = matrix;
  const values = new Float64Array(rows.length * columns);
  for (let r = 0, to = 0; r < rows.length; r++) {
    for (let c = 0, from = rows[r]! * columns; c < columns; c++) values[to++] = matrix.values[from++]!;
  }
  return { rows: rows.length, columns, values };
}

/** The same rows in an order that depends on nothing but their values: methods that draw lots must not see another. */
export function inOrder(matrix: Matrix): Matrix {
  const { rows, columns, values } = matrix;
  const compare = (a: number, b: number): number => {
    for (let c = 0; c < columns; c++) {
      const difference = values[a * columns + c]! - values[b * columns + c]!;
      if (difference !== 0) return difference;
    }
    return 0;
  };
  let sorted = true;
  for (let r = 1; r < rows && sorted; r++) sorted = compare(r - 1, r) <= 0;
  if (sorted) return matrix;
  const order = new Uint32Array(rows);
  for (let r = 0; r < rows; r++) order[r] = r;
  return takeRows(matrix, order.sort(compare));
}
