import * as fs from 'node:fs';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { replaceJson } from '../../recording/folder/replace.ts';

export type RecordAside = ReturnType<typeof recordAside>;

type Left = Pick<AgentRecord, 'lost_samples' | 'last_sample'>;

/**
 * What agents have to say while the disk of their recordings takes nothing: it is kept in a file elsewhere (in memory, beside
 * the job files), so that the next agent can tell what was lost with this one.
 */
export function recordAside(file: string) {
  const left = new Map<string, Left>(read(file));

  function write(): void {
    try {
      if (left.size === 0) fs.rmSync(file, { force: true });
      else replaceJson(file, Object.fromEntries(left));
    } catch {
      // neither here nor there: then it goes with this agent
    }
  }

  return {
    keep(folder: string, { lost_samples, last_sample }: AgentRecord): void {
      left.set(folder, { ...(lost_samples && { lost_samples }), ...(last_sample && { last_sample }) });
      write();
    },
    /** It is written where it belongs. */
    drop(folder: string): void {
      if (left.delete(folder)) write();
    },
    /** What an agent before this one has left; what it had written before is `record`. */
    complete(folder: string, record: AgentRecord | undefined): AgentRecord | undefined {
      const more = left.get(folder);
      return record === undefined || more === undefined ? record : { ...record, ...more };
    },
  };
}

function read(file: string): [string, Left][] {
  try {
    const leftByName = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, Left>;
    return Object.entries(leftByName).filter(([, { lost_samples = [] }]) => Array.isArray(lost_samples));
  } catch {
    return [];
  }
}
