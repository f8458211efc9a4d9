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
  for (let r = 0; r < rows.length; r++) {
    values.set(matrix.values.subarray(rows[r]! * columns, (rows[r]! + 1) * columns), r * columns);
  }
  return { rows: rows.length, columns, values };
}

/** The same rows in an order that depends on nothing but their values: methods that draw lots must not see another. */
export function inOrder(matrix: Matrix): Matrix {
  const { rows, columns, values } = matrix;
  const order = Uint32Array.from({ length: rows }, (_, r) => r);
  order.sort((a, b) => {
    for (let c = 0; c < columns; c++) {
      const difference = values[a * columns + c]! - values[b * columns + c]!;
      if (difference !== 0) return difference;
    }
    return 0;
  });
  return takeRows(matrix, order);
}
