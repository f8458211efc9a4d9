import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { shareKind } from '../src/agent/service/shared-sources.ts';
import { TableWriter } from '../src/recording/live/append.ts';
import { Host } from '../src/sources/host.ts';
import { sources } from '../src/sources/index.ts';
import { type Source, Unavailable } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';
import type { Row } from './row.ts';

const SCOPE = { members: { by: 'node' }, exclude: [], redact: false } as const;
const TABLES = ['loadavg', 'meminfo', 'vmstat', 'cpu', 'disk', 'network', 'pressure'];

interface Job {
  source: Source;
  frame: Frame;
  writer: TableWriter;
}

/** What a tick of the tables of a whole node costs for one job there, and for each further one: they are read once, written for each. */
export async function bench({ ticks = 500, jobs = 10, rounds = 7 } = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const host = new Host();
  const kinds = sources.filter((kind) => TABLES.includes(kind.table.name)).map((kind) => shareKind(kind, host));
  let time = Date.now() * 1000;
  try {
    const all = Array.from({ length: jobs }, (_, i) =>
      kinds.flatMap((kind): Job[] => {
        try {
          const source = kind.open(host, SCOPE);
          const writer = new TableWriter(path.join(folder, `job-${i}`), source.table);
          return [{ source, frame: new Frame(source.table), writer }];
        } catch (error) {
          if (error instanceof Unavailable) return [];
          throw error;
        }
      }),
    );
    const tick = (some: readonly Job[][]): void => {
      time += 1e6;
      for (const { source, frame, writer } of some.flat()) {
        frame.clear(time);
        source.read(frame);
        writer.append(frame);
      }
    };
    const cost = async (some: readonly Job[][]): Promise<number> => {
      const before = process.cpuUsage();
      for (let i = 0; i < ticks; i++) {
        tick(some);
        if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      const { user, system } = process.cpuUsage(before);
      return (user + system) / ticks;
    };
    const one: number[] = [];
    const many: number[] = [];
    await cost(all);
    for (let round = 0; round < rounds; round++) {
      one.push(await cost(all.slice(0, 1)));
      many.push(await cost(all));
    }
    for (const { writer } of all.flat()) await writer.close();
    const further = (median(many) - median(one)) / (jobs - 1);
    const beside = `one job, ${median(one).toFixed(0)} µs`;
    return [
      {
        what: 'a tick of a node’s tables for a further job, CPU',
        must: '',
        measured: further,
        unit: 'µs',
        peer: beside,
        ratio: further / median(one),
      },
    ];
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
