import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { sampling } from '../src/base/sampling.ts';
import { CsvText } from '../src/recording/live/csv-write.ts';
import { formOf } from '../src/sources/form.ts';
import { cpu } from '../src/sources/host/cpu.ts';
import { disk } from '../src/sources/host/disk.ts';
import { loadavg } from '../src/sources/host/loadavg.ts';
import { meminfo } from '../src/sources/host/meminfo.ts';
import { network } from '../src/sources/host/network.ts';
import { pressure } from '../src/sources/host/pressure.ts';
import { vmstat } from '../src/sources/host/vmstat.ts';
import { Host } from '../src/sources/host.ts';
import type { SourceKind } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';
import { openOn } from './frozen.ts';

const native = sampling();
const skip = native === null && 'there is no C compiler';
const TIME = 1.7e15;
const MACHINES = ['host-small', 'host-gpu-node', 'host-cray'];
const FILES: readonly [kind: SourceKind, files: readonly string[]][] = [
  [loadavg, ['/proc/loadavg']],
  [meminfo, ['/proc/meminfo']],
  [vmstat, ['/proc/vmstat']],
  [cpu, ['/proc/stat']],
  [disk, ['/proc/diskstats']],
  [network, ['/proc/net/dev']],
  [pressure, ['/proc/pressure/cpu', '/proc/pressure/memory', '/proc/pressure/io']],
];

/** A copy of a frozen machine, whose files may be changed. */
function copyOf(t: TestContext, machine: string): Host {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-form-'));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  fs.cpSync(path.join(import.meta.dirname, 'fixtures', machine), root, {
    recursive: true,
    verbatimSymlinks: true,
  });
  return new Host(root);
}

function csvOf(frame: Frame): string {
  const csv = new CsvText(null);
  csv.frame(frame);
  return csv.bytes.toString('utf8', 0, csv.length);
}

for (const machine of MACHINES)
  for (const [kind, files] of FILES)
    test(`${kind.table.name} of ${machine} is the same by its form, whatever its numbers are`, { skip }, (t) => {
      const host = copyOf(t, machine);
      if (!files.every((file) => host.exists(file))) return t.skip('that machine has no such file');
      const source = openOn(kind, host);
      t.after(() => source.close());
      const [read, formed] = [new Frame(source.table), new Frame(source.table)];
      const refresh = (frame: Frame): void => {
        frame.clear(TIME);
        source.read(frame);
      };
      refresh(read);
      refresh(formed);
      const forms = source.forms!(formed);
      if (forms === undefined) return assert.ok(kind === network && machine !== 'host-small');
      const byForm = (): boolean =>
        forms.every(({ fd, single, form }) => {
          const bytes = Buffer.alloc(1 << 18);
          const length = native!.readFile(fd, bytes, single ? 1 : 0);
          return native!.takeNumbers(form, bytes, length, formed.numbers) === 1;
        });
      assert.ok(byForm());
      assert.equal(csvOf(formed), csvOf(read));
      const before = files.map((file) => host.text(file)!);
      fc.assert(
        fc.property(fc.infiniteStream(fc.nat({ max: 2 ** 31 })), (values) => {
          for (const [i, file] of files.entries()) fs.writeFileSync(host.path(file), changed(before[i]!, values));
          assert.ok(byForm());
          refresh(read);
          assert.equal(csvOf(formed), csvOf(read));
        }),
        { numRuns: 20 },
      );
      fs.appendFileSync(host.path(files[0]!), 'something 1\n');
      assert.equal(byForm(), false);
    });

/** The same text with other values: numbers that stand alone, not those in names; the part after a point has two digits. */
function changed(text: string, values: Iterator<number>): string {
  const next = (): number => values.next().value as number;
  return `${text.replaceAll(/(?<=[\s:=/]|^)(\d+)(\.\d\d)?(?=[\s/]|$)/gm, (_, whole: string, decimals?: string) =>
    decimals === undefined
      ? String(next()).slice(0, Math.max(1, whole.length))
      : `${next() % 1000}.${String(next() % 100).padStart(2, '0')}`,
  )}\n`;
}

test('a text is told from another by what is no digit; how far apart its numbers are says nothing', { skip }, () => {
  const numbers = new Float64Array(2);
  const form = formOf('a 1\nb2 3\n', ({ line, index, count }) =>
    index === count - 1 ? { column: line.startsWith('a') ? 0 : 1, factor: 10 } : undefined,
  );
  const take = (text: string): number => native!.takeNumbers(form, Buffer.from(text), text.length, numbers);
  assert.equal(take('a    17\nb2 4\n'), 1);
  assert.deepEqual([...numbers], [170, 40]);
  for (const other of [
    'a 17\nb2 4',
    'a 17\nc2 4\n',
    'a -17\nb2 4\n',
    'a 17\nb2 4\nc 1\n',
    'a 1 7\nb2 4\n',
    'a 17\n',
    '',
  ])
    assert.equal(take(other), 0, JSON.stringify(other));
});
