import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { Fault, reason } from '../base/fault.ts';
import { asMarkup } from '../base/markup.ts';
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
  const why = request.url.includes('%') ? ': a % in it begins no character' : '';
  say(request, reply, error.statusCode ?? 400, `the address cannot be read${why}`);
}

/** What is no HTTP at all: there is no request that could be answered. */
export function answerGarbage(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, title] = GARBAGE[error.code] ?? [400, 'this is no request of HTTP'];
  const body = JSON.stringify({ type: 'about:blank', title, status });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Content-Type: application/problem+json; charset=utf-8',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const GARBAGE: Readonly<Record<string, [status: number, title: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers of the request are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
};

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

function problemPage(title: string, detail = ''): string {
  const heading = `${title.charAt(0).toUpperCase()}${title.slice(1)}.`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tacho</title><link rel="icon" href="data:,"></head>
<body><h1>Tacho</h1><p>${asMarkup(heading)}</p><p>${asMarkup(detail)}</p></body></html>
`;
}
