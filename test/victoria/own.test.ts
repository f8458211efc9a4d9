import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { openArchiveSinks } from '../../src/hub/keep/archive-sinks.ts';
import { openStore } from '../../src/query/store/client.ts';
import { listStored } from '../../src/query/store/list.ts';
import { findJobs, runsOf } from '../../src/query/store/records.ts';
import { summarise } from '../../src/query/summarise.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { DAEMON, hubFor, NOBODY, record, senderTo } from '../hub/senders.ts';
import { eventually } from '../made/eventually.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { startVictoria, whyNoVictoria } from './server.ts';
import { storedSummary } from './stored-summary.ts';

test("no user's recording mixes with the cluster's, or with another user's", { skip: whyNoVictoria() }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const folder = temporaryFolder(t);
  const surroundings = { folder, environment: {}, site: folder, uid: process.getuid!() };
  const given = { 'victoria.url': server.url, 'victoria.interval': 0.2, 'victoria.settle': 1 };
  const config = await loadConfig(given, undefined, surroundings);
  const hub = await hubFor(t, { archive: path.join(folder, 'archive'), usersWrite: true, holds: () => true });
  const sinks = await openArchiveSinks(config, hub.archive, () => {}, false, hub.filing);
  t.after(() => sinks!.close(0));

  // job 436 of daemon on c1 as the node's agent sees it; nobody says that it is theirs, and daemon improves on it
  const start = Date.now() * 1000 - 60e6;
  await record(await senderTo(t, hub, 'node c1'), DAEMON, 1, start);
  await record(await senderTo(t, hub, 'user nobody 65534'), NOBODY, 7, start);
  await record(await senderTo(t, hub, 'user daemon 1'), DAEMON, 9, start);

  const store = openStore(server.url);
  const series = (): Promise<readonly { labels: Readonly<Record<string, string>>; value: number }[]> =>
    store.query('max_over_time(tacho_load_load1{job="436"}[10m])', Date.now());
  await eventually('three series in the store', async () => {
    await server.flush();
    return (await series()).length >= 3;
  });
  const messages = (await series()).map(
    ({ labels, value }) => `${labels.user} ${labels.recorded_by ?? 'agent'} ${value}`,
  );
  assert.deepEqual(messages.sort(), ['daemon agent 1', 'daemon user 9', 'nobody user 7']);

  const summary = async (id: string): Promise<[string, number | undefined][]> => {
    const jobs = await findJobs(store, id);
    return Promise.all(
      jobs.map(async (job): Promise<[string, number | undefined]> => {
        const [node] = await storedSummary(job);
        const column = node!.tables.get('load')!.series[0]!.columns.load1 as { max?: number };
        return [job.recording.path.slice(job.recording.path.indexOf('#')), column.max];
      }),
    );
  };
  // the id alone means what the cluster recorded
  assert.deepEqual(await summary('436'), [['#daemon/436', 1]]);
  assert.deepEqual(await summary('nobody/436+own'), [['#nobody/436+own', 7]]);
  assert.deepEqual(await summary('daemon/436+own'), [['#daemon/436+own', 9]]);
  assert.match(runsOf(await findJobs(store, '436+own')), /daemon\/436\+own \(.*nobody\/436\+own \(/);

  const listed = await listStored(store);
  assert.deepEqual(listed.map(({ path: p, user, nodes }) => `${p.slice(p.indexOf('#'))} ${user} ${nodes}`).sort(), [
    '#daemon/436 daemon 1',
    '#daemon/436+own daemon 1',
    '#nobody/436+own nobody 1',
  ]);
  const imported = tacho(['import', 'victoria', server.url, '--output', path.join(folder, 'imported')]);
  assert.equal(imported.code, 0, imported.err);
  assert.deepEqual(fs.readdirSync(path.join(folder, 'imported')).sort(), [
    'tacho-436@daemon',
    'tacho-436@daemon+own',
    'tacho-436@nobody+own',
  ]);
  const [daemon] = summarise([openRecording(path.join(folder, 'imported/tacho-436@daemon'))]);
  assert.equal(daemon!.nodes[0]!.tables.get('load')!.series[0]!.columns.load1!.max, 1);
});
