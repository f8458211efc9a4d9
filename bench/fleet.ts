import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../src/base/fault.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { type HubFigures, type HubLoad, measureHub, startHubProcess } from './fleet/hub.ts';
import { measureShortJob } from './fleet/short-job.ts';
import { measureKafka, measureVictoria, type StoreFigures } from './fleet/stores.ts';
import { type Recorded, startRecorder, VALUES } from './fleet/ticks.ts';
import type { Row } from './row.ts';

/** Nodes whose cost is measured: the simulated ones need a core of their own, too. */
const NODES = Number(process.env.FLEET_NODES ?? 1000);
const SECONDS = Number(process.env.FLEET_SECONDS ?? 20);
const STORE_NODES = 100;
/** What a hub with a store costs when it has run for a while. */
const STORE_WARM_SECONDS = 60;
const JOB_SECONDS = 30;
/** What the simulated agents replay. */
const RECORD_SECONDS = 15;
/** Other work on the machine below which it is worth asking how many nodes it holds at once. */
const QUIET_LOAD = 0.7;
const LDMS = 'LDMS';

interface Batching {
  name: string;
  args: string[];
  /** What must hold. */
  nodes: string;
  wire: string;
}

const BATCHING: readonly Batching[] = [
  { name: 'each tick at once', args: ['--batch', '0s', '--busy-batch', '0s'], nodes: '≥ 3000', wire: '≤ 1500' },
  { name: 'batches of 10 s, as of a busy hub', args: ['--batch', '10s'], nodes: '≥ 12000', wire: '≤ 350' },
];

/** Simulated nodes against one hub, one VictoriaMetrics, one Kafka; they send what this machine really had. */
export async function bench(): Promise<Row[]> {
  needFiles(NODES);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-fleet-'));
  const quiet = os.loadavg()[0]! < QUIET_LOAD;
  const recorder = await startRecorder(folder);
  try {
    const begun = Date.now();
    await pause(RECORD_SECONDS * 1000);
    const recorded = recorder.read();
    const load = os.loadavg()[0]!;
    const rows: Row[] = [];
    for (const how of BATCHING) {
      const figures = await measureOne(folder, { nodes: NODES, args: how.args }, recorded);
      rows.push(...hubRows(figures, how, recorded, load));
    }
    if (quiet) rows.push(await held(folder, recorded));
    const hub = await startHubProcess(folder);
    try {
      const { first, arrived, samples } = await measureShortJob(folder, hub, JOB_SECONDS);
      const peer = `${LDMS}, as in the seed: 17–22 s`;
      rows.push(
        row(`first row of a ${JOB_SECONDS} s job after its start`, '≤ 1', first, 's', peer, 17),
        row(`… and in the hub's archive`, '', arrived, 's', '', Number.NaN),
        row(`samples of a ${JOB_SECONDS} s job`, `≥ ${JOB_SECONDS}`, samples, '', `${LDMS}: 8–13`, 13),
      );
    } finally {
      await hub.stop();
    }
    const stores = { nodes: STORE_NODES, seconds: SECONDS, warmSeconds: STORE_WARM_SECONDS };
    const { cpu, ticks } = await measureOne(folder, stores, recorded);
    const alone = cpu / ticks;
    rows.push(...storeRows('VictoriaMetrics', await measureVictoria(folder, stores, recorded), alone, 200));
    rows.push(...storeRows('Kafka', await measureKafka(folder, stores, recorded), alone, 300));
    const seconds = (Date.now() - begun) / 1000;
    rows.push(...sealedRows(await recorder.stop(), seconds, recorded));
    return rows;
  } finally {
    await recorder.stop().catch(() => {});
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function row(what: string, must: string, measured: number, unit: string, peer: string, peers: number): Row {
  return { what, must, measured, unit, peer, ratio: measured / peers };
}

interface Load extends Partial<HubLoad> {
  nodes: number;
  /** What the hub is told about batches. */
  args?: string[];
}

async function measureOne(
  folder: string,
  { nodes, seconds = SECONDS, warmSeconds = 0, args = [] }: Load,
  recorded: Recorded,
): Promise<HubFigures> {
  needFiles(nodes);
  const hub = await startHubProcess(folder, args);
  try {
    return await measureHub(hub, { nodes, seconds, warmSeconds }, recorded);
  } finally {
    await hub.stop();
    // what it started to seal with may still be ending
    fs.rmSync(hub.archive, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** A hub keeps a third of its descriptors for connections. */
function needFiles(nodes: number): void {
  const most = Number(/^Max open files +\d+ +(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'latin1'))?.[1]);
  if (most >= 3 * nodes + 300) return;
  throw new Fault(`${nodes} nodes need ${3 * nodes + 300} open files in the hub, and ${most} are allowed here`, {
    hint: `raise the limit (ulimit -Hn), or ask for at most FLEET_NODES=${Math.max(0, Math.floor((most - 300) / 3))}`,
  });
}

function hubRows(figures: HubFigures, how: Batching, { values }: Recorded, load: number): Row[] {
  const { ticks, cpu, memory, lost, wireBytes, rows, behind } = figures;
  const under = `${NODES} nodes, load ${load.toFixed(1)}`;
  const documented = `${LDMS}: 9000–9700`;
  const wire = `  wire: bytes a node and second, ${values} values`;
  return [
    row(`hub, ${how.name}: nodes at 1 Hz a core (${under})`, how.nodes, ticks / cpu, '', documented, 9700),
    row(`  bytes lost of ${rows} rows`, '≤ 0', lost, 'B', '', Number.NaN),
    row('  batches that had to wait', '', behind, '', '', Number.NaN),
    row('  memory a node', '≤ 100', memory / 1000, 'kB', `${LDMS}: 54 kB`, 54),
    row(wire, how.wire, wireBytes / ticks, 'B', `${LDMS}: 3176 B`, 3176),
  ];
}

/** The most nodes that hub and simulated agents on this one machine held without a tick that had to wait. */
async function held(folder: string, recorded: Recorded): Promise<Row> {
  let most = 0;
  for (const nodes of [1500, 2000, 2500, 3000, 4000]) {
    const { behind, lost } = await measureOne(folder, { nodes, seconds: 10 }, recorded);
    if (lost !== 0 || behind > nodes / 100) break;
    most = nodes;
  }
  return row('hub: nodes held at once, simulated on the same machine', '', most, '', '', Number.NaN);
}

/** `alone`: CPU seconds of a hub without a store, per node and second. */
function storeRows(name: string, figures: StoreFigures | string, alone: number, must: number): Row[] {
  if (typeof figures === 'string') {
    process.stderr.write(`  left out: ${name}: ${figures}\n`);
    return [];
  }
  const { cpu, hubCpu, missing } = figures;
  return [
    row(`${name}: CPU a node and second (${STORE_NODES} nodes)`, '', cpu * 1e6, 'µs', '', Number.NaN),
    row(
      '  the hub that sends to it, more than',
      `≤ ${must}`,
      (hubCpu - alone) * 1e6,
      'µs',
      `alone ${(alone * 1e6).toFixed(0)} µs`,
      alone * 1e6,
    ),
    row('  rows missing', '≤ 0', missing, '', '', Number.NaN),
  ];
}

/**
 * Real tables of this machine, recorded while it ran all this, sealed; for as many values as the others. A recording has
 * names, statistics and an index once, however long it is: the second half of it says what a second costs.
 */
function sealedRows(recording: string, seconds: number, { values }: Recorded): Row[] {
  const half = `${recording}-half`;
  fs.cpSync(recording, half, { recursive: true });
  for (const name of fs.globSync('node=*/*.csv', { cwd: half })) {
    const file = path.join(half, name);
    const lines = fs.readFileSync(file, 'latin1').split('\n');
    fs.writeFileSync(file, `${lines.slice(0, Math.ceil(lines.length / 2)).join('\n')}\n`, 'latin1');
  }
  const [whole, halfBytes] = [sealedBytes(recording), sealedBytes(half)];
  const second = ((whole - halfBytes) / (seconds / 2)) * (VALUES / values);
  const what = `archive: bytes a node and further second, sealed (of ${Math.round(seconds)} s)`;
  return [
    row(what, '≤ 300', second, 'B', `${LDMS} CSV: 1380 B`, 1380),
    row('  once a recording and node', '', (2 * halfBytes - whole) / 1000, 'kB', '', Number.NaN),
  ];
}

function sealedBytes(recording: string): number {
  sealRecording(openRecording(recording));
  return fs
    .globSync('node=*/*', { cwd: recording })
    .reduce((sum, file) => sum + fs.statSync(path.join(recording, file)).size, 0);
}
