import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CaseResult, RuleRow, Totals } from '../test/causes/verdict.ts';

/** What `npm run causes -- --publish` keeps. */
export interface PublishedCauses {
  date: string;
  machine: string;
  load: string;
  /** From which length on waste was judged. */
  shortest_seconds: number;
  totals: Totals;
  left: string[];
  rules: RuleRow[];
  cases: CaseResult[];
}

const FILE = path.join(import.meta.dirname, '../docs/causes.json');

/** The part of docs/findings.md that says how often the rules were right on jobs of known cause. */
export function causesReference(ruleIds: readonly string[]): string {
  const { date, machine, load, shortest_seconds, totals, left, rules, cases } = JSON.parse(
    fs.readFileSync(FILE, 'utf8'),
  ) as PublishedCauses;
  const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
  const row = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const counted = new Map(rules.map((each) => [each.rule, each]));
  const shown = ruleIds.flatMap((id) => counted.get(id) ?? []);
  const untried = ruleIds.filter((id) => (counted.get(id)?.causes ?? 0) === 0);
  const number = (count: number): string => count.toLocaleString('en');
  return `## How often the rules are right

\`npm run causes\` records ${totals.cases} small real jobs of known cause, and looks at what the rules find in them. ${totals.healthy} of the jobs
are healthy: no rule should say anything of them. Last run: ${date}, on a machine with ${machine}, while other work kept
it at a load of ${load}.${left.length === 0 ? '' : ` ${left.length} jobs were left out because the machine lacked what they need.`}

| | | must be |
| --- | ---: | ---: |
| causes found | ${totals.found} of ${totals.causes} (${percent(totals.found, totals.causes)}) | at least 95 % |
| false findings | ${totals.false} of ${number(totals.judged)} judgements (${percent(totals.false, totals.judged)}) | at most 1 % |
| healthy jobs with a warning | ${totals.warned.length} | 0 |

How to read it:

- Rules and jobs were improved together: when a rule was wrong on a job, the rule or the job was changed. On other jobs the
  rules may be right less often.
- Only what a case names as its cause must be found. What may be true of it as well (\`may\` in test/causes) counts neither as
  found nor as false.
- Waste is judged from ${shortest_seconds} s on here, instead of 30 s (\`rules.shortest\`), so that the jobs can be short.
- GPUs are stand-ins for NVIDIA's library. CPUs, memory, disks, networks and Slurm are real.
- No job has the cause of these rules, so nothing is known of what they miss: ${untried.join(', ')}.

For each rule: jobs with its cause, how many of them it found and missed, how often it found something in another job, and
how many jobs it judged in all (a rule leaves out jobs that lack what it needs).

| rule | causes | found | missed | false | judged |
| --- | ---: | ---: | ---: | ---: | ---: |
${shown.map(({ rule, ...counts }) => row(`[${rule}](#${rule})`, counts.causes, counts.found, counts.missed, counts.false, counts.judged)).join('\n')}

### The jobs

Rules in brackets were missed; rules in italics were found falsely.

| job | what it is | found |
| --- | --- | --- |
${cases.map((one) => row(one.name, one.what, verdict(one))).join('\n')}
`;
}

function verdict({ findings, missed, false: wrong }: CaseResult): string {
  const found = findings.map(({ id }) => (wrong.includes(id) ? `*${id}*` : id));
  return [...found, ...missed.map((id) => `(${id})`)].join(', ') || 'nothing';
}
