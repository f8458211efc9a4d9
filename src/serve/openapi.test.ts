import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START, temporary } from '../../test/make-recording.ts';
import { FolderCollection } from './collections/folders.ts';
import { makeServer } from './server.ts';

const TOKEN = 'a-token-of-the-test';

interface Described {
  parameters?: { in: string; name: string; required?: boolean; schema: object }[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

test('what is answered is what OpenAPI says, problems too', async () => {
  const folder = temporary();
  for (const id of ['1', '2'])
    await makeRecording({ folder: path.join(folder, id), job: { id, start: START, end: START + 60e6 } });
  const { app } = await makeServer({ collection: new FolderCollection([folder]), token: TOKEN, page: temporary() });
  const get = (url: string) => app.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } });
  const [one, two] = (await get('/api/jobs')).json().jobs as { id: string }[];
  const { paths, components } = (await get('/api/openapi.json')).json() as {
    paths: Record<string, Record<string, Described>>;
    components?: { schemas?: object };
  };
  const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
    Ajv2020: new (options: object) => { compile(schema: object): { (value: unknown): boolean; errors?: unknown } };
  };
  const ajv = new Ajv2020({ strict: false });
  const check = (schema: object, value: unknown, what: string): void => {
    const isRight = ajv.compile({ ...schema, components });
    assert.ok(isRight(value), `${what}: ${JSON.stringify(isRight.errors)}`);
  };
  const filled: Record<string, string> = { '{id}': one!.id, '{chart}': 'loadavg.load1' };
  let described = 0;
  for (const [route, { get: about }] of Object.entries(paths)) {
    if (about === undefined || route.endsWith('/live')) continue;
    const url = route.replaceAll(/\{\w+\}/g, (name) => filled[name] ?? 'x');
    const needed = (about.parameters ?? []).filter((each) => each.in === 'query' && each.required === true);
    const query = needed.map(({ name }) => `${name}=${name === 'jobs' ? `${one!.id},${two!.id}` : '1'}`).join('&');
    const response = await get(`${url}?${query}`);
    const { schema } = about.responses['200']?.content?.['application/json'] ?? {};
    assert.ok(schema !== undefined, `${route} does not say what it answers`);
    if (response.statusCode === 200) {
      check(schema, response.json(), route);
      described++;
    }
    const problem = about.responses['4XX']?.content?.['application/problem+json']?.schema;
    assert.ok(problem !== undefined, route);
    const wrong = await get(`${url.replace(one!.id, 'none')}?${query.replace(one!.id, 'none')}&nothing=1`);
    if (wrong.statusCode === 200) continue;
    assert.match(String(wrong.headers['content-type']), /^application\/problem\+json/, route);
    check(problem, wrong.json(), route);
  }
  assert.ok(described >= 9, String(described));
  await app.close();
});
