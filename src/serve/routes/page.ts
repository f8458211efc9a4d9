import * as fs from 'node:fs';
import * as path from 'node:path';
import { Problem } from '../problems.ts';
import type { Server } from '../server.ts';

const FILES: Readonly<Record<string, string>> = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'index.html': 'text/html; charset=utf-8',
};

/** The page itself: three files; every address that is no question shows it. */
export function pageRoutes({ app }: Server, folder: string): void {
  const send = (name: keyof typeof FILES) => {
    const file = path.join(folder, name);
    if (!fs.existsSync(file)) throw new Problem(503, `the page was not built: ${file} is missing`);
    return { text: fs.readFileSync(file, 'utf8'), type: FILES[name]! };
  };
  for (const name of ['app.js', 'app.css'])
    app.get(`/${name}`, { schema: { hide: true } }, (_, reply) => {
      const { text, type } = send(name);
      return reply.type(type).send(text);
    });
  for (const address of ['/', '/job/:id', '/compare', '/metrics'])
    app.get(address, { schema: { hide: true } }, (_, reply) => {
      const { text, type } = send('index.html');
      return reply.type(type).send(text);
    });
}
