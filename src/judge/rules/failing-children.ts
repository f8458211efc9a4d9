import { formatMoment } from '../../base/moment.ts';
import { count, listed, percent } from '../../base/readable.ts';
import { signalName } from '../../base/signal-name.ts';
import { hasFailed, isExact, type ProcessSet } from '../../query/processes/set.ts';
import { processEndTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { LAST_FAILURE, lastFailure } from './shared/last-failure.ts';
import { isLastImage, isShell, processName, programOf, recordedEnds } from './shared/processes.ts';
import { named, rule, together } from './shared/rule.ts';

const thresholds = {
  ...LAST_FAILURE,
  /** Seconds that a failed program ran, from which its failure counts; a short one may be a mere test. */
  seconds: 1,
  /** Seconds of CPU time of a failed program, from which its failure counts. */
  cpu_seconds: 0.2,
  /** Failures of one program, from which shorter runs count as well. */
  times: 10,
  /** Share of the runs of that program that failed. */
  share: 0.5,
};

/** ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS: what a program does to itself. Others are sent on purpose. */
const CRASHES = new Set([4, 5, 6, 7, 8, 11, 31]);

/** The shell did not find the program, or may not start it. */
const NOT_STARTED = new Set([126, 127]);

/** What `timeout` says, and what shells make of signals that somebody sent: HUP, INT, KILL, PIPE, ALRM, TERM. */
const ON_PURPOSE = new Set([124, 129, 130, 137, 141, 142, 143]);

/** Programs whose exit code is an answer. */
const ASKED =
  /^(\[|test|true|false|[efz]*grep|rg|n?diff[3]?|sdiff|cmp|comm|expr|which|pgrep|pkill|kill|killall|nc|ncat|ping|curl|wget|pg_isready|mountpoint|getent|id|tty|stty|flock|timeout|lsof|fuser|systemctl|dpkg.*|rpm|ldconfig|ldd|stat|ls|readlink|realpath|git|modprobe|nvidia-smi|rocm-smi|find|xargs|env|nice|conftest|a\.out)$/;

interface FailedProgram {
  name: string;
  /** All ends of this program, and those that count as failures. */
  runs: number;
  failed: number[];
  crashes: number;
}

export default rule({
  id: 'failing-children',
  title: 'child processes that failed',
  help: 'A child process crashed (for example with SIGSEGV) or could not be started (exit code 126 or 127). Or it failed with another exit code after at least 1 s, or 0.2 s of CPU time. Shorter ones count when at least 10 of one program failed, and half of its runs. Programs whose exit code is an answer (grep, test, diff …), signals that somebody sent, and parents that only pass a failure on do not count; nor does the process whose failure the job ended with: other rules report how the job itself and MPI ranks ended.',
  kind: 'trouble',
  order: 123,
  needs: [recordedEnds],
  thresholds,
  when(facts, limits) {
    if (facts.records!.failed === 0) return [];
    const set = facts.allProcesses()!;
    const worlds = facts.ranks === undefined ? [] : facts.worlds();
    const ranks = new Set(worlds.flatMap((world) => world.ranks.map(({ node, pid }) => `${node} ${pid}`)));
    const saidByJob = lastFailure(facts, limits)?.at;
    return together(failedOf(set, ranks, saidByJob, limits)).map((programs) => ({ set, programs }));
  },
  severity: ({ programs }) => (programs.some(({ crashes }) => crashes > 0) ? 'warning' : 'advice'),
  say: ({ set, programs }) =>
    `${count(sumOf(programs), 'child process', 'child processes')} failed: ${listed(programs.map((one) => `${one.name} ${waysOf(set, one.failed)}`))}`,
  evidence: ({ set, programs }, _, limits) =>
    shown(programs, 4).flatMap(({ name, runs, failed }) => [
      {
        text: `${name}: ${failed.length} of ${count(runs, 'run')} failed (${percent(failed.length / runs)})`,
        from: named(processEndTable.col.exitcode, processEndTable.col.exitsignal),
        value: failed.length / runs,
        threshold: limits.share,
      },
      ...shown(failed, 2).map((i) => ({
        text: `${processName(set, i)}: ${wayOf(set, i)} at ${formatMoment(set.end[i]!)}${parentOf(set, i)}`,
        from: named(processEndTable.col.exitcode, processEndTable.col.exitsignal),
        node: set.node[i]!,
        value: set.pid[i]!,
      })),
    ]),
  advise: ({ programs }) =>
    programs.some(({ crashes }) => crashes > 0)
      ? 'What these processes were to do is missing from the results: see the job’s output for their messages, and let the script stop when one fails (set -e, or look at the exit code).'
      : 'See the job’s output for their messages. If the results need them, let the script stop when one fails (set -e, or look at the exit code).',
  confidence: high('reported by the processes or their parents'),
});

const sumOf = (programs: readonly FailedProgram[]): number => programs.reduce((sum, one) => sum + one.failed.length, 0);

const parentOf = (set: ProcessSet, i: number): string => {
  const parent = set.parent[set.process[i]!]!;
  return parent < 0 ? '' : `, started by ${programOf(set, parent)} (pid ${set.pid[parent]})`;
};

function wayOf(set: ProcessSet, i: number): string {
  const code = set.exitcode[i]!;
  if (set.exitsignal[i]! > 0) return `ended by ${signalName(set.exitsignal[i]!)}`;
  return NOT_STARTED.has(code) ? `could not start a program (exit code ${code})` : `ended with exit code ${code}`;
}

/** "ended by SIGSEGV", "ended with exit code 3 (4 times)". */
function waysOf(set: ProcessSet, failed: readonly number[]): string {
  const ways = [...Map.groupBy(failed, (i) => wayOf(set, i))].sort((a, b) => b[1].length - a[1].length);
  return listed(
    ways.map(([way, all]) => (all.length === 1 ? way : `${way} (${count(all.length, 'time')})`)),
    2,
  );
}

const keyOf = (set: ProcessSet, i: number): string => `${set.node[i]} ${set.pid[i]}`;

function failedOf(
  set: ProcessSet,
  ranks: ReadonlySet<string>,
  saidByJob: number | undefined,
  limits: typeof thresholds,
): FailedProgram[] {
  const passesOn = parentsOfFailed(set, (i) => ranks.has(keyOf(set, i)));
  const programs = new Map<string, FailedProgram & { short: number[] }>();
  for (let i = 0; i < set.length; i++) {
    if (!isLastImage(set, i) || !isExact(set, i) || set.parent[set.process[i]!]! < 0) continue;
    const name = programOf(set, i);
    const program = programs.get(name) ?? { name, runs: 0, failed: [], crashes: 0, short: [] };
    programs.set(name, program);
    program.runs++;
    // how ranks and the job ended is said apart
    if (!hasFailed(set, i) || i === saidByJob || passesOn[i] === 1 || ranks.has(keyOf(set, i))) continue;
    const [code, signal] = [set.exitcode[i]!, set.exitsignal[i]!];
    if (CRASHES.has(signal)) program.crashes++;
    else if (signal > 0 || ON_PURPOSE.has(code) || ASKED.test(name)) continue;
    else if (isShell(set, i) && code === 1) continue;
    const isLong = set.end[i]! - set.start[i]! >= limits.seconds * 1e6 || set.cpu_time[i]! >= limits.cpu_seconds * 1e6;
    const counts = isLong || CRASHES.has(signal) || (NOT_STARTED.has(code) && isShell(set, i));
    (counts ? program.failed : program.short).push(i);
  }
  return [...programs.values()]
    .flatMap(({ short, ...program }): FailedProgram[] => {
      const all = [...program.failed, ...short];
      const isMany = all.length >= limits.times && all.length >= limits.share * program.runs;
      const failed = isMany ? all : program.failed;
      return failed.length === 0 ? [] : [{ ...program, failed: failed.sort((a, b) => set.end[a]! - set.end[b]!) }];
    })
    .sort((a, b) => b.crashes - a.crashes || b.failed.length - a.failed.length);
}

/** Who has a failed child may only pass its result on; a launcher of ranks does, also of one that left no record of its end. */
function parentsOfFailed(set: ProcessSet, isRank: (i: number) => boolean): Uint8Array {
  const marked = new Uint8Array(set.length);
  for (let k = set.order.length - 1; k >= 0; k--) {
    const i = set.order[k]!;
    const parent = set.parent[i]!;
    if (parent >= 0 && (marked[i] === 1 || hasFailed(set, i) || isRank(i))) marked[parent] = 1;
  }
  return marked;
}
