import { parseDuration } from '../../base/duration.ts';
import { usage } from '../../base/fault.ts';
import { parseMoment } from '../../base/moment.ts';
import { parseBytes } from '../../base/size.ts';
import { columnNamed, type ProcessColumn } from './columns.ts';
import type { ProcessSet } from './set.ts';

const EXPRESSION = /^\s*((?:tag:)?[^\s=!<>~]+)\s*(>=|<=|!=|!~|=|>|<|~)\s*(.*?)\s*$/s;
const HINT = 'write it like exename=cp, cpu>1s, rss>=2GiB, args~"\\.nc$", tag:op=timavg or exitcode!=0';

type Test = (i: number) => boolean;

/** The places of the processes that meet every expression, in the order of the set. */
export function filterProcesses(set: ProcessSet, expressions: readonly string[]): number[] {
  const tests = expressions.map((expression) => testOf(set, expression));
  const matching: number[] = [];
  for (let i = 0; i < set.length; i++) if (tests.every((test) => test(i))) matching.push(i);
  return matching;
}

/**
 * NAME OP VALUE. A value that is missing meets nothing but `NAME=` (it is missing); `NAME!=` is: it is there. Texts are
 * compared as they are, `~` is a regular expression, and `at=TIME` is: it was alive then.
 */
function testOf(set: ProcessSet, expression: string): Test {
  const [, name, operator, value] = EXPRESSION.exec(expression) ?? [];
  if (name === undefined) throw usage(`"${expression}" is not a filter`, HINT);
  if (name === 'at') return aliveTest(set, operator!, value!);
  const column = columnNamed(set, name);
  if (operator === '~' || operator === '!~') return patternTest(column, operator, value!);
  if (value === '') {
    if (operator === '=') return (i) => column.text(i) === '';
    if (operator === '!=') return (i) => column.text(i) !== '';
    throw usage(`"${expression}" compares with nothing`, HINT);
  }
  return column.kind === 'text' ? textTest(column, operator!, value!) : numberTest(column, operator!, value!);
}

function aliveTest(set: ProcessSet, operator: string, value: string): Test {
  if (operator !== '=') throw usage(`at${operator}${value} is not a filter`, 'at=TIME: processes that were alive then');
  const moment = parseMoment(value);
  return (i) => set.start[i]! <= moment && set.end[i]! >= moment;
}

function patternTest(column: ProcessColumn, operator: string, value: string): Test {
  let pattern: RegExp;
  try {
    pattern = new RegExp(value);
  } catch (error) {
    throw usage(
      `"${value}" is not a regular expression: ${(error as Error).message.replace(/^.*: /, '')}`,
      'a backslash before one of .*+?^$(){}[]|\\ makes it a plain character',
    );
  }
  return operator === '~' ? (i) => pattern.test(column.text(i)) : (i) => !pattern.test(column.text(i));
}

function textTest(column: ProcessColumn, operator: string, value: string): Test {
  // who looks for gcc means /usr/bin/gcc, too
  const short = column.name === 'argv0' && !value.includes('/');
  const is = (i: number): boolean => (short ? column.text(i).replace(/.*\//s, '') : column.text(i)) === value;
  if (operator === '=') return is;
  if (operator === '!=') return (i) => !is(i);
  throw usage(`${column.name} is a text: it has no ${operator}`, 'use =, != or ~ (a regular expression)');
}

function numberTest(column: ProcessColumn, operator: string, value: string): Test {
  const limit = limitOf(column, value);
  switch (operator) {
    case '=':
      return (i) => column.number(i) === limit;
    case '!=':
      return (i) => column.number(i) !== limit && !Number.isNaN(column.number(i));
    case '>':
      return (i) => column.number(i) > limit;
    case '>=':
      return (i) => column.number(i) >= limit;
    case '<':
      return (i) => column.number(i) < limit;
    default:
      return (i) => column.number(i) <= limit;
  }
}

/** The value in the column's own unit: durations, sizes and times as people write them. */
function limitOf(column: ProcessColumn, value: string): number {
  switch (column.kind) {
    case 'microseconds':
      return parseDuration(value) * 1e6;
    case 'nanoseconds':
      return parseDuration(value) * 1e9;
    case 'ticks':
      return parseDuration(value) * 100;
    case 'bytes':
      return parseBytes(value);
    case 'kibibytes':
      return parseBytes(value) / 1024;
    case 'moment':
      return parseMoment(value);
    case 'share':
      return value.endsWith('%') ? plain(column, value.slice(0, -1)) / 100 : plain(column, value);
    default:
      return plain(column, value);
  }
}

function plain(column: ProcessColumn, value: string): number {
  const number = Number(value);
  if (value.trim() === '' || Number.isNaN(number)) throw usage(`${column.name} is a number; "${value}" is none`, HINT);
  return number;
}
