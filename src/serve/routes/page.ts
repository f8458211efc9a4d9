import * as fs from 'node:fs';
import * as path from 'node:path';
import * as zlib from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isNavigation, Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const FILES: Readonly<Record<string, string>> = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'index.html': 'text/html; charset=utf-8',
};

/** The charts in sight as the page asks for them; the one that takes longer to make comes last. */
const FIRST_CHARTS = ['runnable', 'cpu'].map((chart) => `/charts/${chart}?points=400&empty=allowed`);

interface Sent {
  type: string;
  text: string;
  packed: Buffer;
  made: number;
}

/** The page itself: every address that is no question shows it. */
export function pageRoutes({ app, base }: Server, folder: string): void {
  const kept = new Map<string, Sent>();
  /** Packed once, as small as can be: it is most of what a browser loads. */
  const read = (name: string): Sent => {
    const file = path.join(folder, name);
    const made = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (made === undefined) throw missing(name);
    const before = kept.get(name);
    if (before?.made === made) return before;
    const whole = fs.readFileSync(file, 'utf8');
    const text = base !== '' && name === 'index.html' ? below(base, whole) : whole;
    const sent = { type: FILES[name] ?? FILES['app.js']!, text, packed: zlib.gzipSync(text, { level: 9 }), made };
    kept.set(name, sent);
    return sent;
  };
  const send = (name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { type, text, packed } = read(name);
    reply.type(type);
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(text);
    return reply.header('content-encoding', 'gzip').send(packed);
  };
  for (const name of ['app.js', 'app.css'])
    app.get(`/${name}`, { schema: { hide: true } }, (request, reply) => send(name, request, reply as never));
  // the name has the contents in it: whoever has such a file has the right one
  app.get(
    '/part-:name.js',
    { schema: { hide: true, params: z.strictObject({ name: z.string().regex(/^[A-Z0-9]{1,20}$/) }) } },
    (request, reply) => {
      reply.header('cache-control', 'private, max-age=31536000, immutable');
      return send(`part-${request.params.name}.js`, request, reply as never);
    },
  );
  app.get(
    '/job/:id',
    { schema: { hide: true, params: z.strictObject({ id: z.string() }) } },
    ({ params: { id }, query }, reply) => {
      const job = `${base}/api/jobs/${encodeURIComponent(id)}`;
      // what the page asks first is worked out while the browser reads the page
      const asked = ['', '/processes', '/charts', '/spans', '/columns'];
      if (Object.keys(query as object).length === 0) asked.push(...FIRST_CHARTS);
      reply.header('link', asked.map((what) => `<${job}${what}>; rel=preload; as=fetch; crossorigin`).join(', '));
      return send('index.html', reply.request, reply as never);
    },
  );
  for (const address of ['/', '/compare', '/metrics', '/nodes', '/history', '/scaling', '/experiment'])
    app.get(address, { schema: { hide: true } }, (request, reply) => send('index.html', request, reply as never));
  // of an address that there is not, the page says so itself, below its menu
  app.get('/*', { schema: { hide: true } }, (request, reply) => {
    if (!isNavigation(request)) throw new Problem(404, `there is nothing at ${request.url.split('?')[0]}`);
    return send('index.html', request, reply.code(404) as never);
  });
}

/** Parts of the page that a browser has open are gone when another version was installed. */
const missing = (name: string): Problem =>
  name.startsWith('part-')
    ? new Problem(404, `the page has no ${name} any more: load it again`)
    : new Problem(503, `the page was not built: ${name} is missing`);

/** The page where a proxy shows it below a path of its own. */
const below = (base: string, page: string): string =>
  page
    .replaceAll(/(href|src)="\/(?=app\.|part-)/g, `$1="${base}/`)
    .replace('<head>', `<head><meta name="tacho-base" content="${base}">`);
