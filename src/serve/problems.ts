import type { FastifyInstance, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { Fault, reason } from '../base/fault.ts';

/** What goes wrong while a question is answered, with the status that says so. */
export class Problem extends Error {
  readonly status: number;

  constructor(status: number, title: string) {
    super(title);
    this.status = status;
  }
}

/** Every error is said as problem+json (RFC 9457), without anything of the program's inside. */
export function answerProblems(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) => say(reply, 404, `there is nothing at ${request.url.split('?')[0]}`));
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof Problem) return say(reply, error.status, error.message);
    if (hasZodFastifySchemaValidationErrors(error))
      return say(
        reply,
        400,
        'the question is not valid',
        error.validation.map((each) => `${each.instancePath.slice(1)}: ${each.message}`).join('; '),
      );
    if (error instanceof Fault) return say(reply, 422, error.message, error.hint);
    const { statusCode = 500 } = error as { statusCode?: number };
    if (statusCode < 500) return say(reply, statusCode, reason(error));
    process.stderr.write(`tacho serve: ${reason(error)}\n`);
    return say(reply, 500, 'Tacho could not answer this', reason(error));
  });
}

function say(reply: FastifyReply, status: number, title: string, detail?: string): FastifyReply {
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type: 'about:blank', title, status, ...(detail === undefined ? {} : { detail }) }));
}
