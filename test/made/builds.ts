import * as path from 'node:path';
import { START } from '../make-recording.ts';
import { type GivenProcess, makeProcessRecording } from '../process-recording.ts';

/** Builds of which one was slow: compilers one after the other, then a linker with threads. */
export interface Builds {
  count: number;
  /** Which of them. */
  slow: number;
  processes(seed: number, slow: number): GivenProcess[];
  /** Seconds of the job; of a slow one those besides. */
  seconds: number;
  slowSeconds: number;
}

export function compilersOf(count: number, seed: number, slow: number): GivenProcess[] {
  return Array.from({ length: count }, (_, i) => ({
    pid: 100 + i,
    start: i,
    end: i + slow * (2 + ((i * 7 + seed) % 5) / 10),
    exename: 'cc1',
    tags: 'op:compile',
    cpu: slow * (1.5 + ((i * 3 + seed) % 7) / 20),
    metrics: { rchar: 5000 + ((i * 11 + seed * 5) % 40), rssmax: 20000 + i * 10 + seed },
  }));
}

/** Makes `tacho-b0`, `tacho-b1`… in a folder. */
export async function makeBuilds(folder: string, builds: Builds): Promise<void> {
  for (let i = 0; i < builds.count; i++) {
    const slow = i === builds.slow ? 4 : 1;
    const job = {
      id: `b${i}`,
      end: START + (builds.seconds + i / 10 + (slow > 1 ? builds.slowSeconds : 0)) * 1e6,
      tags: {
        exp_name: 'builds',
        exp_component: i % 2 === 0 ? 'even' : 'odd',
        exp_time: `20${10 + i}0101`,
        kind: slow > 1 ? 'slow' : 'usual',
      },
    };
    await makeProcessRecording({ c1: builds.processes(i, slow) }, job, path.join(folder, `tacho-b${i}`));
  }
}
