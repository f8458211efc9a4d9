import * as fs from 'node:fs';
import * as os from 'node:os';
import { Fault, reason } from '../../base/fault.ts';
import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import { type SchedulerFacts, whole } from './scheduler.ts';

/**
 * Facts from a job file: the JSON with RMS_* keys that prologs write for Omnistat.
 * `RMS_JOB_ID` is needed; the file says nothing of the nodes' names, so `RMS_JOB_NODELIST` may be added.
 */
export function factsFromFile(file: string): SchedulerFacts {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read the job file ${file}: ${reason(error)}`);
  }
  let parsedFacts: Record<string, unknown>;
  try {
    parsedFacts = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new Fault(`the job file ${file} is not JSON: ${reason(error)}`, { hint: HINT });
  }
  const value = (key: string): string | undefined => {
    const v = parsedFacts?.[`RMS_${key}`];
    return typeof v === 'string' || typeof v === 'number' ? String(v).trim() || undefined : undefined;
  };
  const id = value('JOB_ID');
  if (id === undefined) throw new Fault(`the job file ${file} has no RMS_JOB_ID`, { hint: HINT });
  const listed = expandHostlist(value('JOB_NODELIST') ?? '');
  return stated({
    id,
    name: value('JOB_NAME'),
    user: value('JOB_USER'),
    partition: value('JOB_PARTITION'),
    account: value('JOB_ACCOUNT'),
    nodes: listed.length > 0 ? listed : [os.hostname()],
    asked: stated({ nodes: whole(value('JOB_NUM_NODES')) }),
  }) as SchedulerFacts;
}

const HINT =
  'it looks like {"RMS_TYPE":"slurm","RMS_JOB_ID":"74129","RMS_JOB_USER":"auser","RMS_JOB_PARTITION":"devel","RMS_JOB_NUM_NODES":"2"}';
