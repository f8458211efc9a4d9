import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CaseResult, RuleRow, Totals } from '../test/causes/verdict.ts';

/** What `npm run causes -- --publish` keeps. */
export interface PublishedCauses {
  machine: string;
  /** From which length on waste was judged. */
  shortest_seconds: number;
  totals: Totals;
  left: string[];
  rules: RuleRow[];
  cases: CaseResult[];
}

const FILE = path.join(import.meta.dirname, '../docs/causes.json');
/** What held-out jobs gave when they were run for the first time. */
const firstRuns = (name: string): CaseResult[] =>
  JSON.parse(fs.readFileSync(path.join(import.meta.dirname, '../docs', name), 'utf8')) as CaseResult[];

/** The part of docs/findings.md that says how often the rules were right on jobs of known cause. */
export function causesReference(ruleIds: readonly string[]): string {
  const { machine, shortest_seconds, totals, left, rules, cases } = JSON.parse(
    fs.readFileSync(FILE, 'utf8'),
  ) as PublishedCauses;
  const percent = (amount: number, whole: number): string => `${((100 * amount) / whole).toFixed(1)} %`;
  const row = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const counted = new Map(rules.map((each) => [each.rule, each]));
  const shown = ruleIds.flatMap((id) => counted.get(id) ?? []);
  const untried = ruleIds.filter((id) => (counted.get(id)?.causes ?? 0) === 0);
  const number = (count: number): string => count.toLocaleString('en');
  return `## How often the rules are right

\`npm run causes\` records ${totals.cases} small real jobs of known cause, and looks at what the rules find in them. ${totals.healthy} of the jobs
are healthy: no rule should say anything of them. The machine had ${machine}.${left.length === 0 ? '' : ` ${left.length} jobs were left out because the machine lacked what they need.`}

| | | must be |
| --- | ---: | ---: |
| causes found | ${totals.found} of ${totals.causes} (${percent(totals.found, totals.causes)}) | at least 95 % |
| false findings | ${totals.false} of ${number(totals.judged)} judgements (${percent(totals.false, totals.judged)}) | at most 1 % |
| healthy jobs with a warning | ${totals.warned.length} | 0 |

How to read it:

- Rules and jobs were improved together: when a rule was wrong on a job, the rule or the job was changed. How often rules
  were right on jobs that they had never seen is [below](#jobs-that-no-rule-had-seen).
- Only what a case names as its cause must be found. What may be true of it as well (\`may\` in test/causes) counts neither as
  found nor as false.
${excusedWords(totals, cases)}- Waste is judged from ${shortest_seconds} s on here, instead of 30 s (\`rules.shortest\`), so that the jobs can be short.
- GPUs are stand-ins for NVIDIA's library. What a hypervisor takes, heat and Lustre are read from files that stand in for the
  kernel's. CPUs, memory, disks, networks and Slurm are real; nodes of that Slurm share one machine and its clock, which a
  library sets ahead on one of them.
${untried.length === 0 ? '- Every rule has a job with its cause.' : `- No job has the cause of these rules, so nothing is known of what they miss: ${untried.join(', ')}.`}

For each rule: jobs with its cause, how many of them it found and missed, how often it found something in another job. The last
column is how many jobs it judged: a rule leaves out jobs that lack what it needs.

| rule | causes | found | missed | false | judged |
| --- | ---: | ---: | ---: | ---: | ---: |
${shown.map(({ rule, ...counts }) => row(`[${rule}](#${rule})`, counts.causes, counts.found, counts.missed, counts.false, counts.judged)).join('\n')}

### The jobs

Rules in brackets were missed; rules in italics were found falsely.

| job | what it is | found |
| --- | --- | --- |
${cases.map((one) => row(one.name, one.what, verdict(one))).join('\n')}

${heldOutReference()}`;
}

/** What else the machine did meanwhile, where it matters: nobody's rule is wrong then. */
function excusedWords({ excused = [] }: Totals, cases: readonly CaseResult[]): string {
  const jobs = excused.flatMap((name) => cases.find((one) => one.name === name) ?? []);
  const listed = (what: 'stolen' | 'others'): string =>
    jobs
      .flatMap(({ name, [what]: share }) => (share === undefined ? [] : `*${name}* (${(100 * share).toFixed(0)} %)`))
      .join('; ');
  const [stolen, others] = [listed('stolen'), listed('others')];
  const again = cases.flatMap(({ name, tries = 1 }) => (tries > 1 ? `*${name}*` : []));
  return [
    ...(stolen === ''
      ? []
      : [
          `- The machine is virtual. While these jobs ran, its hypervisor took that share of the CPU time, by /proc/stat of the
  machine. *cpu-steal* says so, which counts neither as false nor as a warning about a healthy job: ${stolen}.
`,
        ]),
    ...(others === ''
      ? []
      : [
          `- While these jobs ran, programs that were no part of the run used that share of all CPUs, by /proc. *cpu-starved* says so,
  which counts neither as false nor as a warning about a healthy job: ${others}.
`,
        ]),
    ...(again.length === 0
      ? []
      : [
          `- These jobs were recorded twice, as others or the hypervisor took CPUs the first time, or it failed; the second recording
  counts: ${again.join('; ')}.
`,
        ]),
  ].join('');
}

const isWarned = ({ healthy, findings }: CaseResult): boolean =>
  healthy && findings.some(({ severity }) => severity === 'critical' || severity === 'warning');

/** How often the rules were right on jobs of one series. */
function sums(first: readonly CaseResult[]): string {
  const sum = (of: (one: CaseResult) => number): number => first.reduce((all, one) => all + of(one), 0);
  const [must, missed] = [sum((one) => one.must.length), sum((one) => one.missed.length)];
  const [wrong, judged] = [sum((one) => one.false.length), sum((one) => one.judged.length)];
  return `| | |
| --- | ---: |
| causes found | ${must - missed} of ${must} (${((100 * (must - missed)) / must).toFixed(1)} %) |
| false findings | ${wrong} of ${judged.toLocaleString('en')} judgements (${((100 * wrong) / judged).toFixed(1)} %) |
| healthy jobs with a warning | ${first.filter(isWarned).length} |`;
}

const jobTable = (first: readonly CaseResult[]): string => `| job | what it is | found at first |
| --- | --- | --- |
${first.map((one) => `| ${one.name} | ${one.what} | ${verdict(one)} |`).join('\n')}`;

const healthyOf = (first: readonly CaseResult[]): number => first.filter(({ healthy }) => healthy).length;

function heldOutReference(): string {
  const [first, second, third, fourth] = ['', '-2', '-3', '-4'].map((series) =>
    firstRuns(`causes-held-out${series}.json`),
  ) as [CaseResult[], CaseResult[], CaseResult[], CaseResult[]];
  return `### Jobs that no rule had seen

Four series of jobs were written after the rules. This is what the first run of each gave, on a machine that others used, too; it
stays as it was. Only then were rules mended, and the jobs became cases like all others.

#### The first series: ${first.length} jobs, ${healthyOf(first)} of them healthy

${sums(first)}

What became of what was wrong:

- *ten Python workers on two CPUs*: what follows from the job’s own threads is no longer blamed on others (cpu-starved,
  cpu-oversubscribed).
- *ranks that wait in a barrier*: a rank that waits in a loop uses a CPU as work does. This is now said to be not measurable.
- *array larger than its limit*: memory that the kernel refuses at once leaves no trace outside of the program. A process that
  fails under a limit that its parent does not have is now named, with low confidence (process-limit).
- *triangular loop*, *epochs that grow*: shorter than the 3 s from which on these rules judge. The jobs take longer now.
- *fsync after every record*: others kept the CPUs busy, so that the CPUs hardly stood idle while the disk worked.
- cpu-starved and recording-gaps where others used the machine: true of that run.

${jobTable(first)}

#### The second series: ${second.length} jobs, ${healthyOf(second)} of them healthy

They were written after the mends above, with other programs and sizes. Load was 30 to 54 on two CPUs while they ran.

${sums(second)}

What became of what was wrong:

- *table behind one lock*: what threads wait for a CPU no longer hides that they wait for each other (lock-contention).
- cpu-starved and recording-gaps: others did use the CPUs, which makes them true of that run.
- *cache without a bound*: the recorder shares the limit of 700 MiB with the job, and was ended with it (node-lost). Job
  and limit are larger now.

${jobTable(second)}

#### The third series: ${third.length} jobs, ${healthyOf(third)} of them healthy

They wait for CPUs, some for those that others use and some for their own threads. They were written after *cpu-starved* had
learnt to tell these apart by what others used. Load was 3 to 10 on two CPUs while they ran;
*pipeline of four* was recorded twice, as others used a third of the CPUs the first time.

${sums(third)}

${jobTable(third)}

#### The fourth series: ${fourth.length} jobs, ${healthyOf(fourth)} of them healthy

They use run times that no rule was adjusted to (Java, Go, Tcl, Perl, PostgreSQL), and limits that end a program without killing
it. Load was 22 to 37 on two CPUs while they ran; jobs during which others used much of the CPUs were recorded twice.

${sums(fourth)}

What became of what was wrong:

- *heap of Java that is full*, *Node heap that is full*, *too many open files*: a process whose failure ends the job was reported
  twice. *job-failed* now names it, and *failing-children* leaves it out.
- *too many open files*, *stack that overflows*: which limit ended them is in their own output alone. That the job failed is found;
  the advice about SIGSEGV now mentions the stack.
- *pgbench of a small table*: the processes of a PostgreSQL server were taken for like workers. What they say of themselves
  (\`postgres: checkpointer\`) now tells them apart.
- *rank with ten times the memory*: one of two ranks could not differ from their median. It is compared with the others now; the
  job, which differed by less than the 1 GiB of the rule, takes more.

${jobTable(fourth)}
`;
}

function verdict({ findings, missed, false: wrong, broken }: CaseResult): string {
  if (broken !== undefined) return 'could not be recorded';
  const findingIds = findings.map(({ id }) => (wrong.includes(id) ? `*${id}*` : id));
  return [...findingIds, ...missed.map((id) => `(${id})`)].join(', ') || 'nothing';
}
