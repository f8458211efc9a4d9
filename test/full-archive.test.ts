import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { ArchiveFolders } from '../src/hub/receive/archive-folder.ts';
import { Descriptors } from '../src/hub/receive/descriptors.ts';
import { Filing } from '../src/hub/receive/filing.ts';
import { ONE_OWNER } from '../src/hub/receive/owner.ts';
import { agentOf, HEADER, jobOf, rows } from './hub/hub-process.ts';
import { temporaryFolder } from './tacho.ts';

test('a full archive is told, in the same words for all tables', (t) => {
  const archive = temporaryFolder(t);
  const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
  const messages: string[] = [];
  const filing = new Filing(
    { folders: archiveFolders, descriptors: new Descriptors(16), rolled: () => {} },
    { tell: (text) => messages.push(text) },
  );
  const job = jobOf('7', ['c1']);
  const anyone = { kind: 'anyone' } as const;
  const { stream } = filing.open({ protocol: 1, node: 'c1', kind: 'job', job, agent: agentOf('c1') }, anyone);
  const text = Buffer.from(`${HEADER}${rows(0, 3)}`);
  const append = (table: string): { trouble?: string } =>
    JSON.parse(filing.append([[stream, table, 1, 0, text.length]], [text], anyone));
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const mocked = t.mock.method(fs, 'writeSync', () => {
    throw full;
  });
  syncBuiltinESMExports();
  const troubles = [append('loadavg'), append('other')].map(({ trouble }) => trouble);
  mocked.mock.restore();
  syncBuiltinESMExports();
  const message = 'the hub cannot write to its archive: no space left on the device';
  assert.deepEqual(troubles, [message, message]);
  assert.equal(append('loadavg').trouble, undefined);
  const kept = 'agents keep their samples until it can be written';
  assert.deepEqual(messages, [`cannot write to ${archive}: no space left on the device; ${kept}`]);
  archiveFolders.close();
});
