import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  CSV_COLUMNS,
  csvText,
  JOB_START,
  type MadeProcess,
  madeProcess,
  metadataOf,
  pickle3,
  tgzOf,
} from '../../../test/made/epmt-archive.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import { importEpmt } from '../../import/epmt/import.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { type JobFeatures, jobFeatures } from './features.ts';
import { FEATURES_FILE } from './features-file.ts';
import { keepImportedFeatures } from './imported-features.ts';
import { type MeasuredJob, measuredRecordings } from './measured-job.ts';

/** Processes of few hosts, programs and tags, some of them with several threads, some with the same pid. */
const processes = fc.array(
  fc
    .record({
      pid: fc.integer({ min: 2, max: 40 }),
      start: fc.integer({ min: 0, max: 50 }),
      hostname: fc.constantFrom('c1', 'c2', ''),
      tags: fc.constantFrom('', 'op:build', 'op:build;seq:2', 'op:test', 'seq:1'),
      exitsignal: fc.constantFrom(0, 1, 9),
      threads: fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 1, maxLength: 3 }),
    })
    .map(({ pid, start, hostname, tags, exitsignal, threads }): MadeProcess => {
      const [begin, end] = [JOB_START + start, JOB_START + start + 7];
      return madeProcess(pid, {
        start: begin,
        end,
        hostname,
        tags,
        exitsignal,
        threads: threads.map((value, i) => ({
          tid: pid + i,
          start: begin,
          end,
          metrics: { usertime: value, systemtime: i, rssmax: value, rchar: value * 3, starttime: 4096e4 * i },
        })),
      });
    }),
  { minLength: 1, maxLength: 30 },
);

/** Of a job whose processes cannot be read. */
const unread = (one: MeasuredJob): MeasuredJob => ({ ...one, processes: () => assert.fail('processes are read') });

test('features that are kept as a job is imported are those that reading it gives', async (t) => {
  const folder = temporaryFolder(t);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(processes, fc.constantFrom(41, 46, 48), async (made, width) => {
      const out = path.join(folder, String(run++));
      const archive = `${out}.tgz`;
      const data = { name: './c1-collated-papiex-1-0.csv', bytes: csvText(made, CSV_COLUMNS[width as 41 | 46 | 48]) };
      fs.writeFileSync(archive, tgzOf([{ name: './job_metadata', bytes: pickle3(metadataOf()) }, data]));
      const { imported, refused } = await importEpmt([archive], { folder: out, complete: keepImportedFeatures });
      assert.deepEqual(refused, []);
      const { recording } = imported[0]!;
      const features = (of = (one: MeasuredJob): MeasuredJob => one): Promise<JobFeatures> =>
        jobFeatures(of(measuredRecordings([openRecording(recording)])[0]!));
      const kept = await features(unread);
      fs.rmSync(path.join(recording, FEATURES_FILE));
      assert.deepEqual(kept, await features());
    }),
    { numRuns: 25 },
  );
});

test('what cannot be kept leaves no recording', async (t) => {
  const folder = temporaryFolder(t);
  const archive = path.join(folder, 'job.tgz');
  const data = { name: './c1-collated-papiex-1-0.csv', bytes: csvText([madeProcess(7)], CSV_COLUMNS[48]) };
  fs.writeFileSync(archive, tgzOf([{ name: './job_metadata', bytes: pickle3(metadataOf()) }, data]));
  const out = path.join(folder, 'out');
  const complete = (): never => {
    throw new Error('no space left');
  };
  const { imported, refused } = await importEpmt([archive], { folder: out, complete });
  assert.deepEqual([imported.length, refused.length, fs.existsSync(out)], [0, 1, false]);
});
