import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type TarEntry, tarOf, tgzOf } from '../../../test/made/epmt-archive.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import type { Fault } from '../../base/fault.ts';
import { listInputs, readJobFiles } from './archive.ts';

const JOB: TarEntry[] = [
  { name: './', type: '5' },
  { name: './job_metadata', bytes: 'meta' },
  { name: './c1-collated-papiex-1-0.csv', bytes: 'data' },
];

function archive(t: TestContext, bytes: Buffer, name = 'job.tgz'): string {
  const file = path.join(temporaryFolder(t), name);
  fs.writeFileSync(file, bytes);
  return file;
}

const contents = async (file: string, mostBytes?: number): Promise<Record<string, string>> => {
  const { metadata, data } = await readJobFiles(file, mostBytes);
  return Object.fromEntries([['job_metadata', metadata.toString()], ...data.map((d) => [d.name, d.bytes.toString()])]);
};
const EXPECTED = { job_metadata: 'meta', 'c1-collated-papiex-1-0.csv': 'data' };

test('a staged archive, compressed or not, as several tar programs write it', async (t) => {
  assert.deepEqual(await contents(archive(t, tgzOf(JOB))), EXPECTED);
  assert.deepEqual(await contents(archive(t, tarOf(JOB))), EXPECTED);
  const plain = JOB.map((entry) => ({ ...entry, name: entry.name.replace('./', '') || 'x/' }));
  assert.deepEqual(await contents(archive(t, tgzOf(plain))), EXPECTED);
  // files that are none of EPMT's, and names in members of their own: GNU's form and pax
  const long = `./${'long-'.repeat(30)}papiex-7-0.csv`;
  const pax = (text: string): string => `${text.length + 4} ${text}\n`;
  const more: TarEntry[] = [
    ...JOB.slice(0, 2),
    { name: 'notes.txt', bytes: 'x'.repeat(2000) },
    { name: '././@LongLink', type: 'L', bytes: `${long}\0` },
    { name: long.slice(0, 99), bytes: 'one' },
    { name: 'header', type: 'x', bytes: pax('path=./c2-papiex-8-0.csv') },
    { name: 'short', bytes: 'two' },
  ];
  assert.deepEqual(await contents(archive(t, tgzOf(more))), {
    job_metadata: 'meta',
    'c2-papiex-8-0.csv': 'two',
    [long.slice(2)]: 'one',
  });
});

test('a folder of a job, and a folder that holds jobs', async (t) => {
  const folder = temporaryFolder(t);
  fs.mkdirSync(path.join(folder, '4711'));
  fs.writeFileSync(path.join(folder, '4711', 'job_metadata'), 'meta');
  fs.writeFileSync(path.join(folder, '4711', 'c1-papiex.tsv'), 'data');
  fs.writeFileSync(path.join(folder, '4712.tgz'), tgzOf(JOB));
  fs.writeFileSync(path.join(folder, 'README'), 'nothing');
  assert.deepEqual(await contents(path.join(folder, '4711')), { job_metadata: 'meta', 'c1-papiex.tsv': 'data' });
  assert.deepEqual(
    listInputs([folder]).map((input) => path.basename(input)),
    ['4711', '4712.tgz'],
  );
  assert.deepEqual(listInputs([path.join(folder, '4711')]), [path.join(folder, '4711')]);
});

test('jobs of users: <prefix>/<user>/<job id>, archives below it, and jobs that still run', (t) => {
  const folder = temporaryFolder(t);
  const put = (...segments: string[]): void => {
    const file = path.join(folder, ...segments);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '');
  };
  put('1.tgz');
  put('ada', '2', 'job_metadata');
  put('ada', '3', 'job_metadata.tmp');
  put('ada', 'staged', '4.tgz');
  put('ada', 'notes', 'README');
  fs.symlinkSync('..', path.join(folder, 'ada', 'circle'));
  fs.symlinkSync('ada/2', path.join(folder, 'linked'));
  const inputsFound = (input: string): string[] => listInputs([input]).map((each) => path.relative(folder, each));
  assert.deepEqual(inputsFound(folder), ['1.tgz', 'ada/2', 'ada/3', 'ada/staged/4.tgz', 'linked']);
  assert.deepEqual(inputsFound(path.join(folder, 'ada', 'notes')), ['ada/notes'], 'named, for it is no job');
});

const hostile: [why: RegExp, entry: TarEntry][] = [
  [/leads out of it/, { name: '../job_metadata', bytes: 'x' }],
  [/leads out of it/, { name: './a/../../etc/x.csv', bytes: 'x' }],
  [/absolute path "\/etc\/x.csv"/, { name: '/etc/x.csv', bytes: 'x' }],
  [/"x.csv", a link/, { name: 'x.csv', type: '2' }],
  [/"x.csv", a link/, { name: 'x.csv', type: '1' }],
  [/no plain file/, { name: 'x.csv', type: '3' }],
  [/no plain file/, { name: 'x.csv', type: '6' }],
  [/claims 10000000000 bytes; a job's files may have 1024 MiB/, { name: 'x.csv', size: 10e9 }],
  [/claims 10000000000 bytes/, { name: 'not-even-data', size: 10e9 }],
  [/twice/, { name: './job_metadata', bytes: 'other' }],
  [/several jobs/, { name: './other/job_metadata', bytes: 'other' }],
];

for (const [why, entry] of hostile) {
  test(`refused: ${why.source}, ${entry.name}, type ${entry.type ?? '0'}`, async (t) => {
    await assert.rejects(contents(archive(t, tgzOf([...JOB, entry]))), why);
  });
}

test('what is cut off, damaged, too large or no archive at all', async (t) => {
  const whole = tgzOf(JOB);
  await assert.rejects(contents(archive(t, whole.subarray(0, whole.length - 10))), /it is cut off/);
  await assert.rejects(contents(archive(t, gzipSync(tarOf(JOB).subarray(0, 2000)))), /cut off/);
  await assert.rejects(contents(archive(t, Buffer.from('some text'))), /it is neither a gzip nor a tar archive/);
  const damaged = Buffer.from(whole);
  damaged[damaged.length >> 1]! ^= 0xff;
  await assert.rejects(contents(archive(t, damaged)), /cannot be imported/);
  await assert.rejects(contents(archive(t, gzipSync(Buffer.alloc(2048, 'x')))), /no tar archive, or damaged/);
  await assert.rejects(contents(archive(t, Buffer.from('just a text, long enough'.repeat(40)))), /no tar archive/);
  await assert.rejects(contents(archive(t, Buffer.alloc(0))), /it is empty/);
  await assert.rejects(contents(archive(t, tgzOf([JOB[2]!]))), /no job_metadata/);
  await assert.rejects(contents(archive(t, tgzOf([{ name: './job_metadata.tmp', bytes: 'x' }]))), /has not ended/);
  await assert.rejects(contents('/nonexistent.tgz'), /no such file/);
  const zeros = [...JOB, { name: './x.csv', bytes: Buffer.alloc(3 << 20) }];
  await assert.rejects(contents(archive(t, tgzOf(zeros)), 1 << 20), /claims 3145728 bytes/);
  // zeros behind the archive's end are no members, but they are bytes
  const bomb = gzipSync(Buffer.concat([tarOf(JOB), Buffer.alloc(4 << 20)]));
  await assert.rejects(contents(archive(t, bomb), 1 << 20), /unpacks to more than 1 MiB/);
});

test('other files than those of papiex are none of the job, and empty ones are told', async (t) => {
  const more = [
    ...JOB,
    { name: './foo.csv', bytes: 'a,b' },
    { name: './c1-papiex-7-0.csv', bytes: '' },
    { name: './c1-papiex-header.tsv', bytes: 'head' },
  ];
  const { data, foreign, empty } = await readJobFiles(archive(t, tgzOf(more)));
  assert.deepEqual(
    data.map(({ name }) => name),
    ['c1-collated-papiex-1-0.csv', 'c1-papiex-header.tsv'],
  );
  assert.deepEqual([foreign, empty], [['foo.csv'], ['c1-papiex-7-0.csv']]);
  // a site may have other names for all of them
  const own = await readJobFiles(archive(t, tgzOf([JOB[1]!, { name: 'foo.csv', bytes: 'a,b' }])));
  assert.deepEqual([own.data.map(({ name }) => name), own.foreign], [['foo.csv'], []]);
  // where nothing is in any of them, whoever reads them says so
  const none = await readJobFiles(archive(t, tgzOf([JOB[1]!, { name: 'c1-papiex-7-0.csv', bytes: '' }])));
  assert.deepEqual([none.data.length, none.empty], [1, []]);
});

test('what another program has packed is told by its name, with what unpacks it', async (t) => {
  for (const [bytes, message, hint] of [
    [Buffer.from('BZh91AY&SY'), /packed with bzip2/, /bunzip2 -k/],
    [Buffer.from('fd377a585a000004', 'hex'), /packed with xz/, /unxz -k/],
    [zstdCompressSync(tarOf(JOB)), /packed with zstd/, /unzstd/],
  ] as const) {
    await assert.rejects(readJobFiles(archive(t, bytes)), (error: Fault) => {
      assert.match(error.message, message);
      assert.match(error.hint!, hint);
      return true;
    });
  }
});
