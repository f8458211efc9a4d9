import type { FastifyInstance } from 'fastify';

/**
 * Answers are made one after the other, and between two of them the connections are looked at: who has gone on to another page
 * waits for no answer, and nobody else waits for it either. Files of the page come in between.
 */
export function takeTurns(app: FastifyInstance): void {
  let last: Promise<unknown> = Promise.resolve();
  app.addHook('preHandler', async ({ raw: { socket } }, reply) => {
    last = last.then(nextLook).then(nextLook);
    await last;
    if (!socket?.readableEnded && !socket?.destroyed) return undefined;
    reply.hijack();
    return reply;
  });
}

/** Behind one look at the connections comes what was asked, behind the next that nobody asks any more. */
const nextLook = (): Promise<void> => new Promise((done) => setImmediate(done));
