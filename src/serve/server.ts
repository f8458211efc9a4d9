import * as zlib from 'node:zlib';
import swagger from '@fastify/swagger';
import fastify from 'fastify';
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Fault } from '../base/fault.ts';
import { VERSION } from '../base/version.ts';
import { admit } from './access/admit.ts';
import type { Door } from './access/door.ts';
import { tokenDoor } from './access/loopback-token.ts';
import { Shares } from './access/shares.ts';
import { maySee, ownerOf, type Viewer } from './access/viewer.ts';
import { type JobList, problem } from './api.ts';
import type { Collection, OpenJob } from './collections/collection.ts';
import type { Watch } from './followers.ts';
import { answerGarbage, answerProblems, answerUnreadable, Problem } from './problems.ts';
import { chartRoutes } from './routes/charts.ts';
import { compareRoutes } from './routes/compare.ts';
import { daskRoutes } from './routes/dask.ts';
import { experimentRoutes } from './routes/experiment.ts';
import { jobRoutes } from './routes/jobs.ts';
import { liveRoutes } from './routes/live.ts';
import { metricRoutes } from './routes/metrics.ts';
import { nodeRoutes } from './routes/nodes.ts';
import { noteRoutes } from './routes/notes.ts';
import { pageRoutes } from './routes/page.ts';
import { processRoutes } from './routes/processes.ts';
import { scaleRoutes } from './routes/scale.ts';
import { shareRoutes } from './routes/shares.ts';
import { spanRoutes } from './routes/spans.ts';
import { threadRoutes } from './routes/threads.ts';
import { takeTurns } from './turns.ts';

export interface ServeOptions {
  collection: Collection;
  /** How it is found out who asks: a token, or a door of the site's. */
  token?: string;
  door?: Door;
  /** Links to single jobs (default: some that end with the server). */
  shares?: Shares;
  /** Where browsers reach the server, when it is not what they ask for. */
  url?: URL;
  /** The folder of the built page. */
  page: string;
}

/** What routes stand on. */
export interface Server {
  app: ReturnType<typeof makeApp>;
  /** The jobs that somebody sees. */
  list(viewer: Viewer): Promise<JobList>;
  /** All jobs, whoever may see them: only for what names none of them. */
  everybody(): Promise<JobList>;
  /** The job with this id; a problem when there is none that this viewer sees: the two are not told apart. */
  open(viewer: Viewer, id: string): Promise<OpenJob>;
  watch: Watch;
  shares: Shares;
  origin?: string;
  /** What a proxy puts before every path, and takes away again: '' or '/rnode/c1/8080'. */
  base: string;
  /** Something of the recording was changed here. */
  changed(job: OpenJob): void;
}

const makeApp = () =>
  fastify({
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200 },
    clientErrorHandler: answerGarbage,
    // no hook runs before it
    frameworkErrors: (error, request, reply) =>
      answerUnreadable(error, request as never, reply.headers(HEADERS) as never),
  })
    .withTypeProvider<ZodTypeProvider>()
    .setValidatorCompiler(validatorCompiler)
    .setSerializerCompiler(serializerCompiler);

/** Nothing comes from elsewhere, and nothing of the page runs anywhere else. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const noSuchJob = (): Problem => new Problem(404, 'there is no such job here');

/** The path of an address, checked: it is a part of the page. */
export function baseOf(url: URL | undefined): string {
  const path = url?.pathname.replace(/\/+$/, '') ?? '';
  if (/^(?:\/[\w.~%-]+)*$/.test(path)) return path;
  throw new Fault(`serve.url: ${path} cannot be the path of a page`, { exit: 2 });
}

const PROBLEM = {
  description: 'What went wrong.',
  content: { 'application/problem+json': { schema: z.toJSONSchema(problem) } },
};

/** Shorter answers are sent as they are. */
const WORTH_PACKING = 1400;
const LARGE = 1 << 20;

/** The page and the questions that it asks. */
export async function makeServer(options: ServeOptions): Promise<Server> {
  const { collection, token, page, url, shares = new Shares() } = options;
  const base = baseOf(url);
  const door = options.door ?? (token === undefined ? undefined : tokenDoor(token, base));
  if (door === undefined) throw new Error('nobody could be let in');
  const app = makeApp();
  app.addHook('onClose', () => collection.close());
  answerProblems(app);
  app.addHook('onSend', async (request, reply, payload) => {
    reply.headers(HEADERS);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    const isPackable = typeof payload === 'string' && payload.length > WORTH_PACKING;
    if (!isPackable || !/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    // of a table of ten thousand jobs the packing must not take longer than the rest
    return zlib.gzipSync(payload, { level: payload.length > LARGE ? 1 : 4 });
  });
  admit(app as never, { door, shares, base, isSecure: url?.protocol === 'https:' });
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Tacho', version: VERSION, description: 'What the page asks.' } },
    transform(route) {
      const made = jsonSchemaTransform(route);
      const described = (made.schema ?? {}) as { hide?: boolean; response?: object };
      if (described.hide !== true) described.response = { ...described.response, '4XX': PROBLEM, '5XX': PROBLEM };
      return made;
    },
  });
  const server: Server = {
    app,
    async list(viewer) {
      const all = await collection.list();
      return viewer.kind === 'all' ? all : { ...all, jobs: all.jobs.filter((job) => maySee(viewer, job)) };
    },
    everybody: () => collection.list(),
    async open(viewer, id) {
      const job = await collection.open(id);
      if (job === undefined || !maySee(viewer, ownerOf(job))) throw noSuchJob();
      return job;
    },
    watch: {
      async open(id) {
        const job = await collection.open(id);
        if (job === undefined) throw noSuchJob();
        return job;
      },
      maySee: (viewer, job) => maySee(viewer, ownerOf(job)),
    },
    changed: (job) => collection.changed(job),
    shares,
    base,
    ...(url === undefined ? {} : { origin: url.href.replace(/\/$/, '') }),
  };
  await app.register(async (scope) => {
    takeTurns(scope);
    const within = { ...server, app: scope.withTypeProvider<ZodTypeProvider>() as never };
    jobRoutes(within);
    chartRoutes(within);
    processRoutes(within);
    spanRoutes(within);
    daskRoutes(within);
    noteRoutes(within);
    shareRoutes(within);
    liveRoutes(within);
    compareRoutes(within);
    metricRoutes(within);
    threadRoutes(within);
    nodeRoutes(within);
    experimentRoutes(within);
    scaleRoutes(within);
    scope.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger());
  });
  pageRoutes(server, page);
  return server;
}
