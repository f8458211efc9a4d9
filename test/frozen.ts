import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { Host } from '../src/sources/host.ts';
import type { Scope } from '../src/sources/scope.ts';
import type { Source, SourceKind } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';

/** A machine in a temporary folder whose files a test writes and changes; it is gone when the test ends. */
export interface Frozen {
  readonly host: Host;
  /** Writes a file in place: descriptors that are open see the new contents. */
  write(path: string, text: string): void;
  link(path: string, to: string): void;
  remove(path: string): void;
}

export function frozen(t: TestContext, files: Record<string, string>): Frozen {
  const root = mkdtempSync(join(tmpdir(), 'tacho-host-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const machine: Frozen = {
    host: new Host(root),
    write(path, text) {
      mkdirSync(dirname(root + path), { recursive: true });
      writeFileSync(root + path, text);
    },
    link(path, to) {
      mkdirSync(dirname(root + path), { recursive: true });
      symlinkSync(to, root + path);
    },
    remove: (path) => rmSync(root + path, { recursive: true, force: true }),
  };
  for (const [path, text] of Object.entries(files)) machine.write(path, text);
  return machine;
}

/** One of the machines under test/fixtures. */
export const fixture = (name: string): Host => new Host(join(import.meta.dirname, 'fixtures', name));

export const wholeNode: Scope = { members: { by: 'node' }, exclude: [], redact: false };

export const openOn = (kind: SourceKind, host: Host): Source => kind.open(host, wholeNode);

/** The rows of one read as objects; what is missing is left out. */
export function sample(
  source: Source,
  frame = new Frame(source.table),
  time = 1e15,
): Record<string, number | string>[] {
  frame.clear(time);
  source.read(frame);
  const rows: Record<string, number | string>[] = [];
  for (let r = 0; r < frame.rows; r++) {
    const row: Record<string, number | string> = {};
    frame.table.keys.forEach((key, k) => {
      row[key.name] = frame.texts[r * frame.textWidth + k]!;
    });
    frame.indexes.forEach((at, c) => {
      const value = at < 0 ? frame.texts[r * frame.textWidth - 1 - at]! : frame.numbers[r * frame.numberWidth + at]!;
      if (value !== '' && !Number.isNaN(value)) row[frame.table.columns[c]!.name] = value;
    });
    rows.push(row);
  }
  return rows;
}
