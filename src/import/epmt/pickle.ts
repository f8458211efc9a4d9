import { isUtf8 } from 'node:buffer';
import { type Moment, readDate, readMoment, readTime } from './pickle-moment.ts';
import { OPCODE, REFUSED } from './pickle-opcodes.ts';
import { PickleBytes, unquote, unquoteUnicode } from './pickle-text.ts';

/** What a pickle may hold here. Python 2's `str` comes as bytes: `textOf` makes a text of it. */
export type Plain =
  | null
  | boolean
  | number
  | bigint
  | string
  | Buffer
  | Moment
  | { duration: number }
  | { offset: number }
  | Plain[]
  | Set<Plain>
  | Map<string, Plain>;

/** A class or function that the pickle names: only these few mean data. */
interface Named {
  callable: string;
}

type Cell = Plain | Named;

const MOST_BYTES = 1 << 24;
const DEEPEST = 1000;
/** The largest description known has 2,000; a byte can ask for a dictionary, which takes two hundred. */
const MOST_VALUES = 250_000;
/** Elements that may be copied from one collection into another: references to one list can multiply it. */
const MOST_COPIES = 1e6;

const CALLABLES = new Set([
  'datetime.datetime',
  'datetime.date',
  'datetime.time',
  'datetime.timedelta',
  'datetime.timezone',
  'builtins.set',
  'builtins.frozenset',
  'builtins.bytes',
  '_codecs.encode',
]);

/**
 * Reads a Python pickle of protocol 0 to 5 that holds plain data and the classes of `datetime`. Nothing is ever called:
 * whatever else a pickle asks for is refused by its name.
 */
export function readPickle(buffer: Buffer): Plain {
  if (buffer.length > MOST_BYTES) throw new Error(`it has ${buffer.length} bytes, more than any job's description`);
  const bytes = new PickleBytes(buffer);
  const stack = new PickleStack();
  const memo = new Map<number, Cell>();
  const remember = (index: number): void => {
    if (memo.size >= MOST_VALUES) throw tooMany();
    memo.set(index, stack.top());
  };
  const recall = (index: number): Cell => (memo.has(index) ? memo.get(index)! : damaged());
  const text = (length: 1 | 4 | 8): string => bytes.take(bytes.uint(length)).toString('utf8');

  /** Opcodes that put something on the stack. */
  const values: Record<number, () => Cell> = {
    [OPCODE.NONE]: () => null,
    [OPCODE.NEWTRUE]: () => true,
    [OPCODE.NEWFALSE]: () => false,
    [OPCODE.FLOAT]: () => bytes.decimal(),
    [OPCODE.BINFLOAT]: () => bytes.double(),
    [OPCODE.INT]: () => bytes.integerLine(true),
    [OPCODE.LONG]: () => bytes.integerLine(false),
    [OPCODE.BININT]: () => bytes.int32(),
    [OPCODE.BININT1]: () => bytes.uint(1),
    [OPCODE.BININT2]: () => bytes.uint(2),
    [OPCODE.LONG1]: () => bytes.long(bytes.uint(1)),
    [OPCODE.LONG4]: () => bytes.long(bytes.uint(4)),
    [OPCODE.STRING]: () => unquote(bytes.line()),
    [OPCODE.BINSTRING]: () => bytes.take(bytes.uint(4)),
    [OPCODE.SHORT_BINSTRING]: () => bytes.take(bytes.uint(1)),
    [OPCODE.BINBYTES]: () => bytes.take(bytes.uint(4)),
    [OPCODE.SHORT_BINBYTES]: () => bytes.take(bytes.uint(1)),
    [OPCODE.BINBYTES8]: () => bytes.take(bytes.uint(8)),
    [OPCODE.BYTEARRAY8]: () => bytes.take(bytes.uint(8)),
    [OPCODE.UNICODE]: () => unquoteUnicode(bytes.line()),
    [OPCODE.BINUNICODE]: () => text(4),
    [OPCODE.SHORT_BINUNICODE]: () => text(1),
    [OPCODE.BINUNICODE8]: () => text(8),
    [OPCODE.EMPTY_LIST]: () => [],
    [OPCODE.EMPTY_TUPLE]: () => [],
    [OPCODE.LIST]: () => stack.toMark(),
    [OPCODE.TUPLE]: () => stack.toMark(),
    [OPCODE.TUPLE1]: () => stack.many(1),
    [OPCODE.TUPLE2]: () => stack.many(2),
    [OPCODE.TUPLE3]: () => stack.many(3),
    [OPCODE.EMPTY_DICT]: () => new Map(),
    [OPCODE.DICT]: () => withItems(new Map(), stack.toMark()),
    [OPCODE.EMPTY_SET]: () => new Set(),
    [OPCODE.FROZENSET]: () => new Set(stack.toMark()),
    [OPCODE.DUP]: () => stack.top(),
    [OPCODE.GET]: () => recall(bytes.index()),
    [OPCODE.BINGET]: () => recall(bytes.uint(1)),
    [OPCODE.LONG_BINGET]: () => recall(bytes.uint(4)),
    [OPCODE.GLOBAL]: () => named(bytes.line().toString('utf8'), bytes.line().toString('utf8')),
    [OPCODE.STACK_GLOBAL]: () => {
      const [module, name] = stack.many(2);
      return named(textOf(module!), textOf(name!));
    },
    [OPCODE.REDUCE]: () => {
      const [given] = stack.many(1);
      return construct(stack.pop(), given!, stack);
    },
  };

  /** Opcodes that change what is there. */
  const actions: Record<number, () => void> = {
    [OPCODE.PROTO]: () => bytes.protocol(),
    [OPCODE.FRAME]: () => void bytes.uint(8),
    [OPCODE.MARK]: () => stack.mark(),
    [OPCODE.POP]: () => void stack.pop(),
    [OPCODE.POP_MARK]: () => void stack.toMark(),
    [OPCODE.APPEND]: () => append(stack, stack.many(1)),
    [OPCODE.APPENDS]: () => append(stack, stack.toMark()),
    [OPCODE.SETITEM]: () => setItems(stack, stack.many(2)),
    [OPCODE.SETITEMS]: () => setItems(stack, stack.toMark()),
    [OPCODE.ADDITEMS]: () => addAll(stack, stack.toMark()),
    [OPCODE.PUT]: () => remember(bytes.index()),
    [OPCODE.BINPUT]: () => remember(bytes.uint(1)),
    [OPCODE.LONG_BINPUT]: () => remember(bytes.uint(4)),
    [OPCODE.MEMOIZE]: () => remember(memo.size),
  };

  for (let opcode = bytes.byte(); opcode !== OPCODE.STOP; opcode = bytes.byte()) {
    const refused = REFUSED.get(opcode);
    if (refused !== undefined) throw new Error(`it asks for ${refused}, which a job's description never needs`);
    const value = values[opcode];
    if (value !== undefined) stack.push(value());
    else if (actions[opcode] !== undefined) actions[opcode]();
    else throw new Error(`it is no pickle, or damaged (opcode ${opcode})`);
  }
  return stack.only();
}

const tooMany = (): Error => new Error(`it has more than ${MOST_VALUES} values`);

function damaged(): never {
  throw new Error('it is damaged');
}

/** The stack of Python's unpickling machine; marks divide it. */
class PickleStack {
  private cells: Cell[] = [];
  private readonly below: Cell[][] = [];
  private pushed = 0;
  copies = 0;

  push(value: Cell): void {
    if (++this.pushed > MOST_VALUES) throw tooMany();
    this.cells.push(value);
  }

  pop(): Cell {
    return this.cells.length > 0 ? this.cells.pop()! : damaged();
  }

  top(): Cell {
    return this.cells.length > 0 ? this.cells.at(-1)! : damaged();
  }

  many(count: number): Plain[] {
    if (this.cells.length < count) damaged();
    return this.cells.splice(-count, count).map(plain);
  }

  mark(): void {
    if (this.below.length >= DEEPEST) throw new Error(`it is nested more than ${DEEPEST} times`);
    this.below.push(this.cells);
    this.cells = [];
  }

  /** Takes everything above the last mark. */
  toMark(): Plain[] {
    const above = this.cells;
    this.cells = this.below.pop() ?? damaged();
    return above.map(plain);
  }

  /** What is left at the end. */
  only(): Plain {
    if (this.cells.length !== 1 || this.below.length > 0) damaged();
    return plain(this.cells[0]!);
  }
}

/** A class is no data: it may only be called, and only a few may. */
function plain(cell: Cell): Plain {
  if (typeof cell === 'object' && cell !== null && 'callable' in cell) {
    throw new Error(`it holds ${cell.callable} itself, which is no data`);
  }
  return cell;
}

function append(stack: PickleStack, values: readonly Plain[]): void {
  const list = stack.top();
  if (!Array.isArray(list)) damaged();
  for (const value of values) list.push(value);
}

function addAll(stack: PickleStack, values: readonly Plain[]): void {
  const set = stack.top();
  if (!(set instanceof Set)) damaged();
  for (const value of values) set.add(value);
}

const setItems = (stack: PickleStack, pairs: readonly Plain[]): void => void withItems(stack.top(), pairs);

function withItems(map: Cell, pairs: readonly Plain[]): Map<string, Plain> {
  if (!(map instanceof Map) || pairs.length % 2 !== 0) damaged();
  for (let i = 0; i < pairs.length; i += 2) map.set(textOf(pairs[i]!), pairs[i + 1]!);
  return map;
}

function named(module: string, name: string): Named {
  // Python 2 called it differently
  const callable = `${module === '__builtin__' ? 'builtins' : module}.${name}`;
  if (CALLABLES.has(callable)) return { callable };
  throw new Error(`it asks for ${printable(module)}.${printable(name)}, which is refused`);
}

/** What a call of one of the few classes means. */
function construct(called: Cell, given: Plain, stack: PickleStack): Plain {
  if (typeof called !== 'object' || called === null || !('callable' in called) || !Array.isArray(given)) damaged();
  const [first, second] = given;
  switch (called.callable) {
    case 'datetime.datetime':
      return readMoment(rawOf(first), offsetOf(second));
    case 'datetime.date':
      return readDate(rawOf(first));
    case 'datetime.time':
      return readTime(rawOf(first), offsetOf(second));
    case 'datetime.timedelta':
      return durationOf(given);
    case 'datetime.timezone':
      if (typeof first === 'object' && first !== null && 'duration' in first) return { offset: first.duration };
      break;
    case 'builtins.set':
    case 'builtins.frozenset':
      if (given.length === 0) return new Set();
      if (!Array.isArray(first)) break;
      stack.copies += first.length;
      if (stack.copies > MOST_COPIES) throw new Error('it multiplies its own content');
      return new Set(first);
    case 'builtins.bytes':
      if (given.length === 0) return Buffer.alloc(0);
      break;
    case '_codecs.encode':
      // how Python 3 writes bytes for Python 2
      if (typeof first === 'string' && /^latin-?1$/.test(textOf(second ?? null))) return Buffer.from(first, 'latin1');
      break;
  }
  throw new Error(`it calls ${called.callable} in an odd way`);
}

/** Bytes of a moment: Python 3 reads those of Python 2 as a text. */
function rawOf(value: Plain | undefined): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value, 'latin1');
  throw new Error('a moment in it is damaged');
}

function offsetOf(zone: Plain | undefined): number | undefined {
  if (zone === undefined || zone === null) return undefined;
  if (typeof zone === 'object' && 'offset' in zone && typeof zone.offset === 'number') return zone.offset;
  throw new Error('a moment in it has a zone that is none');
}

function durationOf(values: readonly Plain[]): { duration: number } {
  const [days = 0, seconds = 0, microseconds = 0] = values;
  if (typeof days !== 'number' || typeof seconds !== 'number' || typeof microseconds !== 'number') {
    throw new Error('a duration in it is damaged');
  }
  return { duration: (days * 86400 + seconds) * 1e6 + microseconds };
}

const printable = (text: string): string => JSON.stringify(text.slice(0, 100)).slice(1, -1);

/** A text, a number, True, False or None as text; bytes as UTF-8, or, where they are not, one character a byte. */
export function textOf(value: Plain): string {
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return value.toString(isUtf8(value) ? 'utf8' : 'latin1');
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw new Error('it holds something else where a text should be');
}
