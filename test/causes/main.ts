import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../src/base/fault.ts';
import { loadRange, machineInWords } from '../machine.ts';
import { has } from '../truth/ground.ts';
import { type Cause, PACKAGES, type Requirement } from './cause.ts';
import { goFirst } from './cgroup.ts';
import { causes, mistakesIn, ruleIds } from './index.ts';
import { watchMachine } from './meanwhile.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { whyLeftOut } from './requirements.ts';
import { SHORTEST_SECONDS } from './shortest.ts';
import { Stage } from './stage.ts';
import { BAR, brokenResult, type CaseResult, isExcused, isRight, matrixOf, resultOf, totalsOf } from './verdict.ts';

/**
 * `npm run causes [-- NAMEPART…]`: records every case (whose name has one of the words in it), prints the confusion matrix,
 * and ends with 1 below the bar. `--list` names them, `--json FILE` keeps the results, `--publish` keeps those of a run of all
 * cases for docs/findings.md and renews it, `--keep` leaves the recordings. `--held-out` records the newest series of held-out
 * cases alone, and keeps what the first run of each gave: a later run does not change it.
 */

const PUBLISHED = path.join(import.meta.dirname, '../../docs/causes.json');
const DOCS_SCRIPT = path.join(import.meta.dirname, '../../scripts/docs.ts');
/** The series of held-out cases that was written last. */
const NEWEST = 4;
const FIRST_RUNS = {
  1: 'causes-held-out.json',
  2: 'causes-held-out-2.json',
  3: 'causes-held-out-3.json',
  4: 'causes-held-out-4.json',
};
const flag = (name: string): boolean => process.argv.includes(name);
const optionOf = (name: string): string | undefined =>
  flag(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
const args = process.argv.slice(2).filter((word, i, all) => !word.startsWith('--') && all[i - 1] !== '--json');
const wanted = causes.filter(
  ({ name, heldOut }) =>
    (args.length === 0 || args.some((word) => name.toLowerCase().includes(word.toLowerCase()))) &&
    (heldOut === NEWEST || !flag('--held-out')),
);
const say = (text = ''): void => void process.stdout.write(`${text}\n`);
/** A case that failed, or during which others or the hypervisor took CPUs, is recorded so often at most. */
const MOST_TRIES = 2;
/** Recorders of sleeping jobs take a few percent of a CPU each. */
const SLEEPING_AT_ONCE = 8;
const APART_MS = 800;
const loads: number[] = [];
let stage: Stage | undefined;

try {
  await main();
} catch (error) {
  process.stderr.write(`causes: ${error instanceof Fault ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const mistakes = mistakesIn(causes);
  if (mistakes.length > 0) throw new Fault(mistakes.join('\n'));
  if (wanted.length === 0) throw new Fault(`no case has ${args.join(' or ')} in its name; --list names them`);
  if (flag('--publish') && wanted.length < causes.length) throw new Fault('only a run of all cases is published');
  if (flag('--list'))
    return say(wanted.map(({ name, what, must }) => `${name}: ${what} [${must.join(', ')}]`).join('\n'));
  install(wanted);
  await oneAtATime((pid) => say(`waiting for another run (process ${pid})`));
  const isShared = goFirst();
  say(`${machineInWords()}, load ${os.loadavg()[0]!.toFixed(1)}`);
  say(isShared === undefined ? 'cases run before all else on the machine' : `cases share the machine: ${isShared}`);
  stage = new Stage();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      stage?.close(flag('--keep'));
      process.exit(1);
    });
  const left = wanted.flatMap((cause) =>
    whyLeftOut(cause) === undefined ? [] : [`${cause.name}: ${whyLeftOut(cause)}`],
  );
  const possible = wanted.filter((cause) => whyLeftOut(cause) === undefined);
  const results = new Map<Cause, CaseResult>();
  let done = 0;
  const run = async (cause: Cause, cpu: number): Promise<void> => {
    results.set(cause, await tried(cause, cpu, () => `${++done}/${possible.length}`));
  };
  if (possible.some(({ recorded }) => recorded?.slurm !== undefined)) await stage.slurm();
  const taking = (what: Cause['takes']): Cause[] => possible.filter((cause) => takenBy(cause) === what);
  await sideBySide(taking('nothing'), SLEEPING_AT_ONCE, run);
  await sideBySide(taking('cpu'), os.cpus().length, run);
  await sideBySide(taking(undefined), 1, run);
  if (flag('--keep')) say(`\nrecordings: ${stage.folder}`);
  stage.close(flag('--keep'));
  show(
    possible.map((cause) => results.get(cause)!),
    left,
  );
}

/** Who only sleeps takes nothing. */
function takenBy({ takes, script }: Cause): Cause['takes'] {
  return takes ?? (/^sleep \S+$/.test(script) ? 'nothing' : undefined);
}

/** So many at a time; each has a CPU that is its own as long as there are enough. */
async function sideBySide(
  cases: readonly Cause[],
  atOnce: number,
  run: (cause: Cause, cpu: number) => Promise<void>,
): Promise<void> {
  const waiting = [...cases];
  const cpus = os.cpus().length;
  const lane = async (_: unknown, i: number): Promise<void> => {
    // recorders that all start at once keep each other from their first ticks
    await sleep(i * APART_MS);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next, i % cpus);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** It failed, or the hypervisor or others took CPUs, and the result is not what it should be. */
function isSpoilt(result: CaseResult): boolean {
  if (result.stolen === undefined && result.others === undefined) return result.broken !== undefined;
  return !isRight(result) || (result.healthy && result.findings.some(({ id }) => isExcused(id, result)));
}

async function recorded(cause: Cause, cpu: number, tries = 1): Promise<CaseResult> {
  const machineUntilNow = watchMachine();
  try {
    const report = await stage!.record(tries === 1 ? cause : { ...cause, name: `${cause.name} ${tries}` }, cpu);
    return resultOf(cause, report, machineUntilNow());
  } catch (error) {
    // the others are to be recorded all the same
    return brokenResult(cause, (error as Error).message);
  }
}

/** Why a case is recorded once more. */
function spoiltBy({ broken, stolen, others, by = [] }: CaseResult): string {
  if (broken !== undefined) return broken;
  const share = (fraction: number): string => `${(100 * fraction).toFixed(0)} %`;
  return [
    ...(stolen === undefined ? [] : [`the hypervisor took ${share(stolen)} of the CPU time`]),
    ...(others === undefined ? [] : [`others used ${share(others)} of the CPUs (${by.join(', ')})`]),
  ].join('; ');
}

async function tried(cause: Cause, cpu: number, recordingFolder: () => string): Promise<CaseResult> {
  const began = performance.now();
  loads.push(os.loadavg()[0]!);
  let result = await recorded(cause, cpu);
  // what went wrong may be somebody else's doing: the same job again, at another time
  for (let tries = 2; tries <= MOST_TRIES && isSpoilt(result); tries++) {
    const wrong = [...result.missed.map((id) => `missed ${id}`), ...result.false.map((id) => `false ${id}`)];
    say(`${' '.repeat(10)}again  ${[cause.name, ...wrong].join(', ')}: ${spoiltBy(result)}`);
    result = { ...(await recorded(cause, cpu, tries)), tries };
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const output = result.findings.map(({ id, severity }) => (severity === 'info' ? `${id} (info)` : id)).join(', ');
  say(
    `${recordingFolder().padStart(8)}  ${isRight(result) ? 'right' : 'WRONG'}  ${cause.name} (${seconds} s): ${output || 'nothing'}`,
  );
  if (result.broken !== undefined) say(`${' '.repeat(17)}not recorded: ${result.broken}`);
  for (const id of result.missed)
    say(`${' '.repeat(17)}missed ${id}${result.silent?.[id] ? `: ${result.silent[id]}` : ''}`);
  for (const { id, severity, text } of result.findings)
    if (result.false.includes(id)) say(`${' '.repeat(17)}false ${id} (${severity}): ${text}`);
  return result;
}

function show(results: CaseResult[], left: string[]): void {
  const rows = matrixOf(ruleIds, results);
  say(`\n${['rule'.padEnd(24), 'causes', 'found', 'missed', 'false', 'judged'].join('  ')}`);
  for (const { rule, ...counts } of rows)
    say(
      [rule.padEnd(24), ...[6, 5, 6, 5, 6].map((width, i) => String(Object.values(counts)[i]).padStart(width))].join(
        '  ',
      ),
    );
  const totals = totalsOf(results);
  say();
  for (const reasonLeft of left) say(`left out: ${reasonLeft}`);
  for (const name of totals.warned) say(`healthy, but warned: ${name}`);
  for (const name of totals.broken) say(`not recorded: ${name}`);
  for (const name of totals.excused)
    say(`excused: ${name}: ${spoiltBy(results.find((result) => result.name === name)!)}`);
  const share = (fraction: number, whole: number): string => `${((100 * fraction) / Math.max(1, whole)).toFixed(1)} %`;
  say(`${totals.cases} cases (${totals.healthy} healthy, ${left.length} left out), load ${loadRange(loads)}`);
  say(
    `${totals.found} of ${totals.causes} causes found (${share(totals.found, totals.causes)}, at least ${100 * BAR.found} %)`,
  );
  say(
    `${totals.false} false findings of ${totals.judged} judged (${share(totals.false, totals.judged)}, at most ${100 * BAR.false} %)`,
  );
  say(`${totals.warned.length} healthy jobs with a warning (none may have one)`);
  say(totals.isGood ? 'good' : 'below the bar');
  const kept = JSON.stringify(
    {
      machine: machineInWords(),
      shortest_seconds: SHORTEST_SECONDS,
      totals,
      left,
      rules: rows,
      cases: results,
    },
    null,
    1,
  );
  const file = flag('--publish') ? PUBLISHED : optionOf('--json');
  if (file !== undefined) fs.writeFileSync(file, `${kept}\n`);
  if (flag('--publish')) {
    execFileSync(process.execPath, [DOCS_SCRIPT], { stdio: 'inherit' });
    say('published in docs/causes.json and docs/findings.md');
  }
  if (flag('--held-out')) keepFirst(results);
  process.exitCode = totals.isGood ? 0 : 1;
}

/** What a case gave when it was run for the first time stays as it was. */
function keepFirst(results: readonly CaseResult[]): void {
  for (const series of [1, 2, 3, 4] as const) {
    const file = path.join(import.meta.dirname, '../../docs', FIRST_RUNS[series]);
    const before = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as CaseResult[]) : [];
    const names = new Set(wanted.filter(({ heldOut }) => heldOut === series).map(({ name }) => name));
    const isNew = ({ name }: CaseResult): boolean => names.has(name) && !before.some((kept) => kept.name === name);
    fs.writeFileSync(file, `${JSON.stringify([...before, ...results.filter(isNew)], null, 1)}\n`);
  }
}

/** What the cases need of Debian's packages. */
function install(cases: readonly Cause[]): void {
  const isPackage = (need: Requirement): need is keyof typeof PACKAGES => need in PACKAGES;
  const missing = [...new Set(cases.flatMap(({ needs = [] }) => needs))].filter(
    (need) => isPackage(need) && !has(need),
  );
  if (missing.length === 0) return;
  const packages = missing.map((need) => PACKAGES[need as keyof typeof PACKAGES]);
  const get = [
    'apt-get',
    '-y',
    '-q',
    '-o',
    'DPkg::Lock::Timeout=300',
    '--no-install-recommends',
    'install',
    ...packages,
  ];
  if (process.getuid?.() !== 0 || !has('apt-get')) {
    say(`missing: sudo ${get.join(' ')}`);
    return;
  }
  say(`installing Debian packages: ${packages.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (args: readonly string[]): boolean =>
    spawnSync(args[0]!, args.slice(1), { stdio: 'ignore', env }).status === 0;
  if (apt(get)) return;
  execFileSync('apt-get', ['update', '-q'], { stdio: 'ignore', env });
  if (!apt(get)) say('they could not be installed');
}
