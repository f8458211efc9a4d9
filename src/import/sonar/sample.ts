/** What a process, or several that Sonar rolled up, used at a moment. Sizes are in KiB, as Sonar has them. */
export interface SonarProcess {
  /** 0: Sonar could not tell. */
  job: string;
  user: string;
  /** Of a job that is no batch job: which boot of the node it belongs to. */
  epoch: number;
  /** 0: several were rolled up, or this version of Sonar says none. */
  pid: number;
  ppid?: number;
  command: string;
  /** Further processes that are in this one. */
  rolled: number;
  threads?: number;
  /** Since it started, 100 is a whole CPU. */
  cpu_percent?: number;
  /** Since it started, with children that it waited for. */
  cpu_seconds?: number;
  virtual_kib?: number;
  resident_kib?: number;
  read_kib?: number;
  written_kib?: number;
  /** By card; what is only known of all cards together is divided evenly. */
  gpus: SonarUse[];
}

export interface SonarUse {
  gpu: string;
  percent: number;
  memory_percent: number;
  memory_kib: number;
}

export interface SonarCard {
  gpu: string;
  percent?: number;
  memory_percent?: number;
  memory_kib?: number;
  temperature?: number;
  power?: number;
  power_limit?: number;
  clock?: number;
  memory_clock?: number;
  fan?: number;
  failing?: boolean;
}

/** What Sonar saw on a node at a moment (epoch microseconds). */
export interface SonarSample {
  time: number;
  cluster: string;
  node: string;
  cpus?: number;
  memory_kib?: number;
  used_memory_kib?: number;
  /** Busy seconds of every CPU since boot. */
  cpu_seconds?: number[];
  load?: [one?: number, five?: number, fifteen?: number];
  runnable?: number;
  threads?: number;
  cards: SonarCard[];
  /** The GPUs of the node did not answer. */
  failing: boolean;
  processes: SonarProcess[];
}

/** What a node is. */
export interface SonarNode {
  cluster: string;
  node: string;
  cpus?: number;
  memory_kib?: number;
  cpu_model?: string;
  kernel?: string;
  sockets?: number;
  cards: { gpu: string; model?: string; uuid?: string; memory_kib?: number; manufacturer?: string; driver?: string }[];
}

/** A line of accounting, by the names of sacct's columns. */
export type SlurmLine = ReadonlyMap<string, string>;

/** All that some files say. */
export class SonarData {
  /** By node and moment. */
  readonly samples = new Map<string, SonarSample>();
  readonly nodes = new Map<string, SonarNode>();
  readonly slurm: SlurmLine[] = [];
  readonly versions = new Set<string>();
  /** Records that cannot be used, and how many. */
  readonly dropped = new Map<string, number>();

  sample(time: number, cluster: string, node: string): SonarSample {
    const key = `${cluster} ${node} ${time}`;
    let sample = this.samples.get(key);
    if (sample === undefined) {
      sample = { time, cluster, node, cards: [], failing: false, processes: [] };
      this.samples.set(key, sample);
    }
    return sample;
  }

  drop(why: string): void {
    this.dropped.set(why, (this.dropped.get(why) ?? 0) + 1);
  }
}
