/** A small real job of known cause: what it does, how it is recorded, and what must, may and must not be found in it. */
export interface Cause {
  name: string;
  /** What the job does wrong, or well, in one sentence without its end. */
  what: string;
  /** Nothing is wrong with it: a warning about it is a failure of its own. */
  healthy?: true;
  /** Takes a few seconds, and is the same on a loaded machine: `npm test` runs it. */
  quick?: true;
  /** No rule was adjusted to it before its first run, whose result is kept: the number of its series. */
  heldOut?: 1 | 2 | 3 | 4;
  needs?: readonly Requirement[];
  /**
   * What it uses of the machine, by which cases run side by side. nothing: it sleeps, or next to it. cpu: the one CPU that it
   * is bound to (`recorded.cpus`). Default: all of it.
   */
  takes?: 'nothing' | 'cpu';
  /**
   * Bash. `job` is the program of test/truth/job.c, `$LONG` the seconds from which on waste is judged, and the folder that
   * it starts in is its own. Programs of test/causes/programs are there by name, without their ending.
   */
  script: string;
  recorded?: Recording;
  /** Rules that must find something: each is a cause. */
  must: readonly string[];
  /** Rules that must say that they cannot tell: their cause is there, and cannot be measured. */
  cannot?: readonly string[];
  /** Rules that may: true of the job, but not sure on every machine. All others are false findings. */
  may?: readonly string[];
}

/** What a machine must have; the Debian package is installed where that is allowed. */
export type Requirement = keyof typeof PACKAGES | 'root' | 'slurm';

export const PACKAGES = {
  cc: 'gcc',
  fio: 'fio',
  iperf3: 'iperf3',
  ip: 'iproute2',
  'stress-ng': 'stress-ng',
  python3: 'python3',
  node: 'nodejs',
  sqlite3: 'sqlite3',
  xz: 'xz-utils',
  make: 'make',
  git: 'git',
  zstd: 'zstd',
  bzip2: 'bzip2',
  bc: 'bc',
  jq: 'jq',
  gfortran: 'gfortran',
  curl: 'curl',
  openssl: 'openssl',
  taskset: 'util-linux',
  'mpirun.openmpi': 'openmpi-bin',
  'mpirun.mpich': 'mpich',
  'mpicc.openmpi': 'libopenmpi-dev',
  'mpicc.mpich': 'libmpich-dev',
  'dask-scheduler': 'python3-distributed',
  javac: 'default-jdk-headless',
  go: 'golang-go',
  tclsh: 'tcl',
  pgbench: 'postgresql',
} as const;

export interface Recording {
  /** Default: 0.2 s. */
  interval?: string;
  /** More flags of `tacho run`. */
  flags?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Job, recorder and neighbour are bound to so many CPUs. */
  cpus?: 1;
  /** Of a cgroup of its own, in MiB. */
  memory?: number;
  /** MiB of another cgroup, into which `job in $INNER -- COMMAND` moves a part of the job. */
  inner?: number;
  /** CPUs that the quota of a cgroup of its own pays for. */
  quota?: number;
  /** MiB that it may read from the disk in a second, and write to it directly. */
  disk?: number;
  /** MiB of swap that the machine gets meanwhile, if it has none. */
  swap?: number;
  /** The cards of the fake NVIDIA library, as test/fake-gpu/fake.h reads them. */
  gpus?: string;
  /** Bash: runs beside the job, on the same CPUs, until it ends. */
  beside?: string;
  /** Options of sbatch: a job of the real Slurm of test/slurm. `-N 3` are three nodes. */
  slurm?: readonly string[];
  /** Within the Slurm job in place of `tacho run … -- bash case.sh`. `$RECORD` is that command without its script. */
  batch?: string;
  /** The node that vanishes while the Slurm job runs. */
  crash?: { node: string };
  /** Words before `tacho run …`: what runs it with something around it. */
  within?: string;
  /** Keys of `[rules]` in the configuration, for limits of time and size that a short job cannot reach. */
  rules?: string;
}
