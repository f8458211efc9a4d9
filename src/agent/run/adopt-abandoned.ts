import * as fs from 'node:fs';
import * as path from 'node:path';
import { namesIn } from '../../base/folder.ts';
import { RECORD_FOLDERS } from '../../control/record-folders.ts';
import { type ProcessId, stillRuns } from '../../jobs/on-node/process-id.ts';

/**
 * What processes of this user's jobs have recorded of themselves lies in memory until their agent has read it. Of agents
 * that were killed it goes into their recordings, as soon as nobody writes there any more: with the next recording that
 * begins or ends here.
 */
export async function adoptAbandoned(): Promise<void> {
  const abandoned = RECORD_FOLDERS.flatMap(abandonedIn);
  const written = writtenTo(abandoned.map(({ folder }) => eventsIn(folder)));
  for (const { folder, recording } of abandoned) {
    if (written.has(eventsIn(folder))) continue;
    try {
      const { adoptRecords } = await import('./adopt-records.ts');
      const { openRecording } = await import('../../recording/folder/open.ts');
      const { asOwner } = await import('../../recording/folder/as-owner.ts');
      await asOwner(recording, (at) => adoptRecords(openRecording(at), false));
    } catch {
      // a recording that cannot be opened or written now: it waits there for `tacho verify`, which says why
    }
  }
}

/** Folders that `tacho run` or `start` of this user have made, and whose agent no longer runs. */
function abandonedIn(abandonedFolder: string): { folder: string; recording: string }[] {
  const mine = `tacho-${process.getuid!()}-`;
  return namesIn(abandonedFolder).flatMap((name) => {
    if (!name.startsWith(mine)) return [];
    const folder = `${abandonedFolder}/${name}`;
    try {
      const { uid, mode } = fs.lstatSync(folder);
      // those of a service are for its next agent
      if (uid !== process.getuid!() || (mode & 0o077) !== 0) return [];
      const agent = JSON.parse(fs.readFileSync(`${folder}/agent`, 'utf8')) as ProcessId & {
        recording: string;
      };
      // of a recording that was removed nothing can be completed: all processes would be looked at in vain, each time
      return !fs.existsSync(`${agent.recording}/job.json`) || stillRuns(agent)
        ? []
        : [{ folder, recording: agent.recording }];
    } catch {
      return [];
    }
  });
}

const eventsIn = (folder: string): string => path.join(folder, 'events');

/** Which of these files processes that run record themselves in. All processes are looked at once. */
function writtenTo(files: readonly string[]): Set<string> {
  const written = new Set<string>();
  for (const pid of files.length === 0 ? [] : namesIn('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const environment = fs.readFileSync(`/proc/${pid}/environ`, 'latin1');
      for (const file of files) if (environment.includes(`TACHO_RECORD=${file}\0`)) written.add(file);
    } catch {
      // it has gone, or is somebody else's
    }
  }
  return written;
}
