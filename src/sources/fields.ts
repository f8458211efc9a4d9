import { sampling } from '../base/sampling.ts';
import type { Column, Table } from '../table/table.ts';
import { lineEnd } from './digits.ts';
import { formOf } from './form.ts';
import { type SourceKind, Unavailable } from './source.ts';

/** A line of such a file. */
export interface Field {
  name: string;
  kilobytes: boolean;
}

/**
 * Files with a name and a number a line (meminfo, vmstat, memory.stat). The kernel writes the lines in the same order every
 * time, so their places are learned once and only digits are looked at afterwards. Numbers in kB come out as bytes.
 *
 *     const take = fields((name) => places.get(name) ?? -1);
 *     take(bytes, end, frame.numbers, row * frame.numberWidth, frame.numberWidth);
 */
export type TakeFields = (bytes: Buffer, end: number, numbers: Float64Array, at: number, width: number) => void;

const SPACE = 32;
const NEWLINE = 10;
const COLON = 58;

/** `place` says where a name's number goes among the row's numbers; −1: nowhere. It is asked only when lines change. */
export function fields(columnOf: (name: string) => number, native = sampling()): TakeFields {
  let lines: { length: number; first: number; last: number; column: number; factor: number; tail: number }[] = [];
  /** The same, six integers a line. */
  let flat = new Int32Array(0);

  /** True when every line was where it was the last time. */
  const walk = (bytes: Buffer, end: number, numbers: Float64Array, at: number): boolean => {
    if (native !== null) return native.takeFields(flat, bytes, end, numbers, at) === 1;
    let p = 0;
    for (const line of lines) {
      let q = p + line.length;
      if (q >= end || bytes[p] !== line.first || bytes[q - 1] !== line.last) return false;
      if (bytes[q] !== SPACE && bytes[q] !== COLON) return false;
      q++;
      while (bytes[q] === SPACE) q++;
      let value = 0;
      let c = bytes[q]!;
      while (c >= 48 && c <= 57) {
        value = value * 10 + (c - 48);
        c = bytes[++q]!;
      }
      p = q + line.tail;
      if (p > end || bytes[p - 1] !== NEWLINE) return false;
      if (line.column >= 0) numbers[at + line.column] = value * line.factor;
    }
    return p === end;
  };

  const learn = (bytes: Buffer, end: number): void => {
    lines = [];
    for (let p = 0; p < end; ) {
      const stop = lineEnd(bytes, p, end);
      // a line without its newline is torn
      if (stop === end) return;
      const lineMatch = /^([^\s:]+):? *\d+( kB)?$/.exec(bytes.toString('latin1', p, stop));
      // what does not look like a field ends the learning: the walk relies on every line before
      if (lineMatch === null) return;
      const length = lineMatch[1]!.length;
      lines.push({
        length,
        first: bytes[p]!,
        last: bytes[p + length - 1]!,
        column: columnOf(lineMatch[1]!),
        factor: lineMatch[2] === undefined ? 1 : 1024,
        tail: lineMatch[2] === undefined ? 1 : 4,
      });
      p = stop + 1;
    }
  };

  return (bytes, end, numbers, at, width) => {
    if (walk(bytes, end, numbers, at)) return;
    numbers.fill(Number.NaN, at, at + width);
    learn(bytes, end);
    flat = Int32Array.from(
      lines.flatMap(({ length, first, last, column, factor, tail }) => [length, first, last, column, factor, tail]),
    );
    walk(bytes, end, numbers, at);
  };
}

/** The names in such a file, in its order, and whether their numbers are in kB. */
function fieldNames(text: string): Field[] {
  const names: Field[] = [];
  for (const [, name, unit] of text.matchAll(/^([^\s:]+):? *\d+( kB)?$/gm)) {
    names.push({ name: name!, kilobytes: unit !== undefined });
  }
  return names;
}

/** A source with a number a field of one file; `columnOf`: the column of a field. */
export function fieldsKind(
  table: Table,
  path: string,
  columnOf: (field: Field) => Column,
  options: { single?: boolean } = {},
): SourceKind {
  return {
    table,
    open(host) {
      const fieldList = fieldNames(host.text(path) ?? '');
      const file = host.tryKeep(path, options.single);
      if (file === undefined || fieldList.length === 0) throw new Unavailable('denied', `${path} cannot be read`);
      const indexOfField = new Map(fieldList.map(({ name }, i) => [name, i]));
      const take = fields((name) => indexOfField.get(name) ?? -1);
      return {
        table: { ...table, columns: fieldList.map(columnOf) },
        read(frame) {
          const end = file.read();
          if (end <= 0) return;
          take(file.bytes, end, frame.numbers, frame.row() * frame.numberWidth, frame.numberWidth);
        },
        forms() {
          const end = file.read();
          if (end <= 0) return undefined;
          const form = formOf(file.bytes.toString('latin1', 0, end), ({ line, index, count }) => {
            const [field] = fieldNames(line);
            const columnIndex = index === count - 1 && field !== undefined ? indexOfField.get(field.name) : undefined;
            return columnIndex === undefined ? undefined : { column: columnIndex, factor: field!.kilobytes ? 1024 : 1 };
          });
          return [{ fd: file.fd, single: options.single === true, form }];
        },
        close: () => file.close(),
      };
    },
  };
}
