import * as os from 'node:os';
import { type Advice, adviceOf } from '../advise/advise.ts';
import { formatDuration } from '../base/duration.ts';
import { hang } from '../base/hang.ts';
import { formatMoment } from '../base/moment.ts';
import { printable } from '../base/printable.ts';
import { count } from '../base/readable.ts';
import { caseJson } from './case-json.ts';
import { conditionFigure, conditionsText, costText, shortDuration } from './condition-text.ts';
import type { Case, CaseJob } from './evaluate.ts';
import { type Message, notifiedJobs } from './ledger.ts';
import type { Channel, Policy } from './policy.ts';

const MOST_JOBS = 20;
const MOST_ADVICE = 3;
const WIDTH = 76;

export interface MessageFacts {
  now: number;
  /** Of jobs that may be cancelled: how many warnings there were before this one. */
  warnings?: number;
  /** Jobs that were cancelled. */
  cancelled?: boolean;
}

/** A message to a user, to be kept and sent. */
export function messageOf(policy: Policy, policyCase: Case, facts: MessageFacts): Omit<Message, 'id'> {
  const channels = policy.actions.filter((action): action is Channel => action === 'mail' || action === 'webhook');
  const advice = facts.cancelled ? [] : adviceFor(policyCase);
  const kind = facts.cancelled ? 'cancelled' : 'report';
  return {
    policy: policy.name,
    user: policyCase.user,
    kind,
    made: facts.now,
    jobs: notifiedJobs(policyCase.jobs.map(({ summary }) => summary)),
    subject: printable(subjectOf(policy, policyCase, facts)),
    text: textOf(policy, policyCase, facts, advice),
    data: {
      policy: policy.name,
      kind,
      help: policy.help,
      ...(policy.advice === undefined ? {} : { advice: policy.advice }),
      time: facts.now,
      window_seconds: policy.window_seconds,
      ...caseJson(policyCase),
      scripts: advice.map(({ name, runs, script, savings, confidence }) => ({
        name,
        runs,
        script,
        savings,
        confidence,
      })),
    },
    to: policy.to,
    sendings: Object.fromEntries(channels.map((channel) => [channel, { state: 'waiting' as const, attempts: 0 }])),
  };
}

/** The same for every attempt: whoever gets it twice can tell. */
export const messageId = (policy: string, user: string, made: number, number: number): string =>
  `${[policy, user, Math.round(made / 1000).toString(36), number].map((word) => encodeURIComponent(word).replaceAll(/[^\w.-]/g, '_')).join('.')}@${os.hostname()}`;

function subjectOf(policy: Policy, { jobs }: Case, { cancelled, warnings }: MessageFacts): string {
  const ids = jobs.length === 1 ? `job ${jobs[0]!.summary.job}` : count(jobs.length, 'job');
  if (cancelled) return `${ids} cancelled: ${policy.help}`;
  const which =
    policy.cancel === undefined || warnings === undefined
      ? ''
      : ` (warning ${warnings + 1} of ${policy.cancel.warnings})`;
  return `${policy.help}: ${ids}${which}`;
}

/** Only where past runs say something, and following it would save something. */
function adviceFor({ jobs }: Case): Advice[] {
  const saves = ({ savings: { core_hours = 0, gpu_hours = 0, memory_byte_hours = 0 } }: Advice): boolean =>
    core_hours + gpu_hours + memory_byte_hours > 0;
  return adviceOf(jobs.map(({ summary }) => summary))
    .filter((one) => one.script.length > 0 && one.completed > 0 && saves(one))
    .slice(0, MOST_ADVICE);
}

function textOf(policy: Policy, policyCase: Case, facts: MessageFacts, advice: readonly Advice[]): string {
  const { user, jobs, totals } = policyCase;
  const wrap = (text: string): string => hang(printable(text), WIDTH, 0);
  const lines = [
    `Hello ${printable(user)},`,
    '',
    wrap(`${policy.help}.`.replace(/\.\.$/, '.')),
    '',
    wrap(
      `${facts.cancelled ? 'Cancelled' : 'This is about'}: ${count(jobs.length, 'job')} with ${costText(totals)}${policy.per === 'user' ? `, in the last ${shortDuration(policy.window_seconds)}` : ''}.`,
    ),
    '',
    ...jobs.slice(0, MOST_JOBS).map(jobLine),
    ...(jobs.length > MOST_JOBS ? [`  and ${count(jobs.length - MOST_JOBS, 'job')} more`] : []),
    '',
    ...warningLines(policy, facts).map(wrap),
    ...(policy.advice === undefined ? [] : [wrap(`What to do: ${policy.advice}`), '']),
    ...advice.flatMap(({ name, runs, script }) => [
      wrap(`What to ask for next time, from ${count(runs, 'run')} of ${name}:`),
      '',
      ...script.map((line) => `  ${line}`),
      '',
    ]),
    wrap(`tacho report JOB shows what a job did. The policy is "${policy.name}": ${conditionsText(policy)}.`),
  ];
  return `${lines.join('\n')}\n`;
}

function warningLines({ cancel, period_seconds: period }: Policy, { cancelled, warnings }: MessageFacts): string[] {
  if (cancel === undefined) return [];
  if (cancelled) return [`They were cancelled after ${count(cancel.warnings, 'warning')}.`, ''];
  const number = (warnings ?? 0) + 1;
  const then =
    number < cancel.warnings
      ? 'Jobs that go on like this are cancelled after that.'
      : `Jobs that are still like this in ${shortDuration(period)} are cancelled.`;
  return [`This is warning ${number} of ${cancel.warnings}. ${then}`, ''];
}

function jobLine({ summary: job, figures }: CaseJob): string {
  const jobTexts = [
    job.name ?? '',
    formatMoment(job.time),
    ...('wall_seconds' in figures || job.wall_seconds === undefined ? [] : [formatDuration(job.wall_seconds)]),
    ...Object.entries(figures).map(([name, value]) => `${name} ${conditionFigure(name, value)}`),
  ].filter((jobText) => jobText !== '');
  return hang(printable(`  ${job.job}  ${jobTexts.join(', ')}`), WIDTH, 4);
}
