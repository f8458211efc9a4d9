import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import {
  addedUp,
  build,
  type Figure,
  type Ground,
  has,
  ownFigures,
  type Recorded,
  record,
  withCgroup,
} from './ground.ts';

/** A job of known size. `quick`: takes a few seconds, and its figures are exact whatever else runs on the machine. */
export interface TruthJob {
  name: string;
  quick?: true;
  run(ground: Ground): Figure[];
}

const MIB = 2 ** 20;

/** By the count of a cgroup that the command moves itself into; what it used before that is a few milliseconds. */
const CGROUP = 'cgroup around the command';
const ONE_PERCENT = 0.01;
const BEFORE_CGROUP = 0.01;

/** CPU time of a command beside the count of a cgroup. */
function cpuOf(
  ground: Ground,
  job: string,
  command: readonly string[],
  bound: { share?: number; beside?: number } = {},
  options: Parameters<typeof record>[2] = {},
): Figure[] {
  const figures = withCgroup(({ folders, cpuSeconds }) => {
    const { report } = record(ground, [ground.job, 'in', ...folders, '--', ...command], options);
    const { share = ONE_PERCENT, beside = BEFORE_CGROUP } = bound;
    const tacho = report.summary.cpu_seconds;
    return [{ job, what: 'CPU time, s', tacho, truth: cpuSeconds(), by: CGROUP, share, beside }];
  });
  if (figures === undefined) ground.leave(`${job}: CPU time`, 'cgroups can be made by root only');
  return figures ?? [];
}

const cpuJob = (
  name: string,
  argsOf: (ground: Ground) => readonly string[] | undefined,
  bound: { share?: number; beside?: number; quick?: true; options?: Parameters<typeof record>[2] } = {},
): TruthJob => ({
  name,
  ...(bound.quick === undefined ? {} : { quick: bound.quick }),
  run(ground) {
    const command = argsOf(ground);
    return command === undefined ? [] : cpuOf(ground, name, command, bound, bound.options);
  },
});

/** A program that another compiler makes; left out without it. */
function built(ground: Ground, name: string, compiler: readonly string[], source?: string): string | undefined {
  const program = build(ground.folder, name, compiler, source);
  if (program === undefined) ground.leave(name, `${compiler[0]} is not there, or cannot build it`);
  return program;
}

function needs(ground: Ground, job: string, ...programs: string[]): boolean {
  const missing = programs.filter((program) => !has(program));
  if (missing.length > 0) ground.leave(job, `${missing.join(', ')} is not there`);
  return missing.length === 0;
}

/** Work in a namespace is told by records of other pids: a little more than one count of it. */
const NAMESPACE = 0.03;

const NAMESPACED = (ground: Ground) => ['unshare', '-p', '-f', '--mount-proc', ground.job, 'spin', '0.8'];

export const jobs: readonly TruthJob[] = [
  cpuJob('one thread', ({ job }) => [job, 'spin', '1'], { quick: true }),
  cpuJob('two threads', ({ job }) => [job, 'spin', '0.6', '2']),
  cpuJob('20 ms', ({ job }) => [job, 'spin', '0.02']),
  cpuJob('without records of processes', ({ job }) => [job, 'spin', '1'], { options: { run: ['--no-processes'] } }),
  cpuJob('static program', (ground) => {
    const program = built(ground, 'job-static', ['cc', '-static', '-O1', '-pthread']);
    return program === undefined ? undefined : [program, 'spin', '0.8', '2'];
  }),
  cpuJob('musl program', (ground) => {
    const program = built(ground, 'job-musl', ['musl-gcc', '-O1', '-pthread']);
    return program === undefined ? undefined : [program, 'spin', '0.8', '2'];
  }),
  cpuJob('Go program', (ground) => {
    const program = built(ground, 'spin-go', ['go', 'build'], 'spin.go');
    return program === undefined ? undefined : [program, '1', '2'];
  }),
  cpuJob('40 forks, one after the other', ({ job }) => [job, 'fork', '40', '0.025'], { quick: true }),
  cpuJob('40 spawned programs', ({ job }) => [job, 'spawn', '40', '0.025']),
  cpuJob('chain of 20 execs', ({ job }) => [job, 'chain', '20', '0.05']),
  cpuJob('child ended by signal 9', ({ job }) => [job, 'killed', '1']),
  // nobody waits for it: its own record is all there is, without what it used to start and to end
  cpuJob('orphan that ends within the job', ({ job }) => [job, 'orphan', '1'], { share: 0.02, beside: 0.02 }),
  cpuJob('pid namespace', (ground) => (needs(ground, 'pid namespace', 'unshare') ? NAMESPACED(ground) : undefined), {
    share: NAMESPACE,
    quick: true,
  }),
  cpuJob(
    'nested pid namespaces',
    (ground) =>
      needs(ground, 'nested pid namespaces', 'unshare')
        ? ['unshare', '-p', '-f', '--mount-proc', ...NAMESPACED(ground)]
        : undefined,
    { share: NAMESPACE },
  ),
  cpuJob(
    'bubblewrap',
    (ground) =>
      needs(ground, 'bubblewrap', 'bwrap')
        ? ['bwrap', '--dev-bind', '/', '/', '--unshare-pid', '--proc', '/proc', ground.job, 'spin', '0.8']
        : undefined,
    { share: NAMESPACE },
  ),
  {
    name: 'processes and their ends',
    quick: true,
    run(ground) {
      const { report, code } = record(ground, ['sh', '-c', `${ground.job} spawn 30 0; ${ground.job} killed 0; exit 7`]);
      const by = 'by construction';
      const exact = { by, share: 0, beside: 0 };
      const job = this.name;
      return [
        // the shell, two of job.c, 30 that one started, one that the other forked
        { job, what: 'processes', tacho: report.summary.processes, truth: 34, ...exact },
        // by a code: the shell; by a signal: the child
        { job, what: 'of these failed', tacho: report.records?.failed, truth: 2, ...exact },
        { job, what: 'exit code of the job', tacho: report.job.exit_code, truth: 7, ...exact },
        { job, what: 'exit code passed on', tacho: code ?? undefined, truth: 7, ...exact },
      ];
    },
  },
  {
    name: 'memory of one process',
    quick: true,
    run(ground) {
      const { report, out } = record(ground, [ground.job, 'hold', '200', '0.1']);
      const truth = ownFigures(out).rss;
      const tacho = report.summary.memory?.process_peak_max;
      return [{ job: this.name, what: 'peak, bytes', tacho, truth, by: 'getrusage', share: ONE_PERCENT, beside: 0 }];
    },
  },
  {
    name: 'memory that four children share',
    quick: true,
    run(ground) {
      const figures = withCgroup(({ folders, memoryPeak }): Figure[] => {
        const command = [ground.job, 'in', ...folders, '--', ground.job, 'share', '200', '4', '4'];
        const { report } = record(ground, command);
        const truth = memoryPeak();
        if (truth === undefined) return [];
        const tacho = report.summary.memory_peak_bytes;
        const [job, by] = [this.name, CGROUP];
        return [{ job, what: 'peak, bytes', tacho, truth, by, share: 0.02, beside: 4 * MIB }];
      });
      if (figures === undefined) ground.leave(this.name, 'cgroups can be made by root only');
      return figures ?? [];
    },
  },
  {
    name: 'leak of 20 MiB/s',
    run(ground) {
      const { report } = record(ground, [ground.job, 'leak', '20', '20'], { interval: '200ms' });
      const tacho = report.processes.find(({ rss_growth }) => rss_growth !== undefined)?.rss_growth;
      const [job, by] = [this.name, 'by construction'];
      return [{ job, what: 'growth, bytes/s', tacho, truth: 20 * MIB, by, share: 0.05, beside: 0 }];
    },
  },
  {
    name: 'bytes that a program writes',
    quick: true,
    run(ground) {
      const recorded = record(ground, [ground.job, 'write', path.join(ground.folder, 'written'), '48']);
      // and what it prints of itself
      const truth = 48 * MIB + Buffer.byteLength(recorded.out);
      const [job, by] = [this.name, 'by construction'];
      const exact = { truth, by, share: 0, beside: 0 };
      return [
        { job, what: 'written, bytes', tacho: addedUp(recorded, 'wchar'), ...exact },
        { job, what: 'by the job, bytes', tacho: recorded.report.work?.written_calls_bytes, ...exact },
      ];
    },
  },
  {
    name: 'cost of recording',
    run(ground) {
      const figures = withCgroup(({ folders, cpuSeconds }): Figure[] => {
        const { report } = record(ground, ['sleep', '5'], { through: [ground.job, 'in', ...folders, '--'] });
        const [job, by, tacho] = [this.name, 'cgroup around tacho run', report.cost.cpu_seconds];
        return [{ job, what: 'CPU time, s', tacho, truth: cpuSeconds(), by, share: 0.03, beside: 0.01 }];
      });
      if (figures === undefined) ground.leave(this.name, 'cgroups can be made by root only');
      return figures ?? [];
    },
  },
  { name: 'work of the job', quick: true, run: (ground) => [...work(ground), ...files(ground)] },
  { name: 'two programs on one CPU', run: crowd },
  { name: 'whole node', run: node },
  { name: 'ranks', run: ranks },
  { name: 'fio', run: fio },
  { name: 'iperf3 over veth', run: iperf },
  { name: 'phases', run: (ground) => phases(ground, 'phases', '1.5', []) },
  {
    name: 'phases without process records',
    run: (ground) => phases(ground, 'phases without process records', '0.4 0.4 0.4 0.4', ['--no-processes']),
  },
  { name: 'GPU', run: gpu },
];

const sumOf = (values: readonly (number | undefined)[]): number => values.reduce<number>((sum, v) => sum + (v ?? 0), 0);

/** What the job's processes did, added up, beside what the only one that works prints of itself. */
function work(ground: Ground): Figure[] {
  const job = 'work of the job';
  const by = 'getrusage';
  const held = record(ground, [ground.job, 'hold', '300', '0.2']);
  const written = record(ground, [ground.job, 'write', path.join(ground.folder, 'work'), '400']);
  const [own, writer] = [ownFigures(held.out), ownFigures(written.out)];
  const program = held.report.programs.find((one) => one.program === 'job');
  // what a program uses to start and to end is not in what it sees of itself
  const split = { by, share: ONE_PERCENT, beside: 0.02 };
  const exact = { by, share: ONE_PERCENT, beside: 0 };
  return [
    { job, what: 'user, s', tacho: written.report.work?.user_seconds, truth: writer.user, ...split },
    { job, what: 'system, s', tacho: written.report.work?.system_seconds, truth: writer.system, ...split },
    { job, what: 'minor faults', tacho: held.report.work?.minor_faults, truth: own.minor, ...exact },
    { job, what: 'program: CPU time, s', tacho: program?.cpu_seconds, truth: own.cpu, ...split },
    { job, what: 'program: peak, bytes', tacho: program?.rss_max_bytes, truth: own.rss, ...exact },
  ];
}

/** Files, page faults, switches and waiting of the job, beside what the programs that work print of themselves. */
function files(ground: Ground): Figure[] {
  const job = 'work of the job';
  const file = path.join(ground.folder, 'work');
  fs.writeFileSync(file, Buffer.alloc(64 * MIB, 1), { flush: true });
  const read = record(ground, [ground.job, 'read', file]);
  const touched = record(ground, [ground.job, 'touch', file]);
  const napped = record(ground, [ground.job, 'nap', '2000']);
  const [reader, toucher, napper] = [read, touched, napped].map(({ out }) => ownFigures(out));
  const exact = { share: ONE_PERCENT, beside: 0 };
  const [io, usage] = ['/proc/self/io', 'getrusage'];
  fs.rmSync(file, { force: true });
  return [
    {
      job,
      what: 'read by calls, bytes',
      tacho: read.report.work?.read_calls_bytes,
      truth: reader!.read,
      by: io,
      ...exact,
    },
    { job, what: 'calls that read', tacho: read.report.work?.read_calls, truth: reader!.read_calls, by: io, ...exact },
    { job, what: 'major faults', tacho: touched.report.work?.major_faults, truth: toucher!.major, by: usage, ...exact },
    {
      job,
      what: 'voluntary switches',
      tacho: napped.report.work?.voluntary_switches,
      truth: napper!.switches,
      by: usage,
      ...exact,
    },
  ];
}

/** Two programs that share one CPU, and the length of the job. */
function crowd(ground: Ground): Figure[] {
  if (!needs(ground, 'two programs on one CPU', 'taskset')) return [];
  const job = 'two programs on one CPU';
  const script = `${ground.job} spin 1.5 & ${ground.job} spin 1.5; wait`;
  const { report, out } = record(ground, ['taskset', '-c', '0', 'sh', '-c', script]);
  const each = out.trim().split('\n').map(ownFigures);
  const clock = record(ground, [ground.job, 'clock', '4']);
  const { began, ended } = ownFigures(clock.out);
  const wall = clock.report.summary;
  const split = { share: ONE_PERCENT, beside: 0.04 };
  const clocked = { job: 'length of a job', by: 'its own clock', share: ONE_PERCENT, beside: 0 };
  return [
    {
      job,
      what: 'waiting, s',
      tacho: report.work?.waiting_seconds,
      truth: sumOf(each.map(({ waited }) => waited)),
      by: 'schedstat',
      ...split,
    },
    {
      job,
      what: 'forced switches',
      tacho: report.work?.involuntary_switches,
      truth: sumOf(each.map(({ forced }) => forced)),
      by: 'getrusage',
      share: ONE_PERCENT,
      // its shell, and what a program does before and after it looks at itself
      beside: 10,
    },
    { ...clocked, what: 'duration, s', tacho: wall.wall_seconds, truth: ended - began },
    {
      ...clocked,
      what: 'core-hours',
      tacho: wall.core_hours,
      truth: ((ended - began) * os.availableParallelism()) / 3600,
    },
  ];
}

/** How busy the whole node was, beside /proc/stat at the beginning and at the end of the command. */
function node(ground: Ground): Figure[] {
  const stat = 'head -n 1 /proc/stat';
  const { report, out } = record(ground, ['sh', '-c', `${stat}; ${ground.job} spin 4 2 >/dev/null; ${stat}`]);
  const [before, after] = out
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).slice(1).map(Number));
  const spent = after!.map((ticks, i) => ticks - before![i]!);
  // guest time is in user time already
  const all = sumOf(spent.slice(0, 8));
  const idle = spent[3]! + spent[4]!;
  return [
    {
      job: 'whole node',
      what: 'CPU use',
      tacho: report.nodes[0]?.node_cpu_utilization,
      truth: (all - idle) / all,
      by: '/proc/stat',
      share: 0.03,
      beside: 0,
    },
  ];
}

/** Two ranks that share one CPU: each writes to a file what the kernel tells it of itself, and how much it wrote. */
function ranks(ground: Ground): Figure[] {
  if (!needs(ground, 'ranks', 'mpirun.mpich', 'taskset')) return [];
  // the shell is in the rank, too: it prints its own memory, and its CPU time is in what the program prints that it becomes
  const shell = `while read a b c; do [ "$a" = VmHWM: ] && echo "{\\"rss\\":$((b * 1024))}"; done </proc/$$/status`;
  const each = `exec >${ground.folder}/rank.$PMI_RANK; ${shell}; ${ground.job} write ${ground.folder}/data.$PMI_RANK $((8 + 8 * PMI_RANK)); ${ground.job} hold 100 0.1; exec ${ground.job} spin $((1 + PMI_RANK))`;
  const { report } = record(ground, ['taskset', '-c', '0', 'mpirun.mpich', '-n', '2', 'sh', '-c', each]);
  const [world] = report.ranks?.largest ?? [];
  return [0, 1].flatMap((number): Figure[] => {
    const rank = world?.ranks.find((one) => one.rank === number);
    const printed = fs.readFileSync(path.join(ground.folder, `rank.${number}`), 'utf8');
    const [script, writes, holds, spins] = printed.trim().split('\n').map(ownFigures) as [
      ReturnType<typeof ownFigures>,
      ReturnType<typeof ownFigures>,
      ReturnType<typeof ownFigures>,
      ReturnType<typeof ownFigures>,
    ];
    const job = `rank ${number} of 2`;
    // what a program uses after it looked at itself is missing there
    const bound = { by: 'getrusage', share: ONE_PERCENT, beside: 0.01 };
    const bytes = (8 + 8 * number) * MIB + Buffer.byteLength(printed);
    return [
      { job, what: 'CPU time, s', tacho: rank?.cpu_seconds, truth: spins.cpu + spins.children, ...bound },
      { job, what: 'user, s', tacho: rank?.user_seconds, truth: spins.user + spins.children_user, ...bound },
      {
        job,
        what: 'waiting, s',
        tacho: rank?.wait_seconds,
        truth: writes.waited + holds.waited + spins.waited,
        ...bound,
        by: 'schedstat',
      },
      {
        job,
        what: 'peak, bytes',
        tacho: rank?.memory_peak_bytes,
        // its shell is there meanwhile
        truth: holds.rss + script.rss,
        by: 'getrusage, status',
        share: ONE_PERCENT,
        beside: 0,
      },
      {
        job,
        what: 'written, bytes',
        tacho: rank?.written_chars,
        truth: bytes,
        by: 'by construction',
        share: 0,
        // records of its shell, which became a program
        beside: 512,
      },
    ];
  });
}

/** Bytes through files, as fio counts them itself. */
function fio(ground: Ground): Figure[] {
  if (!needs(ground, 'fio', 'fio')) return [];
  const file = path.join(ground.folder, 'fio');
  const common = ['--name=truth', `--filename=${file}`, '--size=64m', '--output-format=json', '--thread'];
  const reported = (what: 'read' | 'write', { report, out }: Recorded): Figure => {
    const {
      jobs: [one],
    } = JSON.parse(out.slice(out.indexOf('{'))) as { jobs: [Record<string, { io_bytes: number }>] };
    const values = report.processes.map((p) => (what === 'read' ? p.read_bytes : p.written_bytes));
    const truth = one[what]!.io_bytes;
    return {
      job: 'fio',
      what: `${what}, bytes`,
      tacho: sumOf(values),
      truth,
      by: 'fio',
      share: ONE_PERCENT,
      beside: 2 * MIB,
    };
  };
  const write = record(ground, ['fio', ...common, '--rw=write', '--bs=256k', '--end_fsync=1']);
  const read = record(ground, ['fio', ...common, '--rw=randread', '--bs=16k', '--invalidate=1']);
  fs.rmSync(file, { force: true });
  const ofJob = (figure: Figure, tacho: number | undefined): Figure => ({
    ...figure,
    what: `${figure.what} (job)`,
    tacho,
  });
  const [written, fetched] = [reported('write', write), reported('read', read)];
  return [
    written,
    ofJob(written, write.report.work?.written_disk_bytes),
    fetched,
    ofJob(fetched, read.report.work?.read_disk_bytes),
  ];
}

/** Bytes through a network of its own, as containers have one, as iperf3 counts them. */
function iperf(ground: Ground): Figure[] {
  const job = 'iperf3 over veth';
  if (!needs(ground, job, 'iperf3', 'ip')) return [];
  const [space, outer, inner] = [`tacho-truth-${process.pid}`, `tt${process.pid % 1e6}a`, `tt${process.pid % 1e6}b`];
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'ignore' });
  try {
    ip('netns', 'add', space);
  } catch {
    ground.leave(job, 'network namespaces can be made by root only');
    return [];
  }
  try {
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
    ip('link', 'set', inner, 'netns', space);
    ip('addr', 'add', '10.213.77.1/30', 'dev', outer);
    ip('link', 'set', outer, 'up');
    for (const args of [
      ['addr', 'add', '10.213.77.2/30', 'dev', inner],
      ['link', 'set', inner, 'up'],
      ['link', 'set', 'lo', 'up'],
    ])
      ip('-n', space, ...args);
    const server = spawn('iperf3', ['-s', '-1', '-B', '10.213.77.1'], { stdio: 'ignore' });
    const until =
      'for i in $(seq 100); do iperf3 -J -c 10.213.77.1 -n 200M >out && break; sleep 0.1; done; cat out; sleep 1.5';
    const { report, out } = record(ground, ['sh', '-c', until], { through: ['ip', 'netns', 'exec', space] });
    server.kill();
    const { end } = JSON.parse(out.slice(out.indexOf('{'))) as { end: { sum_sent: { bytes: number } } };
    const flow = report.flows.find(({ what }) => what === 'network');
    const truth = end.sum_sent.bytes;
    // packets have headers
    return [{ job, what: 'sent, bytes', tacho: flow?.out_bytes, truth, by: 'iperf3', share: 0.02, beside: 2 * MIB }];
  } finally {
    spawnSync('ip', ['netns', 'del', space]);
    spawnSync('ip', ['link', 'del', outer]);
  }
}

/** CPU time within a marked phase, as the programs in it count their own: each spins for so many seconds. */
function phases(ground: Ground, job: string, spins: string, run: readonly string[]): Figure[] {
  const tacho = path.join(import.meta.dirname, '../../tacho');
  const work = `for s in ${spins}; do ${ground.job} spin $s; done`;
  const script = `${tacho} mark begin work; ${work}; ${tacho} mark end work; sleep 1`;
  const { report, out } = record(ground, ['sh', '-c', script], { run, report: ['--phases'] });
  const phase = report.phases.find(({ name }) => name === 'work');
  const used = phase && phase.cpu_utilization! * phase.seconds * report.summary.cpus!;
  const truth = sumOf(
    out
      .trim()
      .split('\n')
      .map((line) => ownFigures(line).cpu),
  );
  return [{ job, what: 'CPU time in it, s', tacho: used, truth, by: 'its own clock', share: 0.05, beside: 0.05 }];
}

/** Power of a card that rises and falls: card 0 counts its energy, the counter of card 1 stands still. */
const WAVE = { low: 100, high: 300, seconds: 4 };

/** Under the wave of the stand-in library, from 0 to 1, up to a moment. */
function underWave(time: number): number {
  const whole = Math.floor(time / WAVE.seconds);
  const fraction = time / WAVE.seconds - whole;
  return WAVE.seconds * (whole / 2 + (fraction < 0.5 ? fraction ** 2 : 0.5 - (1 - fraction) ** 2));
}

function gpu(ground: Ground): Figure[] {
  const library = path.join(ground.folder, 'libnvml.so');
  const source = path.join(import.meta.dirname, '../fake-gpu/fake_nvml.c');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-w', '-o', library, source]);
  const cards = path.join(ground.folder, 'cards');
  const wave = `${WAVE.low} ${WAVE.high} ${WAVE.seconds}`;
  fs.writeFileSync(cards, `cards 2\nwave 0 ${wave}\nwave 1 ${wave}\nstill 1\n`);
  const { report, out } = record(ground, [ground.job, 'clock', '18'], {
    env: { TACHO_NVML: library, FAKE_GPU_NVML: cards },
  });
  const { began, ended } = ownFigures(out);
  const under = underWave(ended) - underWave(began);
  const joules = WAVE.low * (ended - began) + (WAVE.high - WAVE.low) * under;
  const by = 'its own clock, and the wave';
  const figures: Figure[] = [];
  report.gpus.forEach((card, i) => {
    const job = i === 0 ? 'GPU' : 'GPU whose counter stands still';
    const bound = { by, share: 0.02, beside: 0 };
    // cards are seen a moment later than the job: energy_coverage tells how much is missing
    const recordedShare = card.recorded_seconds / report.summary.wall_seconds;
    const energy = card.energy_joules! / Math.min(1, recordedShare);
    figures.push(
      { job, what: 'energy, J, by coverage', tacho: energy, truth: joules, ...bound },
      { job, what: 'use, mean', tacho: card.utilization_mean, truth: under / (ended - began), ...bound, share: 0.03 },
      { job, what: 'power, mean, W', tacho: card.power_mean_watts, truth: joules / (ended - began), ...bound },
    );
  });
  return figures;
}
