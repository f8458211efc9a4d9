import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';

/** The tables that were measured with LDMS: about 290 values on a small machine. */
const TABLES = ['cpu', 'meminfo', 'vmstat', 'loadavg'];
export const VALUES = 290;

export interface RecordedTable {
  name: string;
  header: string;
  /** What follows the time in each row, tick by tick. */
  ticks: string[][];
}

/** What an agent really records of this machine: simulated ones send it as their own. */
export interface Recorded {
  agent: AgentRecord;
  tables: RecordedTable[];
  ticks: number;
  /** Values in one tick, names and times not counted. */
  values: number;
}

export interface Recorder {
  /** The recording as it is now. */
  read(): Recorded;
  /** Ends it; the folder of the recording. */
  stop(): Promise<string>;
}

/** A real agent that records this machine once a second. */
export async function startRecorder(folder: string): Promise<Recorder> {
  const tacho = path.join(import.meta.dirname, '../../tacho');
  const spool = path.join(folder, 'spool');
  const agentOptions = ['--spool', spool, '--jobs', path.join(folder, 'jobs'), '--hooks-only', '--node', 'c1'];
  const child = spawn(tacho, ['agent', ...agentOptions, '--idle-interval', '1s', '--only', TABLES.join(',')], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const recording = (): string => {
    const name = fs.readdirSync(spool).find((each) => each.startsWith('fleet-'));
    return path.join(spool, name!);
  };
  return {
    read: () => readTicks(path.join(recording(), 'node=c1')),
    async stop() {
      child.kill('SIGTERM');
      await Promise.race([ended, pause(10_000)]);
      child.kill('SIGKILL');
      return recording();
    },
  };
}

function readTicks(folder: string): Recorded {
  const agent = JSON.parse(fs.readFileSync(path.join(folder, 'agent.json'), 'utf8')) as AgentRecord;
  let values = 0;
  const tables = TABLES.map((name): RecordedTable => {
    const [header, ...rows] = fs.readFileSync(path.join(folder, `${name}.csv`), 'latin1').split('\n');
    const ticks = new Map<string, string[]>();
    for (const row of rows.slice(0, -1)) {
      const comma = row.indexOf(',');
      const time = row.slice(0, comma);
      ticks.set(time, [...(ticks.get(time) ?? []), row.slice(comma)]);
    }
    const definition = agent.tables.find((table) => table.name === name)!;
    // the last tick may not be whole yet
    const whole = [...ticks.values()].slice(0, -1);
    values += (whole[0]?.length ?? 0) * definition.columns.length;
    return { name, header: header!, ticks: whole };
  });
  return { agent, tables, ticks: Math.min(...tables.map((table) => table.ticks.length)), values };
}
