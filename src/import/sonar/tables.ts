import type { Batch } from '../../recording/read/batch.ts';
import { TableRows } from '../../recording/read/table-rows.ts';
import { cpuTable, gpuTable, loadavgTable, meminfoTable, processTable } from '../../sources/tables.ts';
import { defineTable, gauge, type Table } from '../../table/table.ts';
import type { SonarStream } from './jobs.ts';
import type { SonarNode, SonarSample } from './sample.ts';

const KIB = 1024;
/** Above what kernels number processes by: what stands for several has none of their numbers. */
const FIRST_MADE_UP_PID = 2 ** 22;

/** The sums that Sonar’s own figures of a job are means and maxima of. */
const sonarTable = defineTable({
  name: 'sonar',
  help: 'What all processes of the job used on the node, as Sonar sampled it.',
  scope: 'job',
  keys: [],
  columns: [
    gauge('processes', 'count', 'Processes.'),
    gauge(
      'cpu_percent',
      'percent',
      'CPU use since the sample before, 100 is a CPU; of a process that is new, and until Sonar 0.6, its mean since it started.',
      'float',
      3,
    ),
    gauge('virtual_bytes', 'bytes', 'Address space for data and stacks.'),
    gauge('resident_bytes', 'bytes', 'Memory in RAM that is the programs’ data.'),
    gauge('gpu_percent', 'percent', 'GPU use, 100 is a card.', 'float', 3),
    gauge('gpu_memory_percent', 'percent', 'Use of GPU memory, 100 is that of a card.', 'float', 3),
    gauge('gpu_memory_bytes', 'bytes', 'GPU memory.'),
  ],
});

type ColumnName<T extends Table> = T['columns'][number]['name'];

/** Samples of a column in the making. */
class Columns<T extends Table> {
  private readonly all = new Map<
    string,
    { keys: Record<string, string>; column: string; times: number[]; values: number[] }
  >();
  private readonly rows: TableRows;

  constructor(table: T) {
    this.rows = new TableRows(table);
  }

  add(keys: Record<string, string>, column: ColumnName<T>, time: number, value: number | undefined): void {
    if (value === undefined || Number.isNaN(value)) return;
    const id = `${column} ${Object.values(keys).join(' ')}`;
    let own = this.all.get(id);
    if (own === undefined) {
      own = { keys, column, times: [], values: [] };
      this.all.set(id, own);
    }
    own.times.push(time / 1000);
    own.values.push(value);
  }

  say(keys: Record<string, string>, time: number, texts: Record<string, string>): void {
    this.rows.say(keys, { time: time / 1000, texts });
  }

  batches(): Batch[] {
    for (const { keys, column, times, values } of this.all.values())
      this.rows.add(keys, column, { times: Float64Array.from(times), values: Float64Array.from(values) });
    return this.rows.isEmpty || this.all.size === 0 ? [] : [this.rows.batch()];
  }
}

/** Tables of a job on one of its nodes. */
export function jobTables(streams: readonly SonarStream[]): Batch[] {
  const processes = new Columns(processTable);
  const gpus = new Columns(gpuTable);
  const sums = new Columns(sonarTable);
  const times = [...new Set(streams.flatMap((stream) => stream.times))].sort((a, b) => a - b);
  const totals = new Map(times.map((time) => [time, emptySums()]));
  const cards = new Set(streams.flatMap(({ points }) => points.flatMap((point) => point.gpus.map(({ gpu }) => gpu))));
  const used = new Map<string, { percent: number; bytes: number }>();
  streams.forEach((stream, i) => {
    const keys = {
      pid: String(stream.pid === 0 ? FIRST_MADE_UP_PID + i : stream.pid),
      start: String(Math.round(stream.start / 1000)),
    };
    processes.say(keys, stream.times[0]!, { name: stream.command, command: stream.command, user: stream.user });
    stream.points.forEach((point, at) => {
      const time = stream.times[at]!;
      const add = (column: keyof typeof processTable.col, value: number | undefined): void =>
        processes.add(keys, column, time, value);
      add('ppid', point.ppid);
      add('threads', point.threads);
      add('user_ms', stream.cpu === undefined ? undefined : Math.round(stream.cpu[at]! * 1000));
      add('rss_bytes', scaled(point.resident_kib));
      add('rss_anon_bytes', scaled(point.resident_kib));
      add('virtual_bytes', scaled(point.virtual_kib));
      add('read_bytes', scaled(point.read_kib));
      add('written_bytes', scaled(point.written_kib));
      const total = totals.get(time)!;
      total.processes += 1 + point.rolled;
      total.cpu_percent += rateAt(stream, at);
      total.virtual_bytes += point.virtual_kib === undefined ? 0 : point.virtual_kib * KIB;
      if (point.resident_kib !== undefined)
        total.resident_bytes = (total.resident_bytes ?? 0) + point.resident_kib * KIB;
      for (const use of point.gpus) {
        total.gpu_percent += use.percent;
        total.gpu_memory_percent += use.memory_percent;
        total.gpu_memory_bytes += use.memory_kib * KIB;
        const key = `${time} ${use.gpu}`;
        const cardUse = used.get(key);
        used.set(key, {
          percent: (cardUse?.percent ?? 0) + use.percent,
          bytes: (cardUse?.bytes ?? 0) + use.memory_kib * KIB,
        });
      }
    });
  });
  for (const time of times) {
    const total = totals.get(time)!;
    for (const [name, value] of Object.entries(total) as [keyof typeof total, number | undefined][]) {
      if (name.startsWith('gpu') && cards.size === 0) continue;
      sums.add({}, name, time, value);
    }
    // a card that it has used at some time is its own all the time
    for (const gpu of cards) {
      const use = used.get(`${time} ${gpu}`) ?? { percent: 0, bytes: 0 };
      gpus.add({ gpu }, 'utilization_percent', time, Math.min(100, use.percent));
      gpus.add({ gpu }, 'memory_used_bytes', time, Math.round(use.bytes));
    }
  }
  for (const gpu of cards) gpus.say({ gpu }, times[0]!, { mine: 'yes' });
  return [...processes.batches(), ...gpus.batches(), ...sums.batches()];
}

const emptySums = () => ({
  processes: 0,
  cpu_percent: 0,
  virtual_bytes: 0,
  resident_bytes: undefined as number | undefined,
  gpu_percent: 0,
  gpu_memory_percent: 0,
  gpu_memory_bytes: 0,
});

const scaled = (kib: number | undefined): number | undefined => (kib === undefined ? undefined : Math.round(kib * KIB));

/** CPU use in percent since the sample before, from the CPU time. */
function rateAt({ times, points, cpu }: SonarStream, at: number): number {
  const point = points[at]!;
  if (at === 0 || point.cpu_seconds === undefined) return point.cpu_percent ?? 0;
  return (100 * (cpu![at]! - cpu![at - 1]!)) / ((times[at]! - times[at - 1]!) / 1e6);
}

/** Tables of a node. `busy`: CPU seconds of all processes so far at each sample, where the node does not say its own. */
export function nodeTables(
  samples: readonly SonarSample[],
  busy: ReadonlyMap<number, number>,
  node?: SonarNode,
): Batch[] {
  const [cpus, memory] = [new Columns(cpuTable), new Columns(meminfoTable)];
  const [load, gpus] = [new Columns(loadavgTable), new Columns(gpuTable)];
  const isOwn = samples.every(({ cpu_seconds }) => cpu_seconds !== undefined);
  for (const sample of samples) {
    const { time } = sample;
    const all = isOwn ? sample.cpu_seconds!.reduce((a, b) => a + b, 0) : busy.get(time);
    cpus.add({ cpu: 'all' }, 'busy_ms', time, all === undefined ? undefined : Math.round(all * 1000));
    if (isOwn)
      for (const [cpu, seconds] of sample.cpu_seconds!.entries())
        cpus.add({ cpu: String(cpu) }, 'busy_ms', time, seconds * 1000);
    const total = sample.memory_kib ?? node?.memory_kib;
    if (total !== undefined && sample.used_memory_kib !== undefined) {
      memory.add({}, 'MemTotal_bytes', time, total * KIB);
      memory.add({}, 'MemAvailable_bytes', time, Math.max(0, total - sample.used_memory_kib) * KIB);
    }
    for (const [i, name] of (['load1', 'load5', 'load15'] as const).entries())
      load.add({}, name, time, sample.load?.[i]);
    load.add({}, 'runnable', time, sample.runnable);
    load.add({}, 'threads', time, sample.threads);
    addCards(gpus, sample, node);
  }
  return [...cpus.batches(), ...memory.batches(), ...load.batches(), ...gpus.batches()];
}

function addCards(gpus: Columns<typeof gpuTable>, sample: SonarSample, node: SonarNode | undefined): void {
  const { time, cards, processes, failing } = sample;
  if (cards.length > 0) {
    for (const { gpu, ...card } of cards) {
      const add = (column: keyof typeof gpuTable.col, value: number | undefined): void =>
        gpus.add({ gpu }, column, time, value);
      add('utilization_percent', card.percent);
      add('memory_busy_percent', card.memory_percent);
      add('memory_used_bytes', scaled(card.memory_kib));
      add('memory_total_bytes', scaled(node?.cards.find((one) => one.gpu === gpu)?.memory_kib));
      add('temperature_celsius', card.temperature);
      add('power_watts', card.power);
      add('power_limit_watts', card.power_limit);
      add('clock_mhz', card.clock);
      add('memory_clock_mhz', card.memory_clock);
      add('fan_percent', card.fan);
    }
    return;
  }
  // what processes used of them is all that is known
  const used = new Map(node?.cards.map(({ gpu }) => [gpu, { percent: 0, bytes: 0 }]) ?? []);
  if (failing && used.size === 0) used.set('0', { percent: 0, bytes: 0 });
  for (const use of processes.flatMap((process) => process.gpus)) {
    const cardUse = used.get(use.gpu) ?? { percent: 0, bytes: 0 };
    used.set(use.gpu, { percent: cardUse.percent + use.percent, bytes: cardUse.bytes + use.memory_kib * KIB });
  }
  for (const [gpu, { percent, bytes }] of used) {
    gpus.add({ gpu }, 'utilization_percent', time, Math.min(100, percent));
    gpus.add({ gpu }, 'memory_used_bytes', time, Math.round(bytes));
    gpus.add({ gpu }, 'memory_total_bytes', time, scaled(node?.cards.find((one) => one.gpu === gpu)?.memory_kib));
  }
}
