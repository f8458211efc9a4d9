import { z } from 'zod';
import { liveNotice } from '../api.ts';
import { Followers, noticeOf } from '../followers.ts';
import type { Server } from '../server.ts';

/** What a browser waits before it tries again. */
const AGAIN_MS = 1000;

/** As OpenAPI says it; they are written past Fastify. */
const EVENTS = {
  description: 'Server-sent events without end, `event: sample`; the data of each is a notice as JSON.',
  content: { 'text/event-stream': { schema: liveNotice } },
};

/** Pushes a notice with every new sample of a job that runs (server-sent events). */
export function liveRoutes({ app, open, watch }: Server): void {
  const followers = new Followers(watch);
  app.addHook('onClose', async () => followers.close());
  app.get(
    '/api/jobs/:id/live',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        response: { 200: EVENTS },
        summary: 'Follows a job: one event for each sample',
      },
    },
    async ({ params: { id }, viewer }, reply) => {
      const job = await open(viewer, id);
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        // a proxy in front must not keep events back
        'x-accel-buffering': 'no',
      });
      const send = (notice: object): void => {
        // somebody who does not read is not written to for ever
        if (raw.writableNeedDrain) return;
        raw.write(`event: sample\ndata: ${JSON.stringify(notice)}\n\n`);
      };
      raw.write(`retry: ${AGAIN_MS}\n\n`);
      send(noticeOf(job));
      // whoever may not see it any more (a link that was revoked) is told no more
      const stop = followers.follow(id, { viewer, tell: send, end: () => raw.end() });
      raw.on('close', stop);
    },
  );
}
