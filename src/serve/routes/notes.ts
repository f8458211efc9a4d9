import * as fs from 'node:fs';
import * as path from 'node:path';
import { z } from 'zod';
import { Fault } from '../../base/fault.ts';
import { annotated } from '../../database/annotate.ts';
import { asOwner } from '../../recording/folder/as-owner.ts';
import type { Job } from '../../recording/folder/job.ts';
import { updateJob } from '../../recording/folder/update-job.ts';
import { mayWrite, ownerOf, type Viewer } from '../access/viewer.ts';
import { annotation, type JobNotes, jobNotes } from '../api.ts';
import type { OpenJob } from '../collections/collection.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const params = z.strictObject({ id: z.string() });

/** Notes and tags of a job: read, and changed where the recording may be written. */
export function noteRoutes({ app, open, changed }: Server): void {
  app.get(
    '/api/jobs/:id/notes',
    { schema: { params, response: { 200: jobNotes }, summary: 'Annotations and tags of a job' } },
    async ({ params: { id }, viewer }) => {
      const opened = await open(viewer, id);
      return notesOf(opened.recording.job, writableFolder(opened, viewer) !== undefined);
    },
  );
  app.post(
    '/api/jobs/:id/notes',
    {
      schema: { params, body: annotation, response: { 200: jobNotes }, summary: 'Annotates a job, or tags it' },
    },
    async ({ params: { id }, body: { annotations = {}, tags = {}, remove = [] }, viewer }) => {
      const opened = await open(viewer, id);
      if (!mayWrite(viewer, ownerOf(opened))) throw new Problem(403, 'only the owner of a job can annotate it');
      const folder = writableFolder(opened, viewer);
      if (folder === undefined) throw new Problem(403, 'this recording cannot be written by tacho serve');
      try {
        const job = await asOwner(folder, (own) =>
          updateJob(own, (now) => annotated(now, { annotations, tags, remove })),
        );
        changed(opened);
        return notesOf(job, true);
      } catch (error) {
        if (error instanceof Fault) throw new Problem(409, error.message);
        throw error;
      }
    },
  );
}

const notesOf = ({ annotations = {}, tags }: Job, writable: boolean): JobNotes => ({ annotations, tags, writable });

/** Where notes go; undefined: this viewer may not write them, or nobody can. */
function writableFolder(opened: OpenJob, viewer: Viewer): string | undefined {
  const { folder } = opened;
  return folder !== undefined && mayWrite(viewer, ownerOf(opened)) && isWritable(folder) ? folder : undefined;
}

function isWritable(folder: string): boolean {
  try {
    for (const file of [folder, path.join(folder, 'job.json')]) fs.accessSync(file, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
