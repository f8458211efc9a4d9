import { noise } from './noise.ts';
import { follow, type Phase, type Story } from './story.ts';

/** The nodes of the demo: two sockets, 1 TB of memory, half of the CPUs given to the job. */
export const NODE = {
  cpus: 128,
  allowedCpus: 64,
  memory: 1_056_789_012 * 1024,
  memoryLimit: 960 * 2 ** 30,
  sockets: 2,
};

/** Cores in use on a node, and bytes a second through its devices, while the job is in a phase. */
const CORES: Record<Phase, number> = { load: 12, train: 43, checkpoint: 18, evaluate: 31 };
const DISK_READ: Record<Phase, number> = { load: 2.4e9, train: 2.6e7, checkpoint: 1e6, evaluate: 6e7 };
const DISK_WRITE: Record<Phase, number> = { load: 2e5, train: 4e5, checkpoint: 1.7e9, evaluate: 3e5 };
const FABRIC: Record<Phase, number> = { load: 2e7, train: 7.8e9, checkpoint: 9e7, evaluate: 1.1e9 };

const PAGE = 4096;
const GB = 1e9;

/** What a node does in one tick; the tables of the node are filled from here, so that they agree with each other. */
export interface Machine {
  phase: Phase;
  /** Cores in use by the job, and share of a second that waited for disks. */
  cores: number;
  waiting: number;
  /** Bytes of the job's programs, and of file cache. */
  anon: number;
  /** The part of it that is never given back. */
  leaked: number;
  cache: number;
  dirty: number;
  /** Bytes in this tick, which is so many seconds long. */
  seconds: number;
  read: number;
  written: number;
  fabric: number;
  advance(second: number): void;
}

export function machine(story: Story, seed: number, node: number, interval: number): Machine {
  const n = noise(seed, 'machine', node);
  const phaseAt = follow(story);
  const straggler = node === story.cast.straggler;
  const leak = node === story.cast.leak;
  const near = (mean: number, spread: number): number => Math.max(0, mean * (1 + n.normal() * spread));
  const pages = (bytes: number): number => Math.round(bytes / PAGE) * PAGE;
  const base = 210 * GB + n.uniform() * 6 * GB;
  let walk = 0;
  const self: Machine = {
    phase: 'load',
    cores: 0,
    waiting: 0,
    anon: 22 * GB,
    leaked: 0,
    seconds: interval,
    cache: 31 * GB,
    dirty: 0,
    read: 0,
    written: 0,
    fabric: 0,
    advance(second) {
      const phase = phaseAt(second);
      self.phase = phase;
      self.cores = near(CORES[phase] * (straggler ? 0.93 : 1), 0.03);
      self.waiting = near(phase === 'checkpoint' ? 3.1 : phase === 'load' ? 1.4 : 0.05, 0.25);
      const storage = phase === 'load' || phase === 'checkpoint' ? story.storage : 1;
      self.read = Math.round(near((DISK_READ[phase] * interval) / storage, 0.2) / PAGE) * PAGE;
      self.written = Math.round(near((DISK_WRITE[phase] * interval) / storage, 0.2) / PAGE) * PAGE;
      self.fabric = Math.round(near(FABRIC[phase] * interval, 0.1));
      // programs grow to their size while they load, then breathe a little
      if (n.uniform() < 0.5) walk += Math.round(n.normal() * 200) * PAGE;
      self.leaked = leak ? pages((second / story.seconds) * 785 * GB) : 0;
      const grown = Math.min(1, second / (story.seconds / 60));
      self.anon = pages(22 * GB + (base - 22 * GB) * grown + self.leaked + walk);
      const free = NODE.memory - self.anon - 40 * GB;
      self.cache = pages(Math.min(self.cache + self.read, 310 * GB, free) + Math.round(n.normal() * 60) * PAGE);
      self.dirty = pages(near(phase === 'checkpoint' ? 9 * GB : 20e6, 0.4));
    },
  };
  return self;
}
