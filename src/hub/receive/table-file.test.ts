import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { ArchiveFolders } from './archive-folder.ts';
import { Descriptors } from './descriptors.ts';
import { nodeFiles } from './node-files.ts';
import { ONE_OWNER } from './owner.ts';
import { readReceived, writeReceived } from './received.ts';
import { type Shelf, TableFile } from './table-file.ts';

const HEADER = 'time,value\n';
const NODE = { way: ['user=ada', 'job=1', 'node=c1'], owner: undefined };

/** What the agent has written: parts with lines of their own. */
const PARTS = Array.from({ length: 6 }, (_, partIndex) =>
  Buffer.from(HEADER + Array.from({ length: 8 }, (_, i) => `${partIndex * 8 + i},${i * 7}\n`).join('')),
);

type Step =
  | { what: 'send'; bytes: number; back: number }
  | { what: 'restart' }
  | { what: 'crash in seal' }
  | { what: 'seal' }
  | { what: 'give up'; parts: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('send' as const), bytes: fc.nat(90), back: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.constant({ what: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ what: 'seal' as const }) },
  { weight: 1, arbitrary: fc.constant({ what: 'crash in seal' as const }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('give up' as const), parts: fc.integer({ min: 1, max: 2 }) }) },
);

/** Lines of values, without headers. */
const lines = (text: string): string[] => text.split('\n').filter((line) => /^\d+,\d+$/.test(line));

test('whatever happens between, every line that was sent is there once, and the position is the true one', () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-table-'));
  let round = 0;
  try {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 40 }), (steps) => {
        const archive = path.join(root, String(round++));
        fs.mkdirSync(archive);
        const folder = path.join(archive, ...NODE.way);
        const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
        let descriptors = new Descriptors(4);
        const load = (): TableFile => {
          const shelf: Shelf = { folders: archiveFolders, descriptors, rolled: () => {} };
          fs.mkdirSync(folder, { recursive: true });
          const tableOnDisk = nodeFiles(folder).tables.get('t');
          return new TableFile(shelf, NODE, 't', tableOnDisk, readReceived(folder).tables.t);
        };
        let table = load();
        const sealed: string[] = [];
        const expected: string[] = [];
        // what is in a part that was begun before it was given up still counts
        let sent = { part: 1, bytes: 0 };
        const restart = (): void => {
          descriptors.closeAll();
          descriptors = new Descriptors(4);
          table = load();
          assert.deepEqual(table.position, sent);
        };
        const note = (): void => {
          table.release();
          const received = readReceived(folder);
          received.tables.t = table.noted(folder, received.tables.t);
          writeReceived(folder, received);
        };
        for (const step of steps) {
          if (step.what === 'send') {
            let { part, bytes } = sent;
            if (part > PARTS.length) continue;
            if (bytes === PARTS[part - 1]!.length) {
              part++;
              bytes = 0;
            }
            const content = PARTS[part - 1];
            if (content === undefined) continue;
            const from = Math.max(0, bytes - (part === sent.part ? step.back : 0));
            const to = Math.min(content.length, bytes + step.bytes);
            if (to <= from || (part !== sent.part && to === 0)) continue;
            table.append(part, from, content.subarray(from, to), 1);
            expected.push(content.toString('utf8', bytes, Math.max(bytes, to)));
            sent = { part, bytes: Math.max(bytes, to) };
            assert.deepEqual(table.position, sent);
          } else if (step.what === 'restart') restart();
          else if (step.what === 'seal' || step.what === 'crash in seal') {
            // lines are sent whole: what is sealed ends with one
            const content = PARTS[sent.part - 1];
            if (content !== undefined && sent.bytes > 0 && sent.bytes < content.length) {
              const to = content.indexOf(10, Math.max(sent.bytes - 1, 0)) + 1;
              table.append(sent.part, sent.bytes, content.subarray(sent.bytes, to), 1);
              expected.push(content.toString('utf8', sent.bytes, to));
              sent = { part: sent.part, bytes: Math.max(sent.bytes, to) };
            }
            note();
            if (step.what === 'seal') {
              for (const name of fs.readdirSync(folder).filter((each) => each.endsWith('.csv'))) {
                sealed.push(...lines(fs.readFileSync(path.join(folder, name), 'utf8')));
                fs.rmSync(path.join(folder, name));
              }
              table.refresh(nodeFiles(folder).tables.get('t'));
            } else restart();
          } else {
            const to = { part: sent.part + step.parts, bytes: 0 };
            if (to.part > PARTS.length) continue;
            table.moveTo(to);
            // a line that was cut off by it ends there
            if (sent.bytes > 0) expected.push('\n');
            sent = to;
          }
        }
        restart();
        const live = fs
          .readdirSync(folder)
          .filter((name) => name.endsWith('.csv'))
          .flatMap((name) => lines(fs.readFileSync(path.join(folder, name), 'utf8')));
        const whole = lines(expected.join(''));
        assert.deepEqual([...sealed, ...live].sort(), whole.sort());
        descriptors.closeAll();
        archiveFolders.close();
      }),
      { numRuns: 150 },
    );
  } finally {
    fs.rmSync(root, { recursive: true });
  }
});

test('a header that was torn by a crash is written again, and nothing is counted twice', (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-table-'));
  t.after(() => fs.rmSync(archive, { recursive: true }));
  const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
  const descriptors = new Descriptors(4);
  const folder = path.join(archive, ...NODE.way);
  fs.mkdirSync(folder, { recursive: true });
  writeReceived(folder, { format: 1, tables: { t: { part: 3, bytes: 40, live: HEADER.length, header: HEADER } } });
  fs.writeFileSync(path.join(folder, 't.csv'), HEADER.slice(0, 4));
  const shelf: Shelf = { folders: archiveFolders, descriptors, rolled: () => {} };
  const table = new TableFile(shelf, NODE, 't', nodeFiles(folder).tables.get('t'), readReceived(folder).tables.t);
  assert.deepEqual(table.position, { part: 3, bytes: 40 });
  table.append(3, 40, Buffer.from('9,9\n'), 1);
  assert.equal(fs.readFileSync(path.join(folder, 't.csv'), 'utf8'), `${HEADER}9,9\n`);
  descriptors.closeAll();
  const again = new TableFile(shelf, NODE, 't', nodeFiles(folder).tables.get('t'), readReceived(folder).tables.t);
  assert.deepEqual(again.position, { part: 3, bytes: 44 });
  archiveFolders.close();
});

test('rates are over the last minute and end with it', (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-table-'));
  t.after(() => fs.rmSync(archive, { recursive: true }));
  const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
  const descriptors = new Descriptors(4);
  const table = new TableFile(
    { folders: archiveFolders, descriptors, rolled: () => {} },
    NODE,
    't',
    undefined,
    undefined,
  );
  const row = Buffer.from('1,22\n');
  for (let second = 0; second <= 100; second++) table.append(1, second * row.length, row, 1e6 + second * 1000);
  const { rows, bytes } = table.rates(1e6 + 100_000);
  assert.ok(Math.abs(rows - 1) < 0.05, String(rows));
  assert.ok(Math.abs(bytes - 5) < 0.25, String(bytes));
  assert.deepEqual(table.rates(1e6 + 200_000), { rows: 0, bytes: 0 });
  descriptors.closeAll();
  archiveFolders.close();
});
