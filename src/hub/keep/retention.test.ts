import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { ArchiveFolders } from '../receive/archive-folder.ts';
import { ONE_OWNER, separateOwners } from '../receive/owner.ts';
import { type Bounds, Holding, removeRecording, tooOld } from './retention.ts';
import type { Kept } from './sweep.ts';

const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const kept = (name: string, hours: number, bytes: number): Kept => ({
  archivePath: { way: ['user=ada', name], owner: undefined },
  kind: 'job',
  user: 'ada',
  bytes,
  changed: NOW - hours * HOUR,
  unsealed: false,
  records: 0,
});
const ALL = [kept('a', 50, 10), kept('b', 90, 20), kept('c', 1, 40), kept('d', 70, 80)];
const none = (): boolean => false;
function names(all: readonly Kept[], bounds: Bounds, now: number, live: (kept: Kept) => boolean): string[] {
  const holdings = new Map<string, Holding>();
  for (const each of all) {
    const [shelf] = each.archivePath.way as [string, string];
    const holding = holdings.get(shelf) ?? new Holding(shelf === 'fleet');
    holdings.set(shelf, holding);
    holding.add(each, live(each));
  }
  return tooOld(holdings.values(), bounds, now).map((old) => old.kept.archivePath.way[1]!);
}

test('by age, the oldest first', () => {
  assert.deepEqual(names(ALL, { age: 60 * 3600 }, NOW, none), ['b', 'd']);
  assert.deepEqual(names(ALL, {}, NOW, none), []);
});

test('by size, those that ended first until the rest fits', () => {
  assert.deepEqual(names(ALL, { bytes: 150 }, NOW, none), []);
  assert.deepEqual(names(ALL, { bytes: 140 }, NOW, none), ['b']);
  assert.deepEqual(names(ALL, { bytes: 129 }, NOW, none), ['b', 'd']);
  assert.deepEqual(names(ALL, { bytes: 1 }, NOW, none), ['b', 'd', 'a', 'c']);
});

test('what is live stays, whatever is full', () => {
  const live = (each: Kept): boolean => each.archivePath.way[1] === 'b';
  assert.deepEqual(names(ALL, { age: 1, bytes: 1 }, NOW, live), ['d', 'a', 'c']);
});

const of = (shelf: string, ...recordings: Kept[]): Kept[] =>
  recordings.map((each) => ({ ...each, archivePath: { way: [shelf, each.archivePath.way[1]!], owner: undefined } }));

test('who holds more than a share of the archive pays for it, whatever it is and however old that of others is', () => {
  const ada = of('user=ada', kept('a1', 90, 20), kept('a2', 80, 20));
  const bob = of('user=bob', kept('b1', 70, 30));
  const eve = of('user=eve', kept('e1', 3, 10), kept('e2', 2, 1e15), kept('e3', 1, 5));
  assert.deepEqual(names([...ada, ...bob, ...eve], { bytes: 100 }, NOW, none), ['e1', 'e2']);
  // what cannot be removed, as it changes all the time, is not made up for by others
  const live = (each: Kept): boolean => each.archivePath.way[1] === 'e2';
  assert.deepEqual(names([...ada, ...bob, ...eve], { bytes: 120 }, NOW, live), ['e1', 'e3']);
  // beyond what is left to each of them they give as before
  assert.deepEqual(names([...ada, ...bob, ...eve], { bytes: 90 }, NOW, live), ['a1', 'e1', 'e3']);
});

test('the fleet keeps half of the archive, and more where users leave it', () => {
  const fleet = of('fleet', kept('f1', 50, 40), kept('f2', 40, 40));
  const ada = of('user=ada', kept('a1', 90, 30));
  assert.deepEqual(names([...fleet, ...ada], { bytes: 110 }, NOW, none), []);
  assert.deepEqual(names([...fleet, ...ada], { bytes: 80 }, NOW, none), ['f1']);
  const more = of('user=bob', kept('b1', 95, 60), kept('b2', 2, 20));
  assert.deepEqual(names([...fleet, ...ada, ...more], { bytes: 160 }, NOW, none), ['b1']);
});

test('of millions of folders that somebody made a bounded number is remembered, those that ended first', () => {
  const all = Array.from({ length: 10_000 }, (_, i) => kept(`${i}`, 1 + ((i * 7919) % 10_000) / 1e4, 1));
  const gone = names(all, { bytes: 1 }, NOW, none);
  assert.deepEqual([gone.length, gone[0], gone[1]], [2_000, '2321', '4642']);
});

test('a large recording is removed in turns, with all that its owner has put there, and nothing that links lead to', async (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-retention-'));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const isRoot = process.getuid?.() === 0;
  fs.chmodSync(root, 0o755);
  const other = path.join(root, 'other/kept');
  fs.mkdirSync(other, { recursive: true });
  fs.writeFileSync(path.join(other, 'file'), 'stays');
  const recording = path.join(root, 'user=eve/job=1');
  let deep = path.join(recording, 'node=c1');
  for (let i = 0; i < 60; i++) deep = path.join(deep, 'deeper');
  fs.mkdirSync(deep, { recursive: true });
  fs.writeFileSync(path.join(recording, 'job.json'), '{}');
  fs.symlinkSync(other, path.join(recording, 'link'));
  fs.symlinkSync(other, path.join(recording, 'node=c1/link'));
  fs.mkdirSync(path.join(recording, 'job.json.d/x'), { recursive: true });
  for (let i = 0; i < 5_000; i++) fs.writeFileSync(path.join(recording, `node=c1/${i}`), '');
  const owner = isRoot ? { uid: 54321, gid: 54321 } : undefined;
  if (owner !== undefined) spawnSync('chown', ['-hR', '54321:54321', path.join(root, 'user=eve')]);
  for (const each of [deep, path.dirname(deep), path.join(recording, 'node=c1')]) fs.chmodSync(each, 0);
  const archiveFolders = new ArchiveFolders(root, isRoot ? await separateOwners() : ONE_OWNER);
  t.after(() => archiveFolders.close());
  const archivePath = { way: ['user=eve', 'job=1'], owner };
  // others get their turns, and it can be stopped: until the last step it is a recording
  let turns = 0;
  assert.equal(await removeRecording(archiveFolders, archivePath, () => ++turns === 2), false);
  assert.deepEqual([turns, fs.existsSync(path.join(recording, 'job.json'))], [2, true]);
  assert.equal(await removeRecording(archiveFolders, archivePath, () => false), true);
  assert.deepEqual(fs.readdirSync(path.join(root, 'user=eve')), []);
  assert.equal(fs.readFileSync(path.join(other, 'file'), 'utf8'), 'stays');
});
