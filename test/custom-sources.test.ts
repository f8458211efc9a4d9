import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import { IsolatedSources } from '../src/agent/isolated/isolated.ts';
import type { CustomSource } from '../src/sources/custom/custom.ts';
import { fakeGpu, hasCompiler } from './fake-gpu/build.ts';
import { rowsOf } from './fake-gpu/table-of.ts';
import { eventually } from './made/eventually.ts';

const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/custom-sources.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1]!);

test('the examples of docs/custom-sources.md work as they are', {
  skip: hasCompiler() ? false : 'no C compiler',
}, async (t) => {
  fakeGpu(t, 'nvml', 'cards 2\n');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-custom-docs-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  for (const code of blocks('ts')) fs.writeFileSync(path.join(folder, /^\/\/ (\S+)$/m.exec(code)![1]!), code);
  const given = blocks('toml').flatMap((text) => (parse(text).source as Record<string, string>[]) ?? []);
  const custom = [...given, { name: 'gpu_names', module: 'gpu-names.ts' }].map(
    (source): CustomSource => ({
      name: source.name!,
      ...(source.command !== undefined && { command: source.command }),
      ...(source.module !== undefined && { module: path.join(folder, source.module) }),
      format: source.format === 'json' ? 'json' : 'prometheus',
      timeout: 60,
    }),
  );

  const rowsByTable = new Map<string, Record<string, number | string>[]>();
  const isolated = new IsolatedSources([], {
    root: '',
    scope: { members: { by: 'node' }, exclude: [], redact: false },
    custom,
    limitSeconds: 60,
    deliver: (frame) => rowsByTable.set(frame.table.name, rowsOf(frame)),
    note: (note) => assert.fail(JSON.stringify(note)),
  });
  t.after(() => isolated.close());
  await eventually('samples of all four sources', () => {
    isolated.request(Date.now() * 1000);
    return rowsByTable.size >= 4;
  });
  const free = rowsByTable.get('filesystem')?.find((row) => row.mount === '/')?.free_bytes as number;
  // whole kibibytes, as df has them: an awk that clips large numbers would give 2147483647
  assert.ok(free > 0 && free % 1024 === 0, String(free));
  assert.ok((rowsByTable.get('open_files')?.[0]?.allocated as number) > 0);
  assert.ok((rowsByTable.get('entropy')?.[0]?.available as number) > 0);
  assert.deepEqual(rowsByTable.get('gpu_names'), [
    { gpu: '0', name_length: 'NVIDIA Fake 80GB'.length },
    { gpu: '1', name_length: 'NVIDIA Fake 80GB'.length },
  ]);
});
