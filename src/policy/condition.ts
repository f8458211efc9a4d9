import { usage } from '../base/fault.ts';
import { suggest } from '../base/suggest.ts';
import { parseAmount } from '../history/ask/amount.ts';
import { globPattern } from '../history/ask/filter.ts';
import {
  FIGURE_NAMES,
  type MeasuredJob,
  type NumberFigure,
  numberFigure,
  type TextFigure,
  textFigure,
} from './figures.ts';

type Operator = '<' | '<=' | '>' | '>=' | '=' | '!=';

/** One thing that is asked of a job, or of all jobs of a user together: `cpu_use < 25%`, `findings has gpu-*`. */
export type Condition = NumberCondition | TextCondition;

interface NumberCondition {
  readonly kind: 'number';
  /** As it was written. */
  readonly text: string;
  readonly figure: NumberFigure;
  readonly operator: Operator;
  readonly value: number;
}

interface TextCondition {
  readonly kind: 'text';
  readonly text: string;
  readonly figure: TextFigure;
  readonly operator: '=' | '!=' | 'has' | 'has not';
  /** May have * and ?. */
  readonly value: string;
}

const FORM = /^\s*([a-z_]+)\s*(<=|>=|!=|==?|<|>|has not\b|has\b)\s*(.+?)\s*$/;

/** Reads a condition; `ofTotal`: of all jobs of a user together. Throws a Fault that says what is wrong with it. */
export function parseCondition(text: string, ofTotal = false): Condition {
  const [, name, sign, given] = FORM.exec(text) ?? [];
  if (name === undefined || given === undefined)
    throw usage(
      `"${text}" is no condition`,
      'write it like "cpu_use < 25%", "state = timeout" or "findings has gpu-*"',
    );
  const operator = sign === '==' ? '=' : sign!;
  const value = given.replace(/^(["'])(.*)\1$/, '$2');
  const number = numberFigure(name);
  if (number !== undefined) {
    if (operator.startsWith('has'))
      throw usage(`"${text}": ${name} is a number: compare it with <, <=, >, >=, = or !=`);
    if (number.onlyTotal && !ofTotal)
      throw usage(`"${text}": ${name} is known of all jobs of a user together`, 'put it into total, with per = "user"');
    const amount = parseAmount(text, value, number.unit);
    if (number.unit === 'share' && amount > 2)
      throw usage(`"${text}": ${name} is a share from 0 to 1`, `write ${name} ${operator} ${value}%`);
    return { kind: 'number', text: text.trim(), figure: number, operator: operator as Operator, value: amount };
  }
  const textFigureOf = textFigure(name);
  if (textFigureOf === undefined) {
    const meant = suggest(name, FIGURE_NAMES);
    throw usage(
      `"${text}": jobs have no column "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
      'tacho policy columns lists what conditions can be about',
    );
  }
  if (ofTotal) throw usage(`"${text}": ${name} is a text: it cannot be added up`, 'put it into when');
  if (operator.startsWith('has') && textFigureOf.list !== true)
    throw usage(`"${text}": ${name} is no list`, `write ${name} = ${value}`);
  if (/[<>]/.test(operator)) throw usage(`"${text}": ${name} is a text: compare it with = or !=`);
  return {
    kind: 'text',
    text: text.trim(),
    figure: textFigureOf,
    operator: operator as TextCondition['operator'],
    value,
  };
}

/** Whether it holds; undefined: what it is about was not measured. */
export function holds(condition: Condition, { job, around }: MeasuredJob): boolean | undefined {
  if (condition.kind === 'number') {
    const value = condition.figure.of(job, around);
    return value === undefined ? undefined : compares(value, condition);
  }
  const { figure, operator, value } = condition;
  const text = figure.of(job);
  const matches = (one: string): boolean => new RegExp(globPattern(value), 's').test(one);
  const isMatching = operator.startsWith('has') ? text.split(',').some(matches) : matches(text);
  return operator === '!=' || operator === 'has not' ? !isMatching : isMatching;
}

export function compares(value: number, { operator, value: limit }: NumberCondition): boolean {
  switch (operator) {
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
    case '=':
      return value === limit;
    case '!=':
      return value !== limit;
  }
}

/** Two conditions that can never hold together, if there are such. */
export function contradiction(conditions: readonly Condition[]): [Condition, Condition] | undefined {
  for (const [i, a] of conditions.entries())
    for (const b of conditions.slice(i + 1)) if (a.figure.name === b.figure.name && exclude(a, b)) return [a, b];
  return undefined;
}

function exclude(a: Condition, b: Condition): boolean {
  if (a.kind === 'number' && b.kind === 'number') {
    const both = [a, b];
    // no number lies in both: neither at a limit, nor beside one
    const limits = [a.value, b.value];
    const middle = (a.value + b.value) / 2;
    const samples = [...limits, middle, ...limits.flatMap((x) => [x - 1, x + 1])];
    return !samples.some((sample) => both.every((one) => compares(sample, one)));
  }
  if (a.kind !== 'text' || b.kind !== 'text') return false;
  const isPlain = (one: TextCondition): boolean => !/[*?]/.test(one.value);
  if (!isPlain(a) || !isPlain(b)) return false;
  if (a.operator === '=' && b.operator === '=') return a.value !== b.value;
  return (
    a.value === b.value &&
    [a, b].some(({ operator }) => operator === '=') &&
    [a, b].some(({ operator }) => operator === '!=')
  );
}
