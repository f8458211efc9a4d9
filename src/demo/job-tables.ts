import { cgroupTable } from '../sources/cgroup/table.ts';
import { gpuProcessTable } from '../sources/gpu/process.ts';
import { powerTable } from '../sources/host/power.ts';
import { processTable } from '../sources/process/table.ts';
import type { Card } from './cards.ts';
import { add, type Filler, growing } from './host-tables.ts';
import { type Machine, NODE } from './machine.ts';
import { type Noise, noise } from './noise.ts';
import { pick } from './pick.ts';

const PAGE = 4096;
export const USER = { name: 'ada', uid: 20417 };
export const COMMAND = ['python3', 'train.py', '--config', 'mixture-70b.yaml', '--resume', 'auto'];

/** An older agent counted no calls, and read no limits. */
const UNKNOWN = /_calls$|_limit_/;
const SAMPLED = processTable.columns.map(({ name }) => name).filter((name) => !UNKNOWN.test(name));

/** Node and CPU as Cray's pm_counters show them: 4 values a tick. */
export function powerFiller(
  machine: Machine,
  cards: readonly Card[],
  seed: number,
  node: number,
  interval: number,
): Filler {
  const n = noise(seed, 'power', node);
  const energy = [n, n].map(() => Math.floor(n.uniform() * 1e12));
  const meter = 'pm_counters';
  return {
    table: pick(powerTable, ['meter', 'within', 'energy_mj', 'power_watts']),
    fill(frame) {
      const processors = Math.round(190 + machine.cores * 6.2 + n.normal() * 9);
      const memory = Math.round(74 + machine.cores * 0.8 + n.normal() * 2);
      let total = processors + memory + 420 + n.normal() * 11;
      for (const card of cards) total += card.power * 1.04;
      const watts = [Math.round(total), processors];
      watts.forEach((value, i) => {
        energy[i]! += Math.round(value * 1e3 * interval * (1 + n.normal() * 0.002));
      });
      add(frame, ['node', meter, ''], [energy[0]!, watts[0]!]);
      add(frame, ['cpu', meter, 'node'], [energy[1]!, watts[1]!]);
    },
  };
}

/** The job as a whole, as the kernel counts it: 8 values a tick. */
export function cgroupFiller(machine: Machine, seed: number, node: number, interval: number): Filler {
  const n = noise(seed, 'cgroup', node);
  const total = { usage: 0, read: 0, written: 0 };
  return {
    table: pick(
      cgroupTable,
      ['usage_us', 'memory_current_bytes', 'memory_anon_bytes', 'memory_file_bytes'],
      ['io_read_bytes', 'io_written_bytes', 'swap_current_bytes', 'oom_kills'],
    ),
    fill(frame) {
      total.usage += Math.round(machine.cores * 0.985 * interval * 1e6 * (1 + n.normal() * 0.01));
      total.read += machine.read;
      total.written += machine.written;
      const anon = machine.anon - 1_300_000 * 1024;
      const file = Math.min(machine.cache, Math.floor((NODE.memoryLimit - anon - 3e9) / PAGE) * PAGE);
      const kernel = Math.round(640_000 + n.normal() * 40) * PAGE;
      add(frame, ['.'], [total.usage, anon + file + kernel, anon, file, total.read, total.written, 0, 0]);
    },
  };
}

/** A process that runs as long as the job. */
export interface Process {
  pid: number;
  /** When the kernel started it, epoch microseconds. */
  birth: number;
  name: string;
  command: string;
  parent: number;
  threads: number;
  /** Its share of the cores in use, and of the memory of programs. */
  cores: number;
  memory: number;
  /** The card it works on; undefined: none. */
  card: number | undefined;
  /** The card of its rank: of a loader that of its trainer. */
  rank: number | undefined;
  /** CPUs that it is bound to. */
  bound: string;
  leaks: boolean;
  user: number;
  system: number;
  peak: number;
  minor: (mean: number) => number;
  read: (mean: number) => number;
  written: (mean: number) => number;
  switches: (mean: number) => number;
  preempted: (mean: number) => number;
  wait: (mean: number) => number;
}

/** The processes of a node, what samples them, and what they used from the last sample to the end of the job. */
export interface NodeProcesses {
  members: readonly Process[];
  fillers: Filler[];
  finish(second: number): void;
}

/** The processes of the job on one node: a trainer for each card in use, and a loader of data for each trainer. */
export function nodeProcesses(
  machine: Machine,
  cards: readonly Card[],
  options: { seed: number; node: number; leak: boolean; start: number; every: number; bound: boolean },
): NodeProcesses {
  const n = noise(options.seed, 'process', options.node);
  const root = 40_000 + Math.floor(n.uniform() * 20_000);
  const used = cards.map((_, gpu) => gpu).filter((gpu) => !cards[gpu]!.idle);
  const share = 1 / used.length;
  const command = COMMAND.join(' ');
  const birth = (pid: number): number => options.start + Math.round((pid - root) / 10) * 10_000;
  const each = Math.max(1, Math.floor(NODE.allowedCpus / Math.max(1, cards.length)));
  const all = [
    make(n, {
      pid: root,
      birth: birth(root),
      bound: `0-${NODE.allowedCpus - 1}`,
      name: 'slurm_script',
      command: 'bash ./train.sbatch',
      cores: 0.0001,
      memory: 0.00002,
      threads: 1,
    }),
    ...used.map((card) =>
      make(n, {
        pid: root + 20 + card,
        birth: birth(root + 20 + card),
        bound: `${card * each}-${card * each + each - 1}`,
        rank: card,
        parent: root,
        name: 'python3',
        command,
        cores: 0.46 * share,
        memory: 0.55 * share,
        threads: 61,
        card,
      }),
    ),
    ...used.map((card, i) =>
      make(n, {
        pid: root + 400 + card,
        birth: birth(root + 400 + card),
        bound: `${card * each}-${card * each + each - 1}`,
        rank: card,
        parent: root + 20 + card,
        name: 'pt_data_worker',
        command,
        cores: 0.53 * share,
        memory: 0.44 * share,
        // a thread has one CPU
        threads: Math.max(9, Math.ceil(0.53 * share * NODE.allowedCpus)),
        leaks: options.leak && i === 0,
      }),
    ),
  ];
  let sampled = 0;
  const fillers: Filler[] = [
    {
      table: pick(processTable, SAMPLED),
      fill(frame, second) {
        const seconds = second === 0 ? 0 : options.every;
        sampled = second;
        for (const process of all) {
          const texts = [
            String(process.pid),
            String(process.birth / 1000),
            process.name,
            process.command,
            USER.name,
            process.cores > 0.01 ? 'R' : 'S',
            options.bound ? process.bound : '',
          ];
          add(frame, texts, live(process, machine, seconds, second, n, options.leak));
        }
      },
    },
    {
      table: pick(gpuProcessTable, ['memory_bytes', 'percent', 'type']),
      fill(frame) {
        for (const process of all) {
          if (process.card === undefined) continue;
          const card = cards[process.card]!;
          add(frame, [String(process.card), String(process.pid), 'compute'], [card.used - 297_795_584, card.busy]);
        }
      },
    },
  ];
  const finish = (second: number): void => {
    for (const process of all) live(process, machine, second - sampled, second, n, options.leak);
  };
  return { members: all, fillers, finish };
}

function make(
  n: Noise,
  facts: Partial<Process> &
    Pick<Process, 'pid' | 'birth' | 'bound' | 'name' | 'command' | 'cores' | 'memory' | 'threads'>,
): Process {
  return {
    parent: 1,
    card: undefined,
    rank: undefined,
    leaks: false,
    user: 0,
    system: 0,
    peak: 0,
    minor: growing(n, 0.2, 2000),
    read: growing(n, 0.2, 0),
    written: growing(n, 0.2, 0),
    switches: growing(n, 0.2, 0),
    preempted: growing(n, 0.3, 0),
    wait: growing(n, 0.3, 0),
    ...facts,
  };
}

/** The numbers of a process in the order of its table. */
function live(
  process: Process,
  machine: Machine,
  seconds: number,
  second: number,
  n: Noise,
  leaking: boolean,
): number[] {
  const cores = process.cores * machine.cores;
  const hundredths = (value: number): number => Math.max(0, Math.round(value * 100 * (1 + n.normal() * 0.02))) * 10;
  process.user += hundredths(cores * 0.92 * seconds);
  process.system += hundredths(cores * 0.07 * seconds);
  const extra = process.leaks ? machine.leaked : 0;
  const shared = leaking ? machine.anon - machine.leaked : machine.anon;
  const anon = Math.round((shared * process.memory + extra) / PAGE + n.normal() * 50) * PAGE;
  const file = Math.round((process.threads * 4e6) / PAGE) * PAGE;
  const rss = anon + file;
  process.peak = Math.max(process.peak, rss);
  const loads = process.name === 'pt_data_worker' ? process.memory / 0.44 : 0;
  const saves = process.card === undefined ? 0 : process.memory / 0.55;
  const read = process.read((loads * machine.read * seconds) / machine.seconds);
  const written = process.written((saves * machine.written * seconds) / machine.seconds);
  return [
    process.parent,
    USER.uid,
    process.threads,
    process.user,
    process.system,
    // none of them waits for a child
    0,
    0,
    rss,
    anon,
    file,
    0,
    process.peak,
    rss * 2 + process.threads * 8_388_608,
    0,
    process.minor(cores * (second < 100 ? 21_000 : 1300) * seconds),
    12,
    read,
    written,
    Math.round(read * 1.31),
    Math.round(written * 1.01),
    process.switches(cores * 310 * seconds),
    process.preempted(cores * 4 * seconds),
    process.wait(cores * 2 * seconds),
    Math.floor(n.uniform() * 64),
  ];
}
