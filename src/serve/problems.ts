import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { Fault, reason } from '../base/fault.ts';
import type { Viewer } from './access/viewer.ts';

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
  app.setNotFoundHandler((request, reply) =>
    say(request, reply, 404, `there is nothing at ${request.url.split('?')[0]}`),
  );
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof Problem) return say(request, reply, error.status, error.message);
    if (hasZodFastifySchemaValidationErrors(error))
      return say(
        request,
        reply,
        400,
        'the question is not valid',
        error.validation.map((each) => `${each.instancePath.slice(1)}: ${each.message}`).join('; '),
      );
    if (error instanceof Fault) return say(request, reply, 422, error.message, error.hint);
    const { statusCode = 500 } = error as { statusCode?: number };
    if (statusCode < 500) return say(request, reply, statusCode, reason(error));
    process.stderr.write(`tacho serve: ${reason(error)}\n`);
    // what went wrong inside is the administrators' business
    const detail = (request.viewer as Viewer | undefined)?.kind === 'all' ? reason(error) : undefined;
    return say(request, reply, 500, 'Tacho could not answer this', detail);
  });
}

/** What the server refuses before any route or hook is asked: an address that cannot be read. */
export function answerUnreadable(error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) {
  say(request, reply, error.statusCode ?? 400, 'the address cannot be read: a % in it begins no character');
}

/** A browser that opens a page, not a script that asks. */
export const isNavigation = ({ headers, method, url }: FastifyRequest): boolean =>
  method === 'GET' && !url.startsWith('/api/') && String(headers.accept ?? '').includes('text/html');

function say(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  title: string,
  detail?: string,
): FastifyReply {
  // a browser that was to show a page shows the words
  if (isNavigation(request))
    return reply.code(status).type('text/html; charset=utf-8').send(problemPage(title, detail));
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type: 'about:blank', title, status, ...(detail === undefined ? {} : { detail }) }));
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

function problemPage(title: string, detail = ''): string {
  const heading = `${title.charAt(0).toUpperCase()}${title.slice(1)}.`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tacho</title><link rel="icon" href="data:,"></head>
<body><h1>Tacho</h1><p>${escaped(heading)}</p><p>${escaped(detail)}</p></body></html>
`;
}
