import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { PublishedTruth } from '../../scripts/truth-reference.ts';
import { countedVerdicts, isWithin, ratioText, verdictOf } from '../../scripts/truth-verdict.ts';
import { loadRange, machineInWords } from '../machine.ts';
import { type Figure, has, onGround } from './ground.ts';
import { jobs } from './jobs.ts';

/**
 * `npm run truth [-- WORD…]`: every job of known size (whose name has one of the words in it), as a table of ratios.
 * `--publish` keeps those of a run of all jobs for docs/truth.md and renews it.
 */

const PUBLISHED = path.join(import.meta.dirname, '../../docs/truth.json');
const DOCS_SCRIPT = path.join(import.meta.dirname, '../../scripts/docs.ts');

const PACKAGES: Readonly<Record<string, string>> = {
  cc: 'gcc',
  'musl-gcc': 'musl-tools',
  bwrap: 'bubblewrap',
  fio: 'fio',
  iperf3: 'iperf3',
  ip: 'iproute2',
  'mpirun.mpich': 'mpich',
  go: 'golang-go',
};

const isPublished = process.argv.includes('--publish');
const args = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const wanted = jobs.filter(({ name }) => args.length === 0 || args.some((word) => name.includes(word)));
const columns = [34, 24, 14, 14, 26, 8, 10] as const;
const line = (...cells: string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(columns[i] ?? 0))
    .join(' ')
    .trimEnd();
const figures: Figure[] = [];
const left: string[] = [];
const loads: number[] = [];

if (isPublished && wanted.length < jobs.length) {
  process.stderr.write('truth: only a run of all jobs is published\n');
  process.exit(1);
}
installMissing();
console.log(`${machineInWords()}, load ${os.loadavg()[0]!.toFixed(1)}\n`);
console.log(line('job', 'figure', 'Tacho', 'truth', 'measured by', 'ratio', ''));

await onGround(
  (ground) => {
    for (const job of wanted) {
      loads.push(os.loadavg()[0]!);
      for (const figure of job.run(ground)) tell(figure);
    }
  },
  (what, why) => void left.push(`${what}: ${why}`),
);

console.log();
for (const text of left) console.log(`left out: ${text}`);
console.log(`${figures.length} figures: ${countedVerdicts(figures)}; load ${loadRange(loads)}`);
if (isPublished) publish();
process.exitCode = figures.length > 0 && figures.every(isWithin) ? 0 : 1;

function tell(figure: Figure): void {
  figures.push(figure);
  const digits = (value: number | undefined): string =>
    value === undefined ? '-' : String(Number(value.toPrecision(8)));
  const { job, what, tacho, truth, by } = figure;
  const verdict = isWithin(figure) ? verdictOf(figure) : `BEYOND ITS BOUND, ${verdictOf(figure)}`;
  console.log(line(job, what, digits(tacho), digits(truth), by, ratioText(figure), verdict));
}

function publish(): void {
  const date = new Date().toISOString().slice(0, 10);
  const kept: PublishedTruth = { machine: machineInWords(), date, load: loadRange(loads), left, figures };
  fs.writeFileSync(PUBLISHED, `${JSON.stringify(kept, null, 1)}\n`);
  execFileSync(process.execPath, [DOCS_SCRIPT], { stdio: 'inherit' });
  console.log('published in docs/truth.json and docs/truth.md');
}

/** Programs that jobs need; without root it is said what is missing. */
function installMissing(): void {
  const missing = Object.keys(PACKAGES).filter(
    (program) => !has(program) && !(program === 'go' && has('../local/go/bin/go')),
  );
  if (missing.length === 0) return;
  const packages = missing.map((program) => PACKAGES[program]!);
  if (process.getuid?.() !== 0 || !has('apt-get')) {
    console.log(
      `missing: ${missing.join(', ')}; sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`,
    );
    return;
  }
  const install = ['install', '-y', '-q', '--no-install-recommends', ...packages];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  console.log(`installing Debian packages: ${packages.join(' ')}`);
  const done = spawnSync('apt-get', install, { stdio: 'ignore', env });
  if (done.status === 0) return;
  spawnSync('apt-get', ['update', '-q'], { stdio: 'ignore', env });
  if (spawnSync('apt-get', install, { stdio: 'ignore', env }).status !== 0) console.log('they could not be installed');
}
