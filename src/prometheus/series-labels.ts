import { isFleet } from '../recording/folder/fleet.ts';
import type { Job } from '../recording/folder/job.ts';

/** Name and value of labels, in the order they are written. */
export type Labels = readonly (readonly [string, string])[];

/** What is on every series of a recording: its node, and its job and user unless the node records itself. Ids of jobs are the users' to choose. */
export function recordingLabels(node: string, job: Job, more: Labels = []): Labels {
  const labels: [string, string][] = [['node', node]];
  if (!isFleet(job)) {
    labels.push(['job', job.id], ['user', job.user]);
    if (job.restart !== undefined && job.restart > 0) labels.push(['restart', String(job.restart)]);
    if (job.recorded_by !== undefined) labels.push(['recorded_by', job.recorded_by]);
  }
  return [...labels, ...more];
}

/** The labels without those that something else is called like: what a series says itself counts more than what is added. */
export function labelsBeside(labels: Labels, own: readonly string[]): Labels {
  return labels.filter(([name]) => !own.includes(name));
}

/** All labels of a fact. The cluster is the one that the site names: by it all series of a store are told apart. */
export function factLabels(common: Labels, own: Readonly<Record<string, string>>): Labels {
  const ownLabels = Object.entries(own).filter(
    ([name, value]) => value !== '' && !(name === 'cluster' && common.some(([each]) => each === name)),
  );
  const names = ownLabels.map(([name]) => name);
  return [...labelsBeside(common, names), ...ownLabels];
}
