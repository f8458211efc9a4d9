import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import { contentSize, unpackWhole } from '../../recording/sealed/unpack.ts';
import { ArchiveFolders, type ArchivePath, archiveFolderKey } from '../receive/archive-folder.ts';
import { ONE_OWNER } from '../receive/owner.ts';
import { Compressor } from './compress.ts';

function compressing(t: TestContext) {
  const root = temporaryFolder(t);
  const archiveFolders = new ArchiveFolders(root, ONE_OWNER);
  const entered: string[] = [];
  t.mock.method(archiveFolders, 'in', ((archivePath, made, work) => {
    entered.push(archiveFolderKey(archivePath));
    return ArchiveFolders.prototype.in.call(archiveFolders, archivePath, made, work);
  }) as ArchiveFolders['in']);
  const compressor = new Compressor(archiveFolders);
  t.after(async () => {
    await compressor.close();
    archiveFolders.close();
  });
  const add = (user: string, job: string, text: string): string => {
    const node: ArchivePath = { way: [`user=${user}`, `job=${job}`, 'node=c1'], owner: undefined };
    const file = path.join(root, archiveFolderKey(node), 'a.0001.csv');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    compressor.add(node, 'a.0001.csv');
    return file;
  };
  const until = (file: string): Promise<boolean> => eventually(`the end of ${file}`, () => !fs.existsSync(file));
  return { entered, add, until };
}

test('each user has a turn, however much another has', async (t) => {
  const { entered, add, until } = compressing(t);
  const files = [...[1, 2, 3, 4].map((job) => add('eve', `${job}`, 'x')), add('ada', '1', 'x'), add('bob', '1', '')];
  for (const file of files) await until(file);
  const order = [...new Set(entered)].map((key) => key.split('/', 2).join(' '));
  const eve = ['user=eve job=2', 'user=eve job=3', 'user=eve job=4'];
  assert.deepEqual(order, ['user=eve job=1', 'user=ada job=1', 'user=bob job=1', ...eve]);
});

test('a large part is compressed a little at a time', async (t) => {
  const { add, until } = compressing(t);
  const text = 'time,load1\n1,2\n'.repeat(1000);
  const file = add('eve', '1', text);
  fs.truncateSync(file, 250 << 20);
  const before = process.resourceUsage().maxRSS;
  await until(file);
  const megabytes = (process.resourceUsage().maxRSS - before) / 1024;
  assert.ok(megabytes < 100, `${megabytes} MB more`);
  const packed = fs.readFileSync(`${file}.zst`);
  assert.equal(contentSize(packed), 250 << 20);
  assert.equal(unpackWhole(packed).toString('utf8', 0, text.length), text);
});
