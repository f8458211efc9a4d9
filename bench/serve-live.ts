import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderCollection } from '../src/serve/collections/folders.ts';
import { makeServer } from '../src/serve/server.ts';
import { loadavgTable } from '../src/sources/tables.ts';
import type { Row } from './row.ts';

const NODES = 100;
const SECONDS = 15;
const TOKEN = 'of-the-bench';

/** 100 nodes write a sample a second: how long after it was taken the chart that a browser asks for has it. */
export async function liveRow(folder: string): Promise<Row> {
  const job = path.join(folder, 'tacho-3');
  const start = Math.floor(Date.now() / 1000) * 1e6;
  const names = Array.from({ length: NODES }, (_, n) => `c${n + 1}`);
  fs.mkdirSync(job, { recursive: true });
  const facts = {
    ...{ format: 1, tacho: '0.1.0', id: '3', scheduler: 'slurm', name: 'live', user: 'ada', uid: 1000, asked: {} },
    ...{ nodes: names, interval_seconds: 1, start, state: 'running', tags: {}, environment: {} },
  };
  fs.writeFileSync(path.join(job, 'job.json'), JSON.stringify(facts));
  const header = ['time', ...loadavgTable.columns.map(({ name }) => name)];
  for (const name of names) {
    const node = path.join(job, `node=${name}`);
    fs.mkdirSync(node);
    const agent = {
      ...{ format: 1, tacho: '0.1.0', node: name, pid: 1, interval_seconds: 1, start, scope: { members: 'cgroup' } },
      facts: { hostname: name, kernel: '6.1', architecture: 'x64', cpus: 64, memory_bytes: 2 ** 38, gpus: [] },
      ...{ tables: [loadavgTable], unmeasured: [], ticks: 0, late_ticks: 0, missed_ticks: 0 },
      cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: 0 },
    };
    fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
    fs.writeFileSync(path.join(node, 'loadavg.csv'), `${header.join(',')}\n`);
  }
  const sample = (): number => {
    const time = Date.now() * 1000;
    const line = `${time},${loadavgTable.columns.map(() => '1').join(',')}\n`;
    for (const name of names) fs.appendFileSync(path.join(job, `node=${name}`, 'loadavg.csv'), line);
    return time;
  };
  sample();
  const { app } = await makeServer({ collection: new FolderCollection([folder]), token: TOKEN, page: folder });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { jobs } = (await (await fetch(`${address}/api/jobs`, { headers })).json()) as { jobs: { id: string }[] };
  const chart = `${address}/api/jobs/${jobs[0]!.id}/charts/loadavg.load1?as=band`;
  const delays: number[] = [];
  let taken = 0;
  const seenTicks = new Set<number>();
  const request = http.get(`${address}/api/jobs/${jobs[0]!.id}/live`, { headers }, (response) => {
    response.setEncoding('utf8').on('data', async (text: string) => {
      const last = Number(/"last":(\d+)/.exec(text)?.[1] ?? 0);
      if (last < taken || taken === 0 || seenTicks.has(taken)) return;
      seenTicks.add(taken);
      const from = taken;
      // what the page does then
      await (await fetch(chart, { headers })).json();
      delays.push((Date.now() * 1000 - from) / 1e6);
    });
  });
  request.on('error', () => {});
  for (let i = 0; i < SECONDS; i++) {
    await sleep(1000);
    taken = sample();
  }
  await sleep(3000);
  request.destroy();
  await app.close();
  if (delays.length < SECONDS / 3) throw new Error(`of ${SECONDS} samples ${delays.length} were told of`);
  return {
    ...{ what: `live: sample to chart, ${NODES} nodes`, must: '≤ 2', measured: Math.max(...delays), unit: 's' },
    ...{ peer: 'a tick of 1 s', ratio: Number.NaN },
  };
}
