import { z } from 'zod';
import type { Share } from '../access/shares.ts';
import { stateOf } from '../access/shares.ts';
import { mayWrite, ownerOf, type Viewer } from '../access/viewer.ts';
import { type JobShare, jobShare, madeShare, shareRequest } from '../api.ts';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const params = z.strictObject({ id: z.string() });
const DAY_US = 86_400e6;

/** Links to one job, which end by themselves or when they are revoked. */
export function shareRoutes({ app, open, shares, origin }: Server): void {
  const withoutHash = ({ hash: _, ...share }: Share): JobShare => ({
    ...share,
    state: stateOf({ hash: '', ...share }),
  });
  app.post(
    '/api/jobs/:id/shares',
    { schema: { params, body: shareRequest, response: { 200: madeShare }, summary: 'Makes a link to a job' } },
    async ({ params: { id }, body: { days }, viewer, headers, protocol }) => {
      const job = await open(viewer, id);
      if (!mayWrite(viewer, ownerOf(job))) throw new Problem(403, 'only the owner of a job can share it');
      const { job: facts } = job.recording;
      const by = viewer.kind === 'guest' ? '' : (viewer.user ?? '');
      const name = `${facts.id} ${facts.name}`.trim().slice(0, 200);
      const { share, secret } = shares.add({ job: id, name, by, expires: Date.now() * 1000 + days * DAY_US });
      return {
        ...withoutHash(share),
        url: `${origin ?? `${protocol}://${headers.host ?? 'localhost'}`}/share/${secret}`,
      };
    },
  );
  app.get(
    '/api/jobs/:id/shares',
    { schema: { params, response: { 200: z.array(jobShare) }, summary: 'The links to a job' } },
    async ({ params: { id }, viewer }) => {
      const job = await open(viewer, id);
      if (!mayWrite(viewer, ownerOf(job))) throw new Problem(403, 'only the owner of a job sees its links');
      return shares.list().flatMap((share) => (share.job === id ? [withoutHash(share)] : []));
    },
  );
  const own = (viewer: Viewer): readonly Share[] =>
    shares.list().filter(({ by }) => viewer.kind === 'all' || (viewer.kind === 'user' && by === viewer.user));
  app.get(
    '/api/shares',
    { schema: { response: { 200: z.array(jobShare) }, summary: 'The links that you made; of administrators: all' } },
    async ({ viewer }) => own(viewer).map(withoutHash),
  );
  app.delete(
    '/api/shares/:share',
    {
      schema: {
        params: z.strictObject({ share: z.string() }),
        response: { 200: jobShare },
        summary: 'Revokes a link: it opens nothing any more',
      },
    },
    async ({ params: { share: id }, viewer }) => {
      if (!own(viewer).some((share) => share.id === id)) throw new Problem(404, 'there is no such link of yours');
      shares.revoke(id);
      return withoutHash(shares.list().find((share) => share.id === id)!);
    },
  );
}
