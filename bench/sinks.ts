import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { jobAsFiled } from '../src/hub/receive/names.ts';
import { FORMAT, type Job } from '../src/recording/folder/job.ts';
import { KafkaCollector } from '../src/sinks/kafka/body.ts';
import { openSession } from '../src/sinks/kafka/link.ts';
import { KafkaSink } from '../src/sinks/kafka/sink.ts';
import type { Sent } from '../src/sinks/rounds.ts';
import { archiveStreams, type Streams } from '../src/sinks/spool/streams.ts';
import { ImportBody } from '../src/sinks/victoria/body.ts';
import { VictoriaSink } from '../src/sinks/victoria/sink.ts';
import { VictoriaStream } from '../src/sinks/victoria/stream.ts';
import { startBroker, whyNoKafka } from '../test/kafka/broker.ts';
import { startVictoria, whyNoVictoria } from '../test/victoria/server.ts';
import { type Recorded, startRecorder } from './fleet/ticks.ts';
import type { Row } from './row.ts';

const NODES = Number(process.env.SINK_NODES ?? 100);
const ROUNDS = 9;
/** Seconds of samples before those that count: V8 compiles what is used much. */
const WARM_SECONDS = 60;
const RECORD_SECONDS = 12;
/** Seconds of samples in a round: VictoriaMetrics is sent to each ten seconds, Kafka each second. */
const VICTORIA_SECONDS = 10;

export interface SinkBenchOptions {
  stores?: ('victoria' | 'kafka')[];
}

/** What it costs a hub to send samples on: the CPU time of the sink alone, all its threads, beside that of sending ready bytes. */
export async function bench({ stores = ['victoria', 'kafka'] }: SinkBenchOptions = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-sinks-'));
  const recorder = await startRecorder(folder);
  try {
    await pause(RECORD_SECONDS * 1000);
    const recorded = recorder.read();
    await recorder.stop();
    return [
      ...(stores.includes('victoria') ? await victoriaRows(folder, recorded) : []),
      ...(stores.includes('kafka') ? await kafkaRows(folder, recorded) : []),
    ];
  } finally {
    await recorder.stop().catch(() => {});
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function victoriaRows(folder: string, recorded: Recorded): Promise<Row[]> {
  if (whyNoVictoria() !== false) return [];
  const server = await startVictoria();
  const archive = new Archive(path.join(folder, 'victoria'), recorded);
  const sink = new VictoriaSink({ url: server.url, spool: archive.folder, streams: archive.streams });
  try {
    archive.append(VICTORIA_SECONDS);
    const lines = new ImportBody();
    for (const state of archive.streams.list())
      new VictoriaStream(state, {}, () => undefined).collect(lines, Number.POSITIVE_INFINITY);
    const body = gzipSync(lines.take(), { level: 1 });
    const ready = { method: 'POST', headers: { 'Content-Encoding': 'gzip' }, body };
    const sent = await inTurn(
      archive,
      VICTORIA_SECONDS,
      () => all(sink),
      async () => (await fetch(`${server.url}/api/v1/import`, ready)).arrayBuffer(),
    );
    return [rowOf('VictoriaMetrics', '≤ 200', VICTORIA_SECONDS, recorded, sent)];
  } finally {
    await sink.close(1);
    await server.remove();
  }
}

async function kafkaRows(folder: string, recorded: Recorded): Promise<Row[]> {
  if (whyNoKafka() !== false) return [];
  const broker = await startBroker();
  const archive = new Archive(path.join(folder, 'kafka'), recorded);
  const sink = new KafkaSink({ brokers: [broker.address], folder: archive.folder, streams: archive.streams });
  const session = await openSession({ brokers: [broker.address] }, 'bench', 'tacho.tables');
  try {
    const positions = { position: () => undefined, forget: () => {} };
    const naming = { prefix: 'ready', byUser: false };
    archive.append(1);
    const { batches, topics } = new KafkaCollector(archive.folder, naming, positions, archive.streams).collect(
      archive.streams.list(),
      true,
    );
    await session.ensureTopics([...topics.values()]);
    let number = 0;
    const sent = await inTurn(
      archive,
      1,
      () => all(sink),
      () => session.commit(++number, batches),
    );
    return [rowOf('Kafka', '≤ 300', 1, recorded, sent)];
  } finally {
    await session.close();
    await sink.close(1);
    await broker.remove();
  }
}

function rowOf(name: string, must: string, seconds: number, { values }: Recorded, { ours, floor }: Costs): Row {
  const each = (cost: number): number => cost / (NODES * seconds);
  const what = `hub: CPU of sending a node-second (${values} values) to ${name}, ${NODES} nodes, ${seconds} s a round`;
  const peer = `the same, ready to be sent: ${each(floor).toFixed(0)}`;
  return { what, must, measured: each(ours), unit: 'µs', peer, ratio: ours / floor };
}

/** Microseconds of CPU time: medians of a round. */
interface Costs {
  ours: number;
  floor: number;
}

async function inTurn(
  archive: Archive,
  seconds: number,
  send: () => Promise<void>,
  ready: () => Promise<unknown>,
): Promise<Costs> {
  const costs = { ours: [] as number[], floor: [] as number[] };
  const warm = WARM_SECONDS / seconds;
  for (let round = 0; round < warm + ROUNDS; round++) {
    archive.append(seconds);
    const ours = await cpuOf(send);
    const floor = await cpuOf(ready);
    if (round < warm) continue;
    costs.ours.push(ours);
    costs.floor.push(floor);
  }
  return { ours: median(costs.ours), floor: median(costs.floor) };
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function all(sink: { send(ending: boolean): Promise<Sent> }): Promise<void> {
  while ((await sink.send(false)).more === true);
}

/** What a hub has filed of a job of many nodes, and goes on filing. */
class Archive {
  readonly folder: string;
  readonly streams: Streams;
  private readonly recorded: Recorded;
  private readonly nodes: string[];
  private ticks = 0;
  private readonly begun = Date.now() * 1000 - 3600e6;
  private written = performance.now();

  constructor(folder: string, recorded: Recorded) {
    this.folder = folder;
    this.recorded = recorded;
    const job = path.join(folder, 'user=ada', 'job=4711');
    fs.mkdirSync(job, { recursive: true });
    const names = Array.from({ length: NODES }, (_, i) => `n${i}`);
    this.nodes = names.map((name) => path.join(job, `node=${name}`));
    for (const [i, node] of this.nodes.entries()) {
      fs.mkdirSync(node);
      const agent = { ...recorded.agent, node: names[i], start: this.begun, pid: 1 };
      fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
      for (const { name, header } of recorded.tables) fs.writeFileSync(path.join(node, `${name}.csv`), `${header}\n`);
    }
    fs.writeFileSync(path.join(job, 'job.json'), JSON.stringify(jobOf(names, this.begun)));
    this.streams = archiveStreams(folder, jobAsFiled, undefined, () => this.written);
  }

  /** So many seconds of every node. */
  append(seconds: number): void {
    for (const node of this.nodes) {
      for (const { name, ticks } of this.recorded.tables) {
        let text = '';
        for (let s = 0; s < seconds; s++) {
          const time = this.begun + (this.ticks + s) * 1e6;
          for (const cells of ticks[(this.ticks + s) % this.recorded.ticks]!) text += `${time}${cells}\n`;
        }
        fs.appendFileSync(path.join(node, `${name}.csv`), text);
      }
    }
    this.ticks += seconds;
    this.written = performance.now();
  }
}

const jobOf = (nodes: string[], start: number): Job => ({
  format: FORMAT,
  tacho: '0',
  id: '4711',
  name: 'train',
  user: 'ada',
  uid: 1000,
  scheduler: 'slurm',
  state: 'running',
  command: [],
  directory: '',
  start,
  nodes,
  interval_seconds: 1,
  asked: {},
  environment: {},
  tags: {},
});
