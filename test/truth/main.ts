import { spawnSync } from 'node:child_process';
import * as os from 'node:os';
import { type Figure, has, onGround } from './ground.ts';
import { jobs } from './jobs.ts';
import { isWithin, ratioOf, verdictOf } from './verdict.ts';

/**
 * `npm run truth [-- WORD…]`: every job of known size (whose name has one of the words in it), as a table of ratios; with
 * `--markdown` as docs/truth.md has it.
 */

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

installMissing();

const isMarkdown = process.argv.includes('--markdown');
const words = process.argv.slice(2).filter((word) => word !== '--markdown');
const wanted = jobs.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const columns = [34, 24, 14, 14, 26, 8, 10] as const;
const line = (...cells: string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(columns[i] ?? 0))
    .join(' ')
    .trimEnd();

const cpus = os.cpus();
console.log(`${cpus.length} × ${cpus[0]?.model.trim()}, Linux ${os.release()}, load ${os.loadavg()[0]!.toFixed(2)}\n`);
if (!isMarkdown) console.log(line('job', 'figure', 'Tacho', 'truth', 'measured by', 'ratio', ''));

const counts = new Map<string, number>();
const left: string[] = [];
/** For Markdown: the ratios of all jobs that have a figure, in one row. */
const ratios = new Map<string, string[]>();
let off = 0;

await onGround(
  (ground) => {
    for (const job of wanted) for (const figure of job.run(ground)) tell(figure);
  },
  (what, why) => void left.push(`${what}: ${why}`),
);

if (isMarkdown) {
  console.log('| figure | measured by | Tacho ÷ truth |\n| --- | --- | --- |');
  for (const [head, each] of ratios) console.log(`| ${head} | ${each.join('; ')} |`);
}
console.log();
for (const words of left) console.log(`left out: ${words}`);
const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
const parts = [...counts].map(([verdict, n]) => `${n} ${verdict}`);
console.log(`${all} figures: ${parts.join(', ')}; ${off} beyond their bounds`);
process.exitCode = off > 0 || all === 0 ? 1 : 0;

function tell(figure: Figure): void {
  const verdict = verdictOf(figure);
  counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const isOff = !isWithin(figure);
  if (isOff) off++;
  const digits = (value: number | undefined): string =>
    value === undefined ? '-' : String(Number(value.toPrecision(8)));
  const ratio = ratioOf(figure);
  const said = Number.isNaN(ratio) ? '-' : ratio.toFixed(4);
  const { job, what, tacho, truth, by } = figure;
  if (isMarkdown) {
    const head = `${what} | ${by}`;
    ratios.set(head, [...(ratios.get(head) ?? []), `${job} ${said}${isOff ? ' (BEYOND ITS BOUND)' : ''}`]);
    return;
  }
  console.log(
    line(job, what, digits(tacho), digits(truth), by, said, isOff ? `BEYOND ITS BOUND, ${verdict}` : verdict),
  );
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
