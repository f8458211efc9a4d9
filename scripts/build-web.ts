import * as fs from 'node:fs';
import * as path from 'node:path';
import { build } from 'esbuild';

const HERE = path.join(import.meta.dirname, '..');

const SHARED = {
  bundle: true,
  minify: true,
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
} as const;

/** Makes the page: web/dist, or the folder given. Nothing in it comes from elsewhere when it is shown. */
export async function buildWeb(folder = path.join(HERE, 'web/dist')): Promise<void> {
  fs.mkdirSync(folder, { recursive: true });
  for (const old of fs.globSync('part-*.js', { cwd: folder })) fs.rmSync(path.join(folder, old));
  // the page of one job for `tacho report --format html`: one script, which stands in that file
  await build({
    ...SHARED,
    entryPoints: [path.join(HERE, 'web/src/job-file.tsx')],
    outfile: path.join(folder, 'job-file.js'),
    format: 'iife',
    charset: 'ascii',
  });
  await build({
    ...SHARED,
    entryPoints: [path.join(HERE, 'web/src/main.tsx')],
    outdir: folder,
    entryNames: 'app',
    // what draws is a file of its own: the table of jobs is there before it
    splitting: true,
    chunkNames: 'part-[hash]',
    format: 'esm',
  });
  await build({
    entryPoints: [path.join(HERE, 'web/style.css')],
    outfile: path.join(folder, 'app.css'),
    minify: true,
    logLevel: 'warning',
  });
  // a job page needs it at once: the browser gets it while it reads app.js
  const partFiles = fs.globSync('part-*.js', { cwd: folder }).sort();
  const preloads = partFiles.map((name) => `<link rel="modulepreload" href="/${name}" />`).join('\n    ');
  const page = fs.readFileSync(path.join(HERE, 'web/index.html'), 'utf8');
  fs.writeFileSync(path.join(folder, 'index.html'), page.replace('<link rel="stylesheet"', `${preloads}\n    $&`));
}

if (process.argv[1] === import.meta.filename) await buildWeb(process.argv[2]);
