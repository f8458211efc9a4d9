import * as path from 'node:path';
import { VERSION } from '../../base/version.ts';
import { saveJob } from '../../recording/folder/create.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { readJob } from '../../recording/folder/open.ts';
import { Host } from '../../sources/host.ts';
import { WHOLE_NODE } from '../../sources/scope.ts';
import { Agent } from '../loop/agent.ts';
import { prepared } from '../loop/prepared.ts';
import { type Common, inCommon, readAgent } from './common.ts';

export type FleetRecording = ReturnType<typeof recordFleet>;

/** The UTC day of a moment in epoch microseconds. */
export const dayOf = (time: number): string => new Date(time / 1000).toISOString().slice(0, 10);

/** Records the node itself, whoever runs on it: a recording a day. */
export function recordFleet(spool: string, intervalSeconds: number, common: Common) {
  const now = common.clock.now();
  const day = dayOf(now);
  const id = `fleet-${day}`;
  const folder = path.join(spool, id);
  const before = readJob(folder);
  const job: Job = before ?? {
    format: FORMAT,
    tacho: VERSION,
    id,
    scheduler: 'none',
    name: id,
    user: '',
    uid: -1,
    asked: {},
    nodes: [common.node],
    interval_seconds: intervalSeconds,
    start: now,
    state: 'running',
    tags: {},
    environment: {},
  };
  const nodePath = path.join(folder, nodeFolder(common.node));
  const prepare = prepared(folder, nodePath, () => job, before === undefined);
  const old = common.aside.complete(nodePath, readAgent(nodePath));
  const agent = new Agent({
    ...inCommon(common, old),
    folder: nodePath,
    prepare,
    host: new Host(common.root),
    facts: { ...common.facts, gpus: [...common.facts.gpus] },
    intervalSeconds,
  });
  agent.open(common.shared.kinds, WHOLE_NODE);
  common.shared.attach(agent);
  agent.start();
  return {
    folder,
    /** As in the folder's name: 2026-11-15. */
    day,
    agent,
    job,
    /** The day is over: there will be no more in this recording. */
    async end(): Promise<void> {
      await agent.stop('the day has ended');
      saveJob(folder, { ...job, state: 'completed', end: Math.max(common.clock.now(), job.start) });
    },
    pause: (why: string): Promise<void> => agent.stop(why),
  };
}
