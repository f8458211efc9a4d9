import { stated } from '../../base/stated.ts';
import type { Listed } from '../../recording/folder/list.ts';
import { openRecording } from '../../recording/folder/open.ts';
import type { Run } from './command.ts';
import { schedulerRunner } from './job-facts.ts';
import { refreshJob } from './refresh.ts';

/** A scheduler serves others too, and who lists does not want to wait: so many at once, and so long in all. */
const AT_ONCE = 8;
const LIMIT_MS = 3000;

/** Own jobs that are over but could not say how they ended, as `tacho stop` is a part of its job: their scheduler may know. */
export async function refreshListed(listedJobs: readonly Listed[], run: Run = schedulerRunner(2)): Promise<Listed[]> {
  const listed = [...listedJobs];
  const open = listed.flatMap(({ state, job_state }, i) =>
    (state === 'ended' || state === 'sealed') && (job_state === 'running' || job_state === 'unknown') ? [i] : [],
  );
  const limit = performance.now() + LIMIT_MS;
  for (let next = 0; next < open.length && performance.now() < limit; next += AT_ONCE) {
    await Promise.all(
      open.slice(next, next + AT_ONCE).map(async (i) => {
        listed[i] = await refreshed(listed[i]!, run);
      }),
    );
  }
  return listed;
}

async function refreshed(each: Listed, run: Run): Promise<Listed> {
  const recording = openRecording(each.path);
  const { scheduler, uid } = recording.job;
  if (scheduler === 'none' || scheduler === 'file' || uid !== process.getuid!()) return each;
  const { state, end } = await refreshJob(recording, { run });
  return { ...each, job_state: state, ...stated({ end }) };
}
