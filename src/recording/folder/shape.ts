import { made } from '../../base/made.ts';

type Plain = Record<string, unknown>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What can be used of a value, else undefined; where in it something cannot ('': all of it) goes to `wrong`. */
export type Check = (value: unknown, wrong: string[]) => unknown;

/** Checks a part of something; names are made only when they are needed. */
function within(key: string | number, check: Check, value: unknown, wrong: string[]): unknown {
  const before = wrong.length;
  const checked = check(value, wrong);
  for (let i = before; i < wrong.length; i++) wrong[i] = wrong[i] === '' ? `${key}` : `${key}.${wrong[i]}`;
  return checked;
}

/** A field that need not be there (without `initial`), or whose parts must be right, too. */
class Field {
  readonly check: Check;
  readonly initial: unknown;

  constructor(check: Check, initial?: unknown) {
    this.check = check;
    this.initial = initial;
  }
}

export const may = (check: Check): Field => new Field(check);
export const must = (check: Check, initial: unknown): Field => new Field(check, initial);

const usable =
  (is: (value: unknown) => boolean): Check =>
  (value, wrong) => {
    if (is(value)) return value;
    wrong.push('');
    return undefined;
  };

export const text = usable((value) => typeof value === 'string');
export const flag = usable((value) => typeof value === 'boolean');
export const number = usable(Number.isFinite);
/** Epoch microseconds, until the year 2255: later ones are no whole numbers any more. */
export const moment = usable((value) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER);
export const oneOf = (...texts: readonly string[]): Check => usable((value) => texts.includes(value as string));

/** Its items that can be used. */
export const list =
  (item: Check): Check =>
  (value, wrong) => {
    if (!Array.isArray(value)) {
      wrong.push('');
      return undefined;
    }
    const items = value.map((each, i) => within(i, item, each, wrong));
    return items.every((each, i) => each === value[i]) ? value : items.filter((each) => each !== undefined);
  };

/** What was found right need not be looked at again: some records share large parts. */
export function once(check: Check): Check {
  const right = new WeakSet<object>();
  return (value, wrong) => {
    if (typeof value === 'object' && value !== null && right.has(value)) return value;
    const before = wrong.length;
    const checked = check(value, wrong);
    if (wrong.length === before && checked === value) right.add(value as object);
    return checked;
  };
}

/** A list of exactly these. */
export const tuple = (...items: readonly Check[]): Check =>
  usable((value) => {
    if (!Array.isArray(value) || value.length !== items.length) return false;
    const wrong: string[] = [];
    for (const [i, item] of items.entries()) item(value[i], wrong);
    return wrong.length === 0;
  });

/** Its entries that can be used. */
export const map =
  (item: Check): Check =>
  (value, wrong) => {
    if (!isPlain(value)) {
      wrong.push('');
      return undefined;
    }
    const entries = Object.entries(value).map(([key, each]) => [key, within(key, item, each, wrong)] as const);
    const isSame = entries.every(([key, each]) => each === value[key]);
    return isSame ? value : Object.fromEntries(entries.filter(([, each]) => each !== undefined));
  };

/** An object that has all fields of these that are not `may`; what it has more stays. */
export function fields(needed: Readonly<Record<string, Check | Field>>): Check {
  const required = Object.entries(needed).filter(([, check]) => !(check instanceof Field)) as [string, Check][];
  const optional = Object.entries(needed).filter(([, check]) => check instanceof Field) as [string, Field][];
  return (value, wrong) => {
    if (!isPlain(value)) {
      wrong.push('');
      return undefined;
    }
    const before = wrong.length;
    // without what it is about it says nothing
    for (const [key, check] of required) within(key, check, value[key], wrong);
    if (wrong.length > before) return undefined;
    let whole = value;
    for (const [key, { check }] of optional) {
      if (value[key] === undefined) continue;
      const checked = value[key] === null ? undefined : within(key, check, value[key], wrong);
      if (checked === value[key]) continue;
      if (whole === value) whole = { ...value };
      if (checked === undefined) delete whole[key];
      else whole[key] = checked;
    }
    return whole;
  };
}

/**
 * A record from a file, with what it must have: a field that is missing, or of another kind than in `needed`, gets the
 * value that it has there, so that whoever reads it may rely on it. What was of another kind is named in `wrong`.
 */
export function shaped<T extends object>(record: object, needed: object, wrong: string[], path = ''): T {
  const whole: Plain = { ...(record as Plain) };
  for (const [key, initial] of entriesOf(needed)) {
    const value = whole[key];
    const name = path + key;
    if (initial instanceof Field) {
      // null is how JSON writes a number that is not one
      const checked = value === undefined || value === null ? undefined : within(name, initial.check, value, wrong);
      const usable = checked ?? initial.initial;
      if (usable === value) continue;
      if (usable === undefined) delete whole[key];
      else whole[key] = usable;
    } else if (isPlain(initial)) {
      if (value !== undefined && !isPlain(value)) wrong.push(name);
      whole[key] = shaped(isPlain(value) ? value : {}, initial, wrong, `${name}.`);
    } else if (typeof value !== typeof initial || Array.isArray(value) !== Array.isArray(initial)) {
      if (value !== undefined && value !== null) wrong.push(name);
      whole[key] = initial;
    }
  }
  return whole as T;
}

/** What is needed is looked up once: there may be very many records. */
const listed = new WeakMap<object, [string, unknown][]>();

function entriesOf(needed: object): [string, unknown][] {
  return made(listed, needed, () => Object.entries(needed));
}

/** Whether a record is whole without this field (`asked.cpus`), which is of another kind than in `needed`. */
export function isOptional(needed: object, name: string): boolean {
  const [key = '', ...rest] = name.split('.');
  const field = (needed as Plain)[key];
  if (field instanceof Field) return field.initial === undefined;
  return isPlain(field) && rest.length > 0 && isOptional(field, rest.join('.'));
}

/** What cannot be used, in words for one line: of very many the first. */
export const invalidValueText = (wrong: readonly string[]): string =>
  wrong.length <= MOST_NAMED
    ? wrong.join(', ')
    : `${wrong.slice(0, MOST_NAMED).join(', ')} and ${wrong.length - MOST_NAMED} more`;

const MOST_NAMED = 5;
