import * as zlib from 'node:zlib';
import swagger from '@fastify/swagger';
import fastify from 'fastify';
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { VERSION } from '../base/version.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { requireToken } from './access.ts';
import { Catalog } from './catalog.ts';
import { type OpenJob, OpenJobs } from './open-jobs.ts';
import { answerProblems, Problem } from './problems.ts';
import { chartRoutes } from './routes/charts.ts';
import { compareRoutes } from './routes/compare.ts';
import { jobRoutes } from './routes/jobs.ts';
import { liveRoutes } from './routes/live.ts';
import { metricRoutes } from './routes/metrics.ts';
import { noteRoutes } from './routes/notes.ts';
import { pageRoutes } from './routes/page.ts';
import { processRoutes } from './routes/processes.ts';
import { spanRoutes } from './routes/spans.ts';

export interface ServeOptions {
  folders: readonly string[];
  token: string;
  /** The folder of the built page. */
  page: string;
  /** The rules as the configuration has them. */
  rules?: RuleSettings;
}

/** What routes stand on. */
export interface Server {
  app: ReturnType<typeof makeApp>;
  catalog: Catalog;
  /** The recording with this id; a problem when there is none. */
  open(id: string): OpenJob;
  /** Something of the recording was changed here. */
  changed(job: OpenJob): void;
}

const makeApp = () =>
  fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 200 } })
    .withTypeProvider<ZodTypeProvider>()
    .setValidatorCompiler(validatorCompiler)
    .setSerializerCompiler(serializerCompiler);

/** Nothing comes from elsewhere, and nothing of the page runs anywhere else. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Shorter answers are sent as they are. */
const WORTH_PACKING = 1400;

/** The page and the questions that it asks. */
export async function makeServer({ folders, token, page, rules }: ServeOptions): Promise<Server> {
  const app = makeApp();
  const catalog = new Catalog(folders);
  const jobs = new OpenJobs(rules);
  answerProblems(app);
  app.addHook('onSend', async (request, reply, payload) => {
    reply.headers(HEADERS);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    const isPackable = typeof payload === 'string' && payload.length > WORTH_PACKING;
    if (!isPackable || !/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return zlib.gzipSync(payload, { level: 4 });
  });
  requireToken(app as never, token);
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Tacho', version: VERSION, description: 'What the page asks.' } },
    transform: jsonSchemaTransform,
  });
  const server: Server = {
    app,
    catalog,
    open(id) {
      const entry = catalog.find(id);
      if (entry === undefined) throw new Problem(404, 'there is no such job here');
      return jobs.get(entry);
    },
    changed: ({ entry }) => jobs.forget(entry),
  };
  await app.register(async (scope) => {
    const within = { ...server, app: scope.withTypeProvider<ZodTypeProvider>() as never };
    jobRoutes(within);
    chartRoutes(within);
    processRoutes(within);
    spanRoutes(within);
    noteRoutes(within);
    liveRoutes(within);
    compareRoutes(within);
    metricRoutes(within);
    scope.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger());
  });
  pageRoutes(server, page);
  return server;
}
