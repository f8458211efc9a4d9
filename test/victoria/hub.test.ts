import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config/config.ts';
import { startHub } from '../../src/hub/hub.ts';
import { type ArchiveSinks, openArchiveSinks } from '../../src/hub/keep/archive-sinks.ts';
import { nodeFolder } from '../../src/recording/folder/node-folder.ts';
import { HubSink } from '../../src/sinks/hub/sink.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { agentTable } from '../../src/sources/own/agent.ts';
import { eventually } from '../made/eventually.ts';
import { agentOf, appendRows, diskRows, diskTable, jobOf, START } from '../make-recording.ts';
import { temporaryFolder } from '../tacho.ts';
import { startVictoria, whyNoVictoria } from './server.ts';

test('a hub sends on what it files, and seals it when it is stored there', { skip: whyNoVictoria() }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const folder = temporaryFolder(t);
  const surroundings = { folder, environment: {}, site: folder, uid: process.getuid!() };
  const given = { 'victoria.url': server.url, 'victoria.interval': 0.2, 'victoria.settle': 2 };
  const config = await loadConfig(given, undefined, surroundings);
  let sinks: ArchiveSinks | undefined;
  const hub = await startHub({
    listen: '127.0.0.1:0',
    archive: path.join(folder, 'archive'),
    holds: (recording) => sinks?.holds(recording) !== false,
  });
  t.after(() => hub.close());
  sinks = await openArchiveSinks(config, hub.archive, () => {}, false, hub.filing);
  t.after(() => sinks!.close(0));
  assert.deepEqual(sinks?.names, [`victoria ${server.url}`]);

  const spool = path.join(folder, 'spool');
  const nodePath = path.join(spool, 'job-17', nodeFolder('c1'));
  fs.mkdirSync(nodePath, { recursive: true });
  // the archive of a user who exists on this machine
  const job = jobOf({ user: 'root', uid: 0 });
  fs.writeFileSync(path.join(spool, 'job-17/job.json'), JSON.stringify(job));
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [diskTable, agentTable])));
  await appendRows(nodePath, diskTable, diskRows(20));
  await appendRows(nodePath, agentTable, [{ time: START, cpu_us: 1 }]);
  const agent = new HubSink({ addresses: [new URL(hub.address)], spool, streams: spoolStreams(spool), node: 'c1' });
  t.after(() => agent.close(0));
  await server.kill();
  agent.wake();

  const filed = path.join(hub.archive, 'user=root/job=17', nodeFolder('c1'));
  const names = (): string[] => (fs.existsSync(filed) ? fs.readdirSync(filed) : []);
  await eventually('disk.csv in the archive', () => names().includes('disk.csv'));
  // the agent is done at once, and the hub waits for what it has to send on
  for (let i = 0; i < 30; i++) {
    await sleep(100);
    agent.wake();
  }
  assert.equal(names().includes('disk.csv.zst'), false);
  await server.start();
  await eventually('the sealed table', () => {
    agent.wake();
    return names().includes('disk.csv.zst');
  });
  await server.flush();
  const match = 'tacho_disk_read_bytes_total{job="17",node="c1",disk="sda"}';
  const response = await fetch(`${server.url}/api/v1/export?match[]=${encodeURIComponent(match)}`);
  const { values } = JSON.parse(await response.text()) as { values: number[] };
  assert.deepEqual(
    values,
    Array.from({ length: 20 }, (_, i) => i * 4096),
  );
  assert.equal(names().includes('disk.csv'), false);
});
