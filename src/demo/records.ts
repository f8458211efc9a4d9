import { processEndTable, processStartTable, threadEndTable } from '../sources/records/tables.ts';
import { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import { COMMAND, type Process, USER } from './job-tables.ts';
import { type Noise, noise } from './noise.ts';
import { pick } from './pick.ts';
import type { Story, Stretch } from './story.ts';

const COUNTED = [
  ...(['usertime', 'systemtime', 'rssmax', 'minflt', 'vol_ctxsw', 'invol_ctxsw', 'rchar', 'wchar'] as const),
  ...(['read_bytes', 'write_bytes', 'time_oncpu', 'time_waiting', 'starttime', 'processor', 'num_threads'] as const),
];
const WHO = ['ppid', 'pgid', 'sid', 'uid', 'rank', 'tags', 'directory', 'path', 'args', 'exename'] as const;

/** Processes and threads as they record themselves; the demo fills these columns. */
const RECORD_TABLES = {
  start: pick(processStartTable, [...WHO, 'began', 'step', 'world', 'ranks']),
  end: pick(
    processEndTable,
    [...WHO, 'ended', 'told_by', 'step', 'world', 'exitcode', 'exitsignal', 'numtids', 'threads_counted', 'ranks'],
    [...COUNTED],
  ),
  thread: pick(threadEndTable, ['thread_start', 'ended'], [...COUNTED]),
} satisfies Record<string, Table>;

type Counted = Record<(typeof COUNTED)[number], number>;

/** A process that records its start and its end. Times are epoch microseconds, CPU times microseconds. */
interface Recorded {
  pid: number;
  parent: number;
  birth: number;
  end: number;
  /** The card of its rank; undefined: it belongs to none. */
  card?: number | undefined;
  tags: string;
  path: string;
  args: string;
  counted: Counted;
  /** The part of its CPU time that each thread used, the first one first. */
  threads: readonly number[];
}

export interface RecordOptions {
  story: Story;
  seed: number;
  node: number;
  /** When the job began and when the node was booted. */
  start: number;
  boot: number;
  /** The rank of the first card of this node in use, and how many ranks there are in all. */
  firstRank: number;
  ranks: number;
}

/** From the birth of a process to its first instruction. */
const LOADING = 3000;

/** The records of a node, as frames of each table, in the order of time. */
export function recordFrames(members: readonly Process[], options: RecordOptions): Frame[] {
  const n = noise(options.seed, 'records', options.node);
  const [root] = members as [Process, ...Process[]];
  const all = [...members.map((one) => whole(one, n, options)), ...short(members, n, options)];
  const rankOf = ranksOf(members, options.firstRank);
  const frames = {
    start: new Frame(RECORD_TABLES.start),
    end: new Frame(RECORD_TABLES.end),
    thread: new Frame(RECORD_TABLES.thread),
  };
  const keysOf = ({ pid, birth }: Recorded) => ({ pid: String(pid), start: String(birth + LOADING) });
  const whoOf = (one: Recorded) => {
    const rank = one.card === undefined ? '' : rankOf(one.card);
    return {
      ...{ ppid: one.parent, pgid: root.pid, sid: root.pid, uid: USER.uid, rank, tags: one.tags },
      ...{ directory: `/scratch/${USER.name}/mixture`, path: one.path, args: one.args },
      exename: one.path.slice(one.path.lastIndexOf('/') + 1),
      step: one.card === undefined ? 'batch' : '0',
      world: '',
      ranks: one.card === undefined ? Number.NaN : options.ranks,
    };
  };
  for (const one of all.toSorted((a, b) => a.birth - b.birth))
    addNamed(frames.start, one.birth + LOADING, { ...keysOf(one), ...whoOf(one), began: 'exec' });
  for (const one of all.toSorted((a, b) => a.end - b.end)) {
    const [keys, image] = [keysOf(one), one.birth + LOADING];
    addNamed(frames.end, one.end, {
      ...{ ...keys, ...whoOf(one), ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0 },
      ...{ numtids: one.threads.length, threads_counted: 0 },
      ...one.counted,
    });
    for (const [i, share] of one.threads.entries()) {
      const isFirst = i === 0;
      addNamed(frames.thread, one.end - (isFirst ? 0 : 500 + i), {
        ...{ ...keys, tid: String(one.pid + i) },
        ...{ thread_start: image + (isFirst ? 0 : 20_000 + i * 900), ended: isFirst ? 'exit' : 'end' },
        ...partOf(one.counted, share),
        starttime: one.counted.starttime + (isFirst ? 0 : 2),
      });
    }
  }
  return Object.values(frames);
}

function ranksOf(members: readonly Process[], first: number): (card: number) => string {
  const cards = [...new Set(members.flatMap(({ rank: card }) => card ?? []))];
  return (card) => String(first + cards.indexOf(card));
}

/** One that runs as long as the job does, with what sampling saw of it in the end. */
function whole(process: Process, n: Noise, { story, start, boot }: RecordOptions): Recorded {
  const [program, ...args] = (
    process.card === undefined && process.name !== 'pt_data_worker' ? ['bash', './train.sbatch'] : COMMAND
  ) as [string, ...string[]];
  const oncpu = (process.user + process.system) * 1e6;
  const left = (0.4 + n.uniform() * 0.3) * Math.min(1, story.seconds / 60);
  const end = start + Math.round((story.seconds - left) * 1e6);
  return {
    pid: process.pid,
    parent: process.parent,
    birth: process.birth,
    end,
    card: process.rank,
    tags: process.name === 'pt_data_worker' ? 'op:input' : process.card === undefined ? '' : 'op:train',
    path: `/usr/bin/${program}`,
    args: args.join(' '),
    counted: {
      usertime: process.user * 1000,
      systemtime: process.system * 1000,
      rssmax: Math.round(process.peak / 1024),
      minflt: process.minor(0),
      vol_ctxsw: process.switches(0),
      invol_ctxsw: process.preempted(0),
      rchar: Math.round(process.read(0) * 1.31),
      wchar: Math.round(process.written(0) * 1.01),
      read_bytes: process.read(0),
      write_bytes: process.written(0),
      time_oncpu: oncpu,
      time_waiting: process.wait(0) * 1e6,
      starttime: Math.round((process.birth - boot) / 1e4),
      processor: Math.floor(n.uniform() * 64),
      num_threads: process.threads,
    },
    threads: sharesOf(process, oncpu / 1e3 / (end - process.birth)),
  };
}

/** A thread has one CPU; nobody keeps it busy all the time. */
const MOST_OF_A_CPU = 0.95;

/**
 * Who does the work: in a trainer the main thread and eight of autograd, in a loader four threads; more, where that is
 * not enough for the CPUs that the process used.
 */
function sharesOf({ threads, card }: Process, cpus: number): number[] {
  const busy = Math.min(threads, Math.max(card === undefined ? 4 : 9, Math.ceil(cpus / MOST_OF_A_CPU)));
  const rest = threads > busy ? 0.04 : 0;
  const work = 1 - rest;
  const first = busy === 1 ? work : Math.min(work * 0.36, MOST_OF_A_CPU / cpus);
  return Array.from({ length: threads }, (_, i) =>
    i >= busy ? rest / (threads - busy) : i === 0 ? first : (work - first) / (busy - 1),
  );
}

function partOf(counted: Counted, share: number): Counted {
  const scaled = (value: number): number => Math.round(value * share);
  const { rssmax, starttime, processor, num_threads, ...others } = counted;
  const scaledCounts = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, scaled(value)]));
  return { ...(scaledCounts as unknown as Counted), rssmax, starttime, processor, num_threads };
}

/** A short program: which, of what operation, how long it takes and how much of a CPU it uses. */
interface Task {
  tags: string;
  program: string;
  args: string;
  card?: number | undefined;
  parent: number;
  /** As parts of the phase that it runs in. */
  from: number;
  to: number;
  busy: number;
  megabytes: number;
}

/** Programs that live for a part of a phase: data is unpacked, checkpoints are packed and copied, models evaluated. */
function short(members: readonly Process[], n: Noise, { story, start, boot }: RecordOptions): Recorded[] {
  let pid = members[0]!.pid + 1000;
  return story.stretches.flatMap((stretch) => {
    const length = (stretch.end - stretch.start) * 1e6;
    return tasksOf(stretch, members).map((task): Recorded => {
      const from = task.from + n.uniform() * 0.04;
      const life = Math.max(2000, Math.round((task.to - task.from) * length * (1 + n.normal() * 0.06)));
      // the kernel tells births in ticks of 10 ms
      const birth = boot + Math.round((start + stretch.start * 1e6 + from * length - boot) / 1e4) * 1e4;
      const latest = start + Math.round(story.seconds * 1e6) - 1000;
      const end = Math.max(birth + 4000, Math.min(latest, birth + life));
      const user = Math.round((end - birth) * task.busy);
      const bytes = Math.round(task.megabytes * 1e6);
      return {
        pid: pid++,
        parent: task.parent,
        birth,
        end,
        card: task.card,
        tags: task.tags,
        path: `/usr/bin/${task.program}`,
        args: task.args,
        counted: {
          usertime: user,
          systemtime: Math.round(user * 0.2),
          rssmax: Math.round(9000 + n.uniform() * 40_000),
          minflt: 2100 + Math.floor(n.uniform() * 900),
          vol_ctxsw: Math.round(life / 9000),
          invol_ctxsw: Math.round(life / 90_000),
          rchar: bytes,
          wchar: bytes,
          read_bytes: bytes,
          write_bytes: bytes,
          time_oncpu: Math.round(user * 1.2) * 1000,
          time_waiting: Math.round(user * 0.01) * 1000,
          starttime: Math.round((birth - boot) / 1e4),
          processor: Math.floor(n.uniform() * 64),
          num_threads: 1,
        },
        threads: [1],
      };
    });
  });
}

function tasksOf({ phase, name }: Stretch, members: readonly Process[]): Task[] {
  const [root, ...others] = members as [Process, ...Process[]];
  const number = name.split(' ').at(-1)!;
  const trainers = others.filter(({ card }) => card !== undefined);
  if (phase === 'load')
    return Array.from({ length: 12 }, (_, i): Task => {
      const shard = `shard-${String(i).padStart(3, '0')}.tar.zst`;
      const at = i / 14;
      const task = { tags: 'op:stage', parent: root.pid, from: at, to: at + 0.12, busy: 0.1, megabytes: 900 };
      return { ...task, program: 'tar', args: `--zstd -xf ${shard} -C /tmp/shards` };
    });
  if (phase === 'checkpoint')
    return trainers.flatMap(({ pid, card, rank }): Task[] => {
      const file = `checkpoint-${number}.part${card}.pt`;
      const task = { tags: 'op:checkpoint', parent: pid, card: rank, megabytes: 240 };
      return [
        { ...task, program: 'zstd', args: `-q --rm ${file}`, from: 0.05, to: 0.6, busy: 0.15 },
        { ...task, program: 'rsync', args: `-a ${file}.zst /archive/mixture/`, from: 0.62, to: 0.93, busy: 0.05 },
      ];
    });
  if (phase === 'evaluate')
    return Array.from({ length: 4 }, (_, i): Task => {
      const task = { tags: 'op:evaluate', parent: root.pid, from: 0.02, to: 0.9, busy: 0.06, megabytes: 300 };
      return { ...task, program: 'python3', args: `evaluate.py --epoch ${number} --part ${i}` };
    });
  return [];
}

/** A row whose values are given by the names of their columns. */
function addNamed(frame: Frame, time: number, values: Readonly<Record<string, number | string>>): void {
  const row = frame.row();
  frame.times![row] = time;
  const { keys, columns } = frame.table;
  keys.forEach(({ name }, i) => {
    frame.texts[row * frame.textWidth + i] = String(values[name]);
  });
  columns.forEach(({ name }, i) => {
    const columnPlace = frame.indexes[i]!;
    if (columnPlace < 0) frame.texts[row * frame.textWidth - 1 - columnPlace] = String(values[name] ?? '');
    else frame.numbers[row * frame.numberWidth + columnPlace] = Number(values[name] ?? Number.NaN);
  });
}
