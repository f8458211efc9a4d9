import { formatMoment } from '../../base/moment.ts';
import { count } from '../../base/readable.ts';
import {
  conditionFigure,
  conditionsText,
  costText,
  policyHours,
  shortDuration,
  usersAndJobs,
} from '../../policy/condition-text.ts';
import type { Case, CaseJob, Judged } from '../../policy/evaluate.ts';
import type { MessageRow } from '../../policy/message-rows.ts';
import type { Policy } from '../../policy/policy.ts';
import type { Replay } from '../../policy/replay.ts';
import { paint } from '../terminal/paint.ts';
import { ascii, printable, type TextColumn, textTable, wrap } from '../terminal/text-table.ts';

interface TextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
}

const finished = (lines: readonly string[], { stream = {} }: TextOptions): string => {
  const text = `${lines.join('\n')}\n`;
  return stream.isTTY ? text : ascii(text);
};

/** The policies that there are. */
export function policyListText(policies: readonly Policy[], options: TextOptions = {}): string {
  const columns: TextColumn[] = [
    { head: 'policy' },
    { head: '' },
    { head: 'per' },
    { head: 'once in' },
    { head: 'actions' },
    { head: 'what', shrinks: true },
  ];
  const rows = policies.map((policy) => [
    policy.name,
    policy.enabled ? 'on' : 'off',
    policy.per,
    shortDuration(policy.period_seconds),
    [...policy.actions, ...(policy.cancel === undefined ? [] : ['cancel'])].join(','),
    conditionsText(policy),
  ]);
  return finished(textTable(columns, rows, options.width), options);
}

const MOST_JOBS = 10;

/** One policy after the other: who, how much, which jobs. `said` is what becomes of a case. */
export function judgedText(
  all: readonly { policy: Policy; judged: Judged; noteOf?: (one: Case) => string | undefined }[],
  options: TextOptions = {},
): string {
  const pen = paint(options.stream ?? {});
  const lines = all.flatMap(({ policy, judged, noteOf }, i) => [
    ...(i === 0 ? [] : ['']),
    pen.bold(printable(`${policy.name}: ${policy.help}`)),
    ...wrap(`${summaryWords(judged)}.`, Math.min(options.width ?? 100, 100)),
    ...judged.cases.flatMap((one) => caseLines(one, noteOf?.(one), options.width)),
  ]);
  return finished(lines, options);
}

function summaryWords({ cases, jobs, exempt, unmeasured }: Judged): string {
  const rest = [
    `${count(jobs, 'job')} looked at`,
    ...(exempt.length === 0 ? [] : [`${count(exempt.length, 'job')} exempt`]),
    ...(unmeasured.length === 0
      ? []
      : [`${count(unmeasured.length, 'job')} not judged, because not measured: ${missingWords(unmeasured)}`]),
  ];
  return `${cases.length === 0 ? 'Nothing to report' : usersAndJobs(cases)}; ${rest.join(', ')}`;
}

const missingWords = (unmeasured: Judged['unmeasured']): string =>
  [...new Set(unmeasured.flatMap(({ missing }) => missing))].join(', ');

function caseLines(one: Case, note: string | undefined, width: number | undefined): string[] {
  const head = `${one.user || '(none)'}: ${count(one.jobs.length, 'job')}, ${costText(one.totals)}${note === undefined ? '' : `; ${note}`}`;
  const table = textTable(jobColumns(one), one.jobs.slice(0, MOST_JOBS).map(jobCells), (width ?? 102) - 2);
  const more = one.jobs.length > MOST_JOBS ? [`  and ${count(one.jobs.length - MOST_JOBS, 'job')} more`] : [];
  return ['', printable(head), ...table.map((line) => `  ${line}`), ...more];
}

/** What the policy is about is left out last. */
const jobColumns = ({ jobs }: Case): TextColumn[] => [
  { head: 'job', middle: true },
  { head: 'name', most: 24, shrinks: true },
  { head: 'state', spare: 3 },
  { head: 'start', spare: 2 },
  { head: 'core-hours', align: 'right' },
  { head: 'GPU-hours', align: 'right' },
  ...Object.keys(jobs[0]?.figures ?? {}).map((name): TextColumn => ({ head: name, align: 'right', spare: 1 })),
];

function jobCells({ summary: job, figures }: CaseJob): string[] {
  return [
    job.job,
    job.name ?? '-',
    job.state ?? '-',
    formatMoment(job.time).slice(0, 'YYYY-MM-DD HH:MM'.length),
    job.core_hours === undefined ? '-' : policyHours(job.core_hours),
    job.gpu_hours === undefined ? '-' : policyHours(job.gpu_hours),
    ...Object.entries(figures).map(([name, value]) => conditionFigure(name, value)),
  ];
}

const day = (moment: number): string => formatMoment(moment).slice(0, 'YYYY-MM-DD HH:MM'.length);

/** What a policy would have said, period by period. */
export function replayText(replay: Replay, options: TextOptions = {}): string {
  const pen = paint(options.stream ?? {});
  const width = Math.min(options.width ?? 100, 100);
  const head = `${replay.policy}, ${day(replay.from)} to ${day(replay.to)}: it would have sent ${count(replay.messages, 'message')} to ${count(replay.users, 'user')} about ${count(replay.jobs, 'job')}`;
  const cost = `${replay.jobs === 0 ? '' : `These jobs had ${costText(replay)}. `}${count(replay.looked_at, 'job')} looked at, ${replay.exempt.toLocaleString('en-US')} exempt, ${replay.unmeasured.toLocaleString('en-US')} not judged because not measured.`;
  const columns: TextColumn[] = [
    { head: 'period' },
    { head: 'user' },
    { head: 'jobs', align: 'right' },
    { head: 'core-hours', align: 'right' },
    { head: 'not used', align: 'right' },
    { head: 'GPU-hours', align: 'right' },
    { head: 'not used', align: 'right' },
    { head: 'look at', shrinks: true },
  ];
  const amount = (value: number | undefined): string => (value === undefined ? '-' : policyHours(value));
  const rows = replay.periods.flatMap(({ from, messages }) =>
    messages.map(({ user, jobs, totals }, i) => [
      i === 0 ? day(from) : '',
      user || '(none)',
      jobs.length.toLocaleString('en-US'),
      amount(totals.core_hours),
      amount(totals.core_hours_wasted),
      amount(totals.gpu_hours),
      amount(totals.gpu_hours_wasted),
      jobs
        .slice(0, 3)
        .map(({ summary }) => summary.job)
        .join(' '),
    ]),
  );
  const silent = replay.periods.filter(({ messages }) => messages.length === 0).length;
  const lines = [
    ...wrap(printable(`${head}.`), width).map((line) => pen.bold(line)),
    ...wrap(cost, width),
    ...(rows.length === 0 ? [] : ['', ...textTable(columns, rows, options.width)]),
    ...(silent === 0 ? [] : ['', `${count(silent, 'period')} of ${replay.periods.length} without a message.`]),
    ...replay.notes.flatMap((note) => ['', ...wrap(note, width)]),
  ];
  return finished(lines, options);
}

/** For a wiki or a mail to administrators. */
export function judgedMarkdown(all: readonly { policy: Policy; judged: Judged }[]): string {
  const cell = (text: string): string => printable(text).replaceAll('|', '\\|');
  const lines = all.flatMap(({ policy, judged }) => [
    `## ${policy.name}`,
    '',
    `${cell(policy.help)}. ${summaryWords(judged)}.`,
    '',
    ...(judged.cases.length === 0
      ? []
      : [
          '| user | jobs | cost | look at |',
          '|---|---:|---|---|',
          ...judged.cases.map(
            ({ user, jobs, totals }) =>
              `| ${cell(user)} | ${jobs.length} | ${costText(totals)} | ${cell(
                jobs
                  .slice(0, MOST_JOBS)
                  .map(({ summary }) => summary.job)
                  .join(', '),
              )} |`,
          ),
          '',
        ]),
  ]);
  return `${lines.join('\n').trimEnd()}\n`;
}

/** What was sent, and what waits; the newest last. */
export function messagesText(rows: readonly MessageRow[], options: TextOptions = {}): string {
  const columns: TextColumn[] = [
    { head: 'made' },
    { head: 'policy' },
    { head: 'user' },
    { head: 'jobs', align: 'right' },
    { head: 'by' },
    { head: 'state' },
    { head: 'tried', align: 'right' },
    { head: 'last', spare: 1 },
    { head: 'what', shrinks: true },
  ];
  const cells = rows.map((row) => [
    day(row.made),
    row.policy,
    row.user,
    String(row.jobs.length),
    row.by,
    row.state,
    String(row.attempts),
    row.last === undefined ? '-' : day(row.last),
    row.error ?? row.subject,
  ]);
  return finished(textTable(columns, cells, options.width), options);
}
