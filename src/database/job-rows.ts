import type { Operation } from '../query/processes/operations.ts';
import type { ProcessSet } from '../query/processes/set.ts';
import type { AllThreads } from '../query/processes/threads.ts';
import {
  isEmpty,
  metricColumns,
  numberColumn,
  PROCESS_NUMBERS,
  PROCESS_TEXTS,
  THREAD_NUMBERS,
  textColumn,
  type Written,
} from './columns.ts';

/** One operation, and the tag that makes it one. */
export interface TaggedOperation {
  key: string;
  value: string;
  operation: Operation;
}

/** The rows of a job's processes, with their tree; `lone` are those whose only thread needs no row. */
export function processColumns(set: ProcessSet, lone: Uint8Array): Written[] {
  const { parent } = set;
  const isFilled = ([name]: readonly [
    (typeof PROCESS_TEXTS | typeof PROCESS_NUMBERS)[number][0],
    ...unknown[],
  ]): boolean => !isEmpty(set[name], set.length);
  return [
    { columns: ['process'], write: (to, row) => to.integer(row) },
    { columns: ['parent'], write: (to, row) => to.integer(parent[row]! < 0 ? Number.NaN : parent[row]!) },
    numberColumn('depth', 'integer', set.depth),
    numberColumn('descendants', 'integer', set.descendants),
    numberColumn('inclusive_cpu_time', 'double', set.inclusive_cpu_time),
    ...PROCESS_TEXTS.filter(isFilled).map(([name, column]) => textColumn(column, set[name])),
    ...PROCESS_NUMBERS.filter(isFilled).map(([name, column, kind]) => numberColumn(column, kind, set[name])),
    ...metricColumns(set.metrics),
    { columns: ['lone_thread'], write: (to, row) => to.truth(lone[row] === 1) },
  ];
}

/** The rows of a job's threads. */
export function threadColumns(threads: AllThreads): Written[] {
  const { process } = threads;
  let last = -1;
  let count = 0;
  return [
    numberColumn('process', 'integer', process),
    {
      // threads of a process come together: they are counted from 0
      columns: ['thread'],
      write(to, row) {
        count = process[row] === last ? count + 1 : 0;
        last = process[row]!;
        to.integer(count);
      },
    },
    ...THREAD_NUMBERS.map(([name, column, kind]) => numberColumn(column, kind, threads[name])),
    ...metricColumns(threads.metrics),
  ];
}

/** The rows of a job's operations. */
export function operationColumns(operations: readonly TaggedOperation[]): Written[] {
  const number = (column: string, kind: 'integer' | 'double' | 'time', pick: (one: Operation) => number): Written => ({
    columns: [column],
    write: (to, row) => to[kind](pick(operations[row]!.operation)),
  });
  return [
    { columns: ['key'], write: (to, row) => to.requiredText(operations[row]!.key) },
    { columns: ['value'], write: (to, row) => to.requiredText(operations[row]!.value) },
    number('processes', 'integer', (one) => one.processes),
    number('threads', 'double', (one) => one.threads),
    number('runs', 'integer', (one) => one.runs.length),
    number('endless', 'integer', (one) => one.endless),
    number('cpu_time', 'double', (one) => one.cpu_time),
    number('duration', 'double', (one) => one.duration),
    number('duration_sum', 'double', (one) => one.duration_sum),
    number('duration_span', 'double', (one) => one.duration_span),
    number('start_time', 'time', (one) => one.start),
    number('end_time', 'time', (one) => one.end),
  ];
}
