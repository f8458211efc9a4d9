import * as path from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import { VERSION } from '../../base/version.ts';
import type { NodeJob, NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { saveJob } from '../../recording/folder/create.ts';
import { FORMAT } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { Host } from '../../sources/host.ts';
import type { Common } from './common.ts';
import { newJob } from './job-description.ts';

/** Why a node has no sample of a job. */
const NOBODY_THERE = 'no agent was running on this node while the job ran';

/**
 * A job that began and ended while no agent was there, as its prolog and epilog tell: a recording without samples, which
 * `closeLeftOver` completes.
 */
export function recordMissed(
  folder: string,
  nodeJob: NodeJob,
  end: NodeJobEnd,
  interval: number,
  common: Common,
): void {
  const job = newJob(nodeJob, interval, common, new Host(common.root));
  const nodePath = path.join(folder, nodeFolder(common.node));
  makeFolder(nodePath, 0o700);
  const record: AgentRecord = {
    format: FORMAT,
    tacho: VERSION,
    node: common.node,
    pid: process.pid,
    interval_seconds: interval,
    service: true,
    service_start: Math.round(performance.timeOrigin * 1000),
    start: job.start,
    end: Math.max(end.end ?? job.start, job.start),
    end_reason: NOBODY_THERE,
    facts: common.facts,
    scope: { members: 'none' },
    tables: [],
    unmeasured: [],
    ticks: 0,
    late_ticks: 0,
    missed_ticks: 0,
    cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: 0 },
  };
  replaceJson(path.join(nodePath, 'agent.json'), record);
  // what is found without it is closed by the next agent
  saveJob(folder, job);
}
