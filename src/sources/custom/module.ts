import { pathToFileURL } from 'node:url';
import { append } from '../../base/extremes.ts';
import { reason } from '../../base/fault.ts';
import { Frame } from '../../table/frame.ts';
import type { Column, Key, Table } from '../../table/table.ts';
import { units } from '../../table/unit.ts';
import {
  type CustomDevice,
  CustomFailure,
  type CustomReader,
  type CustomSource,
  type CustomSurroundings,
} from './custom.ts';
import { notHeld } from './format.ts';

type Row = Record<string, unknown>;
type Rows = Row | readonly Row[] | undefined | null;

/** What a user's module exports. */
interface Module {
  table?: unknown;
  read?: (devices: readonly CustomDevice[]) => Rows | Promise<Rows>;
  readDevice?: (device: CustomDevice) => Rows | Promise<Rows>;
  close?: () => void;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KINDS = ['gauge', 'counter', 'info'];
const TYPES = ['int', 'float', 'text'];

/** A user's JavaScript or TypeScript module: `table`, and `read(devices)` or `readDevice(device)`. */
export async function openModule(source: CustomSource, { devices, note }: CustomSurroundings): Promise<CustomReader> {
  const module = await load(source);
  const table = tableFrom(source.name, module.table);
  const { read, readDevice } = module;
  if (typeof read !== 'function' && typeof readDevice !== 'function') {
    throw new CustomFailure(`${source.module} exports neither read(devices) nor readDevice(device)`);
  }
  const frame = new Frame(table);
  const perDevice = typeof read !== 'function';
  return {
    table,
    async read(time) {
      const all = devices();
      const rows: Row[] = [];
      if (perDevice) {
        // one device that fails does not take the others with it
        for (const device of all) {
          try {
            const deviceRows = listOf(await within(readDevice!(device), source.timeout, 'reading'));
            append(
              rows,
              deviceRows.map((row) => withGpu(row, device, table)),
            );
          } catch (error) {
            note(`GPU ${device.gpu}: ${reason(error)}`);
          }
        }
        if (rows.length === 0 && all.length > 0) throw new CustomFailure('no device could be read');
      } else append(rows, listOf(await within(read(all), source.timeout, 'reading')));
      frame.clear(time);
      for (const row of rows) put(frame, row, note);
      return frame;
    },
    close: () => module.close?.(),
  };
}

async function load(source: CustomSource): Promise<Module> {
  try {
    return await within(import(pathToFileURL(source.module!).href) as Promise<Module>, source.timeout, 'loading');
  } catch (error) {
    const { loadFailure } = await import('./module-failure.ts');
    throw await loadFailure(error, source.module!);
  }
}

/** Which GPU it is need not be said again where the table has a key for it. */
function withGpu(row: Row, device: CustomDevice, table: Table): Row {
  return table.keys.some((key) => key.name === 'gpu') && row.gpu === undefined ? { ...row, gpu: device.gpu } : row;
}

function listOf(rows: Rows): readonly Row[] {
  if (rows === undefined || rows === null) return [];
  const list = Array.isArray(rows) ? (rows as Row[]) : [rows as Row];
  const wrong = list.find((row) => typeof row !== 'object' || row === null);
  if (wrong !== undefined)
    throw new CustomFailure(`read gave ${JSON.stringify(wrong)} where a row (an object) is expected`);
  return list;
}

function put(frame: Frame, row: Row, note: (why: string) => void): void {
  const { table } = frame;
  const isKnownColumn = (name: string) =>
    table.keys.some((k) => k.name === name) || table.columns.some((c) => c.name === name);
  const strange = Object.keys(row).find((name) => !isKnownColumn(name));
  if (strange !== undefined) throw new CustomFailure(`read gave ${strange}, which is no key or column of its table`);
  const r = frame.row();
  for (const [i, key] of table.keys.entries()) frame.texts[r * frame.textWidth + i] = String(row[key.name] ?? '');
  for (const [i, column] of table.columns.entries()) {
    const value = row[column.name];
    const at = frame.indexes[i]!;
    if (at < 0) frame.texts[r * frame.textWidth - 1 - at] = String(value ?? '');
    else frame.numbers[r * frame.numberWidth + at] = numberFrom(column.name, value, note);
  }
}

function numberFrom(column: string, value: unknown, note: (why: string) => void): number {
  if (value === undefined || value === null) return Number.NaN;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'bigint') {
    if (BigInt(Number(value)) === value) return Number(value);
    note(notHeld(column));
    return Number.NaN;
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : Number.NaN;
  throw new CustomFailure(`read gave ${JSON.stringify(value)} for ${column}, which is a number`);
}

/** The module's table, checked: what is wrong is named. The table is called what the configuration calls the source. */
function tableFrom(name: string, given: unknown): Table {
  const table = given as { help?: unknown; keys?: unknown; columns?: unknown } | undefined;
  if (typeof table !== 'object' || table === null) throw new CustomFailure('exports no table');
  if (!Array.isArray(table.columns) || table.columns.length === 0) throw new CustomFailure('its table has no columns');
  const names = new Set(['time', 'node']);
  const once = (word: unknown, what: string): string => {
    if (typeof word !== 'string' || !NAME.test(word))
      throw new CustomFailure(`its table has a ${what} without a proper name`);
    if (names.has(word)) throw new CustomFailure(`its table has ${word} twice, or it is a name that every table has`);
    names.add(word);
    return word;
  };
  const keys = (Array.isArray(table.keys) ? (table.keys as (Partial<Key> | string)[]) : []).map((key): Key => {
    const keyDefinition = typeof key === 'string' ? { name: key } : key;
    return { name: once(keyDefinition.name, 'key'), help: String(keyDefinition.help ?? `${keyDefinition.name}.`) };
  });
  const columns = (table.columns as Partial<Column>[]).map((column): Column => {
    const called = once(column.name, 'column');
    const unit = column.unit ?? 'count';
    const kind = column.kind ?? 'gauge';
    const type = column.type ?? 'float';
    if (!(unit in units))
      throw new CustomFailure(`its column ${called} has the unit ${unit}; there are ${Object.keys(units).join(', ')}`);
    if (!KINDS.includes(kind))
      throw new CustomFailure(`its column ${called} has the kind ${kind}; there are ${KINDS.join(', ')}`);
    if (!TYPES.includes(type))
      throw new CustomFailure(`its column ${called} has the type ${type}; there are ${TYPES.join(', ')}`);
    const help = String(column.help ?? `${called}.`);
    return { name: called, type, unit, kind, help, ...(type === 'text' ? {} : { exact: true as const }) };
  });
  return { name, help: String(table.help ?? `The source ${name}.`), scope: 'node', keys, columns };
}

async function within<T>(promise: Promise<T> | T, seconds: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CustomFailure(`${what} took longer than ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
