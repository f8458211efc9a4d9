import * as fs from 'node:fs';
import * as path from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { random } from '../src/base/random.ts';

/** Damages a file of a recording in a way that the seed decides; returns what was done, in words. */
export function mutate(folder: string, seed: number): string {
  const chance = random(seed);
  const below = (n: number): number => Math.floor(chance() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const files = fs
    .globSync('**/*', { cwd: folder })
    .sort()
    .filter((name) => fs.statSync(path.join(folder, name)).isFile());
  const name = pick(files);
  const file = path.join(folder, name);
  const bytes = fs.readFileSync(file);
  const packed = name.endsWith('.zst') && chance() < 0.7;
  const plain = packed ? zstdDecompressSync(bytes) : bytes;
  const write = (content: Buffer): void => fs.writeFileSync(file, packed ? zstdCompressSync(content) : content);
  const inside = packed ? ', unpacked' : '';

  if (/\.json(\.zst)?$/.test(name) && (packed || !name.endsWith('.zst')) && chance() < 0.75) {
    // statistics are several lines of JSON
    const lines = /\.stats\.json/.test(name) ? plain.toString().trimEnd().split('\n') : [plain.toString()];
    const line = lines.length > 1 ? below(lines.length) : 0;
    const record: unknown = JSON.parse(lines[line]!);
    const where = replaceSomething(record, below, pick);
    lines[line] = JSON.stringify(record);
    write(Buffer.from(lines.join('\n') + (plain.at(-1) === 10 ? '\n' : '')));
    return `${name}${inside}: ${where}${line > 0 ? ` in line ${line + 1}` : ''}`;
  }
  if (/\.csv(\.zst)?$/.test(name) && (packed || !name.endsWith('.zst')) && chance() < 0.6) {
    const lines = plain.toString('latin1').split('\n');
    const line = below(lines.length);
    const cells = lines[line]!.split(',');
    const cell = below(cells.length);
    const given = pick(CELLS);
    cells[cell] = given;
    lines[line] = cells.join(',');
    write(Buffer.from(lines.join('\n'), 'latin1'));
    return `${name}${inside}: cell ${cell} of line ${line + 1} is ${JSON.stringify(given)}`;
  }
  const at = below(plain.length + 1);
  const length = 1 + below(pick([1, 8, 100, 4000]));
  const rest = plain.subarray(Math.min(plain.length, at + length));
  const noise = Buffer.from(Array.from({ length }, () => below(256)));
  const changeText = (what: string): string => `${name}${inside}: ${length} bytes ${what} at ${at}`;
  switch (pick(['change', 'flip', 'remove', 'insert', 'cut', 'zero', 'twice', 'delete', 'exchange', 'leave'])) {
    case 'change':
      write(Buffer.concat([plain.subarray(0, at), noise, rest]));
      return changeText('changed');
    case 'flip': {
      const copy = Buffer.from(plain);
      if (at < copy.length) copy[at]! ^= 1 << below(8);
      write(copy);
      return `${name}${inside}: a bit at ${at} flipped`;
    }
    case 'remove':
      write(Buffer.concat([plain.subarray(0, at), rest]));
      return changeText('removed');
    case 'insert':
      write(Buffer.concat([plain.subarray(0, at), noise, plain.subarray(at)]));
      return changeText('inserted');
    case 'cut':
      write(plain.subarray(0, at));
      return `${name}${inside}: cut off at ${at}`;
    case 'zero':
      write(Buffer.concat([plain.subarray(0, at), Buffer.alloc(length), rest]));
      return changeText('are zero');
    case 'twice':
      write(Buffer.concat([plain.subarray(0, at), plain.subarray(at, at + length), plain.subarray(at)]));
      return changeText('twice');
    case 'delete':
      fs.rmSync(file);
      return `${name}: deleted`;
    case 'exchange': {
      const other = pick(files);
      fs.copyFileSync(path.join(folder, other), file);
      return `${name}: is ${other}`;
    }
    default: {
      // as a seal that was killed leaves it, and then the file itself is damaged
      const lines = name.endsWith('.csv.zst') ? zstdDecompressSync(bytes).toString('latin1').split('\n') : undefined;
      const older = lines === undefined ? bytes : zstdCompressSync(`${lines.slice(0, 2 + below(5)).join('\n')}\n`);
      const left = `${file}.4242-0123456789abcdef.tmp`;
      fs.writeFileSync(left, older);
      const before = new Date(Date.now() - 3_600_000);
      fs.utimesSync(left, before, before);
      if (at < bytes.length) bytes[at]! ^= 1 << below(8);
      fs.writeFileSync(file, bytes);
      return `${name}: an older one is left beside it, and a bit at ${at} flipped`;
    }
  }
}

const CELLS = [
  '',
  'abc',
  '-1',
  '1e300',
  '1e999',
  '"',
  '0',
  'NaN',
  '99999999999999999999',
  '4711x',
  '0x10',
  '-0',
  ' 7',
  '\0',
];
const VALUES: readonly unknown[] = [
  5,
  -1,
  1e300,
  0.5,
  null,
  '',
  'x',
  true,
  [],
  {},
  [null],
  [5],
  { a: 5 },
  [[]],
  { a: {} },
];

/** Puts something else at some place of a record; returns where, and what. */
function replaceSomething(record: unknown, below: (n: number) => number, pick: <T>(items: readonly T[]) => T): string {
  const replaceable: { at: Record<string, unknown>; key: string; name: string }[] = [];
  const look = (value: unknown, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const key of Object.keys(value)) {
      replaceable.push({ at: value as Record<string, unknown>, key, name: `${name}.${key}` });
      look((value as Record<string, unknown>)[key], `${name}.${key}`);
    }
  };
  look(record, '');
  // most of a record is deep inside it: what is near its top is as likely to be hit
  const top = replaceable.filter(({ name }) => name.split('.').length <= 3);
  const { at, key, name } = pick(below(2) === 0 ? top : replaceable);
  const value = structuredClone(pick(VALUES));
  at[key] = value;
  return `${name} is ${JSON.stringify(value)}`;
}
