import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Host } from '../src/sources/host.ts';
import { sources } from '../src/sources/index.ts';
import { type SourceKind, Unavailable } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';
import { header } from '../src/table/table.ts';

// Everything a frozen machine gives, as text. After a wanted change: UPDATE_GOLDEN=1 node --test test/golden-host.test.ts
const FIXTURES = join(import.meta.dirname, 'fixtures');
const TABLES = 'loadavg meminfo vmstat cpu interrupts disk network nfs lustre pressure power'.split(' ');
const TIME = 1762381164000000;

const field = (word: string): string => (/[",\n]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word);

function rows(frame: Frame): string[] {
  const lines: string[] = [];
  for (let r = 0; r < frame.rows; r++) {
    const cells = [String(frame.time)];
    for (let k = 0; k < frame.table.keys.length; k++) cells.push(field(frame.texts[r * frame.textWidth + k]!));
    for (const [c, at] of frame.place.entries()) {
      const { type, decimals } = frame.table.columns[c]!;
      const value = frame.numbers[r * frame.numberWidth + at]!;
      if (at < 0) cells.push(field(frame.texts[r * frame.textWidth - 1 - at]!));
      else if (Number.isNaN(value)) cells.push('');
      else cells.push(type === 'int' ? String(value) : value.toFixed(decimals ?? 3));
    }
    lines.push(cells.join(','));
  }
  return lines;
}

function tableText(kind: SourceKind, host: Host): string[] {
  try {
    const source = kind.open(host, { members: { by: 'node' }, exclude: [], redact: false });
    const frame = new Frame(source.table);
    frame.clear(TIME);
    source.read(frame);
    source.close();
    return [`# ${kind.table.name}`, header(source.table).join(','), ...rows(frame), ''];
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return [`# ${kind.table.name}: ${error.why}: ${error.message}`, ''];
  }
}

function everything(fixture: string): string {
  const host = new Host(join(FIXTURES, fixture));
  const kinds = TABLES.map((name) => sources.find((kind) => kind.table.name === name)!);
  const text = kinds.flatMap((kind) => tableText(kind, host));
  return [...text, ...host.notes.map((note) => `# note: ${note.table} ${note.what}: ${note.why}`)].join('\n');
}

for (const fixture of readdirSync(FIXTURES).filter((name) => /^host-(small|gpu-node|cray)$/.test(name))) {
  test(`all host tables of ${fixture} are what they were`, () => {
    const golden = join(FIXTURES, `${fixture}.golden.csv`);
    const now = everything(fixture);
    if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(golden, now);
    // line by line, so that a difference is readable
    assert.deepEqual(now.split('\n'), readFileSync(golden, 'utf8').split('\n'));
  });
}
