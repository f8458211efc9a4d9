import { cpuTable } from '../sources/host/cpu.ts';
import { diskTable } from '../sources/host/disk.ts';
import { loadavgTable } from '../sources/host/loadavg.ts';
import { meminfoTable } from '../sources/host/meminfo.ts';
import { networkTable } from '../sources/host/network.ts';
import { vmstatTable } from '../sources/host/vmstat.ts';
import type { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import { type Machine, NODE } from './machine.ts';
import { type Noise, noise } from './noise.ts';
import { pick } from './pick.ts';

/** A table and what fills it, tick after tick. */
export interface Filler {
  table: Table;
  fill(frame: Frame, second: number): void;
}

/** Adds a row: its texts (keys first, then text columns in the table's order) and its numbers in the table's order. */
export function add(frame: Frame, texts: readonly string[], numbers: readonly number[]): void {
  const row = frame.row();
  for (let i = 0; i < texts.length; i++) frame.texts[row * frame.textWidth + i] = texts[i]!;
  for (let i = 0; i < numbers.length; i++) frame.numbers[row * frame.numberWidth + i] = numbers[i]!;
}

/** A counter that grows by about `mean` a tick. */
export function growing(n: Noise, spread: number, start = Math.floor(n.uniform() * 1e9)): (mean: number) => number {
  let value = start;
  return (mean) => {
    value += Math.max(0, Math.round(mean * (1 + n.normal() * spread)));
    return value;
  };
}

/** The tables of a node that everybody has: 48 values a tick. */
export function hostTables(machine: Machine, seed: number, node: number, interval: number): Filler[] {
  return [
    cpuFiller(machine, noise(seed, 'cpu', node), interval),
    loadFiller(machine, noise(seed, 'loadavg', node), interval),
    memoryFiller(machine, noise(seed, 'meminfo', node)),
    networkFiller(machine, noise(seed, 'network', node), interval),
    diskFiller(machine, noise(seed, 'disk', node)),
    pagingFiller(machine, noise(seed, 'vmstat', node), interval),
  ];
}

function cpuFiller(machine: Machine, n: Noise, interval: number): Filler {
  const table = pick(
    cpuTable,
    ['user_ms', 'system_ms', 'idle_ms', 'iowait_ms', 'irq_ms', 'softirq_ms', 'busy_ms'],
    ['context_switches', 'interrupts', 'forks', 'procs_running', 'procs_blocked'],
  );
  // the kernel counts in hundredths of a second
  const ticks = (seconds: number): number => Math.max(0, Math.round(seconds * 100 * interval)) * 10;
  const since = (boot: number): number => Math.floor(n.uniform() * boot) * 10;
  const total = { user: since(1e9), system: since(1e8), idle: since(1e10), iowait: since(1e6), softirq: since(1e6) };
  const switches = growing(n, 0.25);
  const interrupts = growing(n, 0.2);
  const forks = growing(n, 0.25);
  return {
    table,
    fill(frame) {
      const { cores } = machine;
      const user = ticks(cores * 0.92 * (1 + n.normal() * 0.01));
      const system = ticks(cores * 0.07 * (1 + n.normal() * 0.05));
      const softirq = ticks(cores * 0.008 * (1 + n.normal() * 0.1));
      const iowait = ticks(machine.waiting);
      total.user += user;
      total.system += system;
      total.softirq += softirq;
      total.iowait += iowait;
      total.idle += Math.max(0, ticks(NODE.cpus) - user - system - softirq - iowait);
      add(
        frame,
        ['all'],
        [
          total.user,
          total.system,
          total.idle,
          total.iowait,
          0,
          total.softirq,
          total.user + total.system + total.softirq,
          switches(cores * 2100 * interval),
          interrupts(cores * 3300 * interval),
          forks((machine.phase === 'load' ? 40 : 3) * interval),
          Math.max(1, Math.round(cores + n.normal() * 2)),
          Math.max(0, Math.round(machine.waiting + n.normal() * 0.4)),
        ],
      );
    },
  };
}

function loadFiller(machine: Machine, n: Noise, interval: number): Filler {
  const load = [8, 8, 8];
  const fade = [60, 300, 900].map((seconds) => Math.exp(-interval / seconds));
  const hundredth = (value: number): number => Math.round(value * 100) / 100;
  return {
    table: loadavgTable,
    fill(frame) {
      const wanting = machine.cores + machine.waiting;
      for (let i = 0; i < 3; i++) load[i] = load[i]! * fade[i]! + (wanting + n.normal()) * (1 - fade[i]!);
      add(
        frame,
        [],
        [
          ...load.map(hundredth),
          Math.max(1, Math.round(wanting + n.normal() * 2)),
          Math.round(2870 + machine.cores + n.normal() * 2),
        ],
      );
    },
  };
}

function memoryFiller(machine: Machine, n: Noise): Filler {
  const table = pick(
    meminfoTable,
    ['MemTotal_bytes', 'MemFree_bytes', 'MemAvailable_bytes', 'Buffers_bytes', 'Cached_bytes'],
    ['Active_bytes', 'Inactive_bytes', 'Dirty_bytes', 'AnonPages_bytes', 'Slab_bytes'],
  );
  const page = 4096;
  let slab = 9_800_000 * 1024;
  let buffers = 310_000 * 1024;
  return {
    table,
    fill(frame) {
      if (n.uniform() < 0.5) slab += Math.round(n.normal() * 90) * page;
      if (n.uniform() < 0.1) buffers += Math.round(Math.abs(n.normal()) * 3) * page;
      const used = machine.anon + machine.cache + slab + buffers + 18e9;
      const free = Math.floor((NODE.memory - used) / 1024) * 1024;
      const warm = Math.round((machine.cache * 0.41) / page + n.normal() * 300) * page;
      add(
        frame,
        [],
        [
          NODE.memory,
          free,
          Math.floor((free + machine.cache * 0.96 + slab * 0.4) / 1024) * 1024,
          buffers,
          machine.cache,
          machine.anon + warm,
          machine.cache - warm,
          machine.dirty,
          machine.anon,
          slab,
        ],
      );
    },
  };
}

function networkFiller(machine: Machine, n: Noise, interval: number): Filler {
  const table = pick(
    networkTable,
    ['class', 'received_bytes', 'sent_bytes', 'received_packets'],
    ['sent_packets', 'receive_errors', 'send_errors'],
  );
  const fabric = [growing(n, 0.06), growing(n, 0.06), growing(n, 0.06), growing(n, 0.06)];
  const service = [growing(n, 0.3), growing(n, 0.3), growing(n, 0.3), growing(n, 0.3)];
  return {
    table,
    fill(frame) {
      const bytes = machine.fabric;
      const small = (4000 + machine.cores * 900) * interval;
      add(
        frame,
        ['eth0', 'ethernet'],
        [service[0]!(small), service[1]!(small * 1.6), service[2]!(small / 210), service[3]!(small / 190), 0, 0],
      );
      add(
        frame,
        ['mlx5_0:1', 'infiniband'],
        [fabric[0]!(bytes), fabric[1]!(bytes * 0.98), fabric[2]!(bytes / 3900), fabric[3]!(bytes / 3950), 0, 0],
      );
    },
  };
}

function diskFiller(machine: Machine, n: Noise): Filler {
  const table = pick(
    diskTable,
    ['class', 'label', 'reads', 'read_bytes', 'read_ms'],
    ['writes', 'written_bytes', 'write_ms', 'in_flight'],
  );
  const reads = growing(n, 0.1);
  const readTime = growing(n, 0.2);
  const writes = growing(n, 0.1);
  const writeTime = growing(n, 0.2);
  let read = Math.floor(n.uniform() * 1e9) * 512;
  let written = Math.floor(n.uniform() * 1e9) * 512;
  return {
    table,
    fill(frame) {
      read += machine.read;
      written += machine.written;
      add(
        frame,
        ['nvme0n1', 'disk', 'SAMSUNG MZQL27T6HBLA-00A07'],
        [
          reads(machine.read / 118_000),
          read,
          readTime(machine.read / 210_000),
          writes(machine.written / 240_000),
          written,
          writeTime(machine.written / 160_000),
          Math.max(0, Math.round(machine.waiting * 4 + n.normal())),
        ],
      );
    },
  };
}

function pagingFiller(machine: Machine, n: Noise, interval: number): Filler {
  const faults = growing(n, 0.25);
  const major = growing(n, 0.5, 12_000);
  return {
    table: pick(vmstatTable, ['pgfault', 'pgmajfault']),
    fill(frame) {
      const loading = machine.phase === 'load';
      add(
        frame,
        [],
        [faults(machine.cores * (loading ? 21_000 : 1300) * interval), major((loading ? 12 : 0.1) * interval)],
      );
    },
  };
}
