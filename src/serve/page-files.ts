import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { ours } from '../base/ours.ts';

/** Where the page is: beside the program in a release; a checkout makes it of web/ when that has changed. */
export function pageFolder(): string {
  const page = ours('web');
  if (fs.existsSync(path.join(page, 'app.js'))) return page;
  const built = path.join(page, 'dist');
  if (!isStale(built, page)) return built;
  // a checkout that only records has no need of them
  if (!fs.existsSync(ours('node_modules/echarts')))
    spawnSync('sh', [ours('scripts/install'), '--dev'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ours('scripts/build-web.ts')], {
    encoding: 'utf8',
  });
  if (done.status !== 0)
    throw new Fault(`the page could not be built: ${done.stderr.trim().split('\n').at(-1)}`, {
      hint: 'npm install gets what it is made of; a release brings it ready-made (docs/install.md)',
    });
  return built;
}

/** Whether a source is newer than what was made of it. */
function isStale(built: string, sources: string): boolean {
  const [made = 0] = ['job-file.js', 'app.js']
    .map((name) => fs.statSync(path.join(built, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
    .sort((a, b) => a - b);
  const files = fs.globSync(['src/**/*', 'style.css', 'index.html', '../src/charts/*.ts'], { cwd: sources });
  return files.some((file) => fs.statSync(path.join(sources, file)).mtimeMs > made);
}
