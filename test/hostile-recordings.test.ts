import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { jobInShort } from '../src/recording/folder/node-names.ts';
import { agentOf, jobOf, makeRecording, temporary } from './make-recording.ts';
import { tacho } from './tacho.ts';

const pipe = (file: string): void => void execFileSync('mkfifo', [file]);

function sparse(file: string, bytes: number): void {
  fs.closeSync(fs.openSync(file, 'w'));
  fs.truncateSync(file, bytes);
}

const rewritten = (file: string, changes: object): void =>
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), ...changes }));

/** What may lie in a recording, and how it is told of it. */
const HOSTILE: Record<string, { plant: (folder: string) => void; refusal: RegExp }> = {
  'pipe-as-job': {
    plant: (folder) => {
      fs.rmSync(path.join(folder, 'job.json'));
      pipe(path.join(folder, 'job.json'));
    },
    refusal: /pipe-as-job\/job\.json: it is not an ordinary file/,
  },
  'pipe-as-agent': {
    plant: (folder) => {
      fs.rmSync(path.join(folder, 'node=c1/agent.json'));
      pipe(path.join(folder, 'node=c1/agent.json'));
    },
    refusal: /agent\.json: it is not an ordinary file/,
  },
  'pipe-as-part': {
    plant: (folder) => pipe(path.join(folder, 'node=c1/evil.0001.csv')),
    refusal: /evil\.0001\.csv: it is not an ordinary file/,
  },
  'pipe-as-parquet': {
    plant: (folder) => pipe(path.join(folder, 'node=c1/evil.parquet')),
    refusal: /evil\.parquet: it is not an ordinary file/,
  },
  'folder-as-part': {
    plant: (folder) => fs.mkdirSync(path.join(folder, 'node=c1/evil.csv.zst')),
    refusal: /evil\.csv\.zst: it is not an ordinary file/,
  },
  'link-to-device': {
    plant: (folder) => fs.symlinkSync('/dev/zero', path.join(folder, 'node=c1/evil.csv')),
    refusal: /evil\.csv: it is not an ordinary file/,
  },
  'link-to-itself': {
    plant: (folder) => fs.symlinkSync('evil.csv', path.join(folder, 'node=c1/evil.csv')),
    refusal: /evil\.csv: it is not an ordinary file/,
  },
  'huge-job': {
    plant: (folder) => sparse(path.join(folder, 'job.json'), 2 ** 36),
    refusal: /job\.json: it has 68719476736 bytes; more than 1048576 are not read/,
  },
  'many-objects': {
    plant: (folder) => fs.writeFileSync(path.join(folder, 'job.json'), `[${'{},'.repeat(3e6)}{}]`),
    refusal: /job\.json: it has 9000004 bytes; more than 1048576 are not read/,
  },
  'written-is-a-number': {
    plant: (folder) => rewritten(path.join(folder, 'node=c1/agent.json'), { written: 5, unmeasured: [7] }),
    refusal: /agent\.json: unmeasured\.0, written cannot be used/,
  },
  'words-that-are-none': {
    plant: (folder) => rewritten(path.join(folder, 'job.json'), { command: { 0: 'x' }, account: [], steps: [{}] }),
    refusal: /job\.json: account, command, steps\.0\.id cannot be used/,
  },
};

/** Told of by reading the tables only. */
const IN_TABLES: Record<string, { plant: (folder: string) => void; refusal: RegExp }> = {
  'huge-part': {
    plant: (folder) => sparse(path.join(folder, 'node=c1/load.csv'), 2 ** 40),
    refusal: /load\.csv.*1099511627776 bytes/,
  },
  'part-that-unpacks-to-much': {
    plant: (folder) =>
      fs.writeFileSync(path.join(folder, 'node=c1/load.0001.csv.zst'), zstdCompressSync(Buffer.alloc(300 << 20, 10))),
    refusal: /load\.0001\.csv\.zst.*unpacks to more than 268435456 bytes/,
  },
};

async function archive(kinds: Record<string, { plant: (folder: string) => void }>): Promise<string> {
  const top = temporary();
  for (const [id, { plant }] of Object.entries(kinds)) {
    const folder = await makeRecording({ folder: path.join(top, id), seconds: 5, job: { id } });
    plant(folder);
  }
  await makeRecording({ folder: path.join(top, 'good'), seconds: 5, job: { id: 'good' } });
  return top;
}

test('list names what is wrong with each recording, and lists the others', { timeout: 300_000 }, async () => {
  const top = await archive(HOSTILE);
  const { out, code, err } = tacho(['list', top, '--format', 'json']);
  assert.equal(code, 0, err);
  const listed = new Map(
    (JSON.parse(out) as { path: string; state: string; trouble?: string }[]).map((each) => [
      path.basename(each.path),
      each,
    ]),
  );
  assert.equal(listed.get('good')?.state, 'ended');
  for (const [id, { refusal }] of Object.entries(HOSTILE)) {
    assert.equal(listed.get(id)?.state, 'damaged', id);
    assert.match(listed.get(id)?.trouble ?? '', refusal);
  }
});

test('report, verify and seal end, and what is wrong with one says nothing about the others', async () => {
  const all = { ...HOSTILE, ...IN_TABLES };
  const top = await archive(all);
  const cards = tacho(['report', top, '--format', 'json']);
  assert.equal(cards.code, 0, cards.err);
  assert.equal((JSON.parse(cards.out) as unknown[]).length, Object.keys(all).length + 1);
  assert.doesNotMatch(cards.err, /internal error/);
  for (const flags of [['--dry-run'], []]) {
    const verified = tacho(['verify', top, '--format', 'json', ...flags]);
    assert.doesNotMatch(verified.err, /internal error/);
    type Checks = { path: string; checks: { file: string; what: string }[] }[];
    const checks = new Map((JSON.parse(verified.out) as Checks).map((each) => [path.basename(each.path), each.checks]));
    assert.deepEqual(checks.get('good'), []);
    for (const [id, { refusal }] of Object.entries(IN_TABLES)) {
      assert.match(
        checks
          .get(id)!
          .map(({ file, what }) => `${file} ${what}`)
          .join('\n'),
        refusal,
      );
    }
  }
  const sealed = tacho(['seal', top]);
  assert.doesNotMatch(sealed.err, /internal error/);
  assert.match(sealed.out, /good: 2 tables, 15 rows/);
  assert.ok(fs.lstatSync(path.join(top, 'pipe-as-part/node=c1/evil.0001.csv')).isFIFO());
  assert.equal(fs.statSync(path.join(top, 'huge-part/node=c1/load.csv')).size, 2 ** 40);
});

test('200,000 names of nodes are listed and reported', async () => {
  const nodes = Array.from({ length: 200_000 }, (_, i) => `c${i}`);
  const folder = await makeRecording({ seconds: 2, job: { nodes } });
  const { out, err } = tacho(['report', folder]);
  assert.match(out, /200.000 nodes \(c\[0-199999\]\)/);
  assert.doesNotMatch(err, /call stack/);
});

test('the limits leave room for the largest jobs', async () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `frontier${String(i).padStart(5, '0')}`);
  const per_node = Object.fromEntries(names.map((name) => [name, { cpus: 64, memory_bytes: 2 ** 39, gpus: 8 }]));
  const folder = await makeRecording({ seconds: 2 });
  fs.writeFileSync(
    path.join(folder, 'job.json'),
    JSON.stringify(jobInShort(jobOf({ nodes: names, per_node })), null, 1),
  );
  fs.writeFileSync(path.join(folder, 'node=c1/agent.json'), JSON.stringify(agentOf('c1', [])));
  const { out } = tacho(['list', folder, '--format', 'json']);
  assert.equal(JSON.parse(out)[0].trouble, undefined);
});
