import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { fakeGpu, hasCompiler } from './fake-gpu/build.ts';

const home = path.join(import.meta.dirname, '..');

test('isolated sources are read when all of Tacho is one file', {
  skip: hasCompiler() ? false : 'no C compiler',
}, async (t) => {
  fakeGpu(t, 'nvml', 'cards 1\n');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bundle-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.symlinkSync(path.join(home, 'node_modules'), path.join(folder, 'node_modules'));
  const main = `
    if (process.argv[2] === '--isolated-sources') {
      const { runWorker } = await import('${home}/src/agent/isolated/worker.ts');
      runWorker();
    } else {
      const { IsolatedSources } = await import('${home}/src/agent/isolated/isolated.ts');
      const isolated = new IsolatedSources(['gpu'], {
        root: '/nonexistent',
        scope: { members: { by: 'node' }, exclude: [], redact: false },
        note: (note) => console.log(note),
        async deliver(frame) {
          console.log(frame.table.name, frame.rows, frame.numbers[frame.number('power_watts')]);
          await isolated.close();
          process.exit();
        },
      });
      isolated.request(Date.now() * 1000);
      setTimeout(() => process.exit(1), 120000);
    }`;
  await build({
    stdin: { contents: main, resolveDir: home, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    external: ['koffi'],
    define: { TACHO_VERSION: '"0"' },
    outfile: path.join(folder, 'tacho.mjs'),
    logLevel: 'error',
  });
  const output = execFileSync(process.execPath, [path.join(folder, 'tacho.mjs')], {
    encoding: 'utf8',
    timeout: 180_000,
  });
  assert.equal(output, 'gpu 1 100.502\n');
});
