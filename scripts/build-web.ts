import * as fs from 'node:fs';
import * as path from 'node:path';
import { build } from 'esbuild';

const HERE = path.join(import.meta.dirname, '..');

/** Makes the page: web/dist, or the folder given. Nothing in it comes from elsewhere when it is shown. */
export async function buildWeb(folder = path.join(HERE, 'web/dist')): Promise<void> {
  fs.mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [path.join(HERE, 'web/src/main.tsx')],
    outfile: path.join(folder, 'app.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
  await build({
    entryPoints: [path.join(HERE, 'web/style.css')],
    outfile: path.join(folder, 'app.css'),
    minify: true,
    logLevel: 'warning',
  });
  fs.copyFileSync(path.join(HERE, 'web/index.html'), path.join(folder, 'index.html'));
}

if (process.argv[1] === import.meta.filename) await buildWeb(process.argv[2]);
