import { VERSION } from '../../base/version.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { FORMAT } from '../../recording/folder/job.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import type { Table } from '../../table/table.ts';

export interface ImportedAgent {
  node: string;
  /** Where the samples came from, in words. */
  from: string;
  /** Seconds between samples. */
  interval: number;
  /** First and last sample, epoch microseconds. */
  first: number;
  last: number;
  ticks: number;
  tables: readonly Table[];
  facts?: Partial<NodeFacts>;
  notes?: readonly Note[];
  bytes: number;
}

/** No agent of Tacho's was there: what it says of itself is where the data came from, and what they cannot tell. */
export function importedAgent(of: ImportedAgent): AgentRecord {
  return {
    format: FORMAT,
    tacho: VERSION,
    node: of.node,
    pid: 0,
    interval_seconds: of.interval,
    start: of.first,
    first_sample: of.first,
    last_sample: of.last,
    end: of.last,
    end_reason: `imported from ${of.from}`,
    facts: {
      hostname: of.node,
      kernel: '',
      architecture: '',
      cpus: Number.NaN,
      memory_bytes: Number.NaN,
      gpus: [],
      ...of.facts,
    },
    scope: { members: 'node' },
    tables: [...of.tables],
    unmeasured: [...(of.notes ?? [])],
    ticks: of.ticks,
    late_ticks: 0,
    missed_ticks: 0,
    cost: { cpu_seconds: Number.NaN, max_rss_bytes: Number.NaN, bytes_written: of.bytes },
  };
}

/** Seconds between samples: the middle of all distances between neighbours; NaN when there are none. */
export function intervalOf(series: Iterable<Float64Array>): number {
  const steps: number[] = [];
  for (const times of series) {
    for (let i = 1; i < times.length; i++) if (times[i]! > times[i - 1]!) steps.push(times[i]! - times[i - 1]!);
    if (steps.length > 100_000) break;
  }
  if (steps.length === 0) return Number.NaN;
  steps.sort((a, b) => a - b);
  const middle = steps[steps.length >> 1]! / 1000;
  // what is a few milliseconds off its tick is meant to be on it
  const round = middle >= 1 ? Math.round(middle) : Math.round(middle * 100) / 100;
  return Math.abs(round - middle) <= middle * 0.05 ? round : middle;
}
