import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { warn } from '../base/warn.ts';
import type { Config } from '../config/config.ts';
import { configFlags, configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import type { Delivered } from '../policy/deliver.ts';
import type { Case, Judged } from '../policy/evaluate.ts';
import type { Policy } from '../policy/policy.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { historyPlaces, withHistory } from './history-options.ts';

interface Options extends DatabaseOptions {
  format: 'text' | 'json' | 'csv' | 'markdown';
}

interface PeriodOptions extends Options {
  from: string;
  to?: string;
}

interface RunOptions extends Options {
  archive?: string[];
  dryRun?: boolean;
}

interface JudgedPolicy {
  policy: Policy;
  judged: Judged;
}

const SENDING = [
  'policies.send',
  'policies.state',
  'mail.server',
  'mail.from',
  'mail.domain',
  'mail.addresses',
  'mail.administrators',
  'mail.reply_to',
  'mail.password_file',
  'mail.ca',
  'webhook.url',
  'webhook.secret_file',
] as const satisfies SettingKey[];

async function policiesOf(options: Options): Promise<{ policies: Policy[]; config: Config }> {
  const config = await configOf({ ...options }, SENDING);
  const { policiesFrom } = await import('../policy/policy.ts');
  return { policies: policiesFrom(config.policies), config };
}

const NONE = 'the configuration has no [[policy]]; tacho policy init prints some to begin with';

export function define(command: Command): void {
  command.usage('list|init|columns|test|run|status … [options]').addHelpText(
    'after',
    `
A policy is a condition on jobs, and what happens to jobs that break it: a list, a mail or a webhook call. Policies are written
in the configuration as [[policy]] (docs/policies.md). tacho policy test tries one on past jobs before it is used.

Examples:
  tacho policy init >> /etc/tacho/config.toml
  tacho policy test low-cpu-use /archive/tacho --from -30d
  tacho policy run --archive /archive/tacho
  tacho policy run --archive /archive/tacho --send
  tacho policy status --archive /archive/tacho
`,
  );
  const formats = (sub: Command, choices: readonly string[]): Command =>
    sub.addOption(new Option('-f, --format <format>', 'output format').choices(choices).default('text'));
  const verb = (name: string, summary: string): Command =>
    command
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);

  defineList(formats(databaseOption(verb('list', 'list the policies of the configuration')), ['text', 'json', 'csv']));
  verb('init', 'print policies to begin with, all off')
    .addHelpText('after', '\nExample:\n  tacho policy init >> tacho.toml\n')
    .action(async () => {
      process.stdout.write((await import('../policy/examples.ts')).EXAMPLE_POLICIES);
    });
  defineColumns(formats(verb('columns', 'list what conditions can be about'), ['text', 'json', 'csv']));
  defineTest(
    formats(historyPlaces(verb('test', 'apply a policy to the past').argument('<policy>', 'its name')), [
      'text',
      'json',
      'csv',
    ]),
  );
  defineRun(
    formats(databaseOption(verb('run', 'apply policies now, and notify users'), SENDING), [
      'text',
      'json',
      'csv',
      'markdown',
    ]),
  );
  defineStatus(
    formats(configFlags(verb('status', 'show what policies have sent, and what waits'), ['policies.state']), [
      'text',
      'json',
      'csv',
    ]),
  );
  command.action(() => {
    throw usage('say what to do with policies', 'tacho policy list, init, columns, test, run or status');
  });
}

function defineList(sub: Command): void {
  sub
    .addHelpText('after', '\nExample:\n  tacho policy list --format json | jq ".[].name"\n')
    .action(async (options: Options) => {
      const { policies } = await policiesOf(options);
      if (policies.length === 0 && options.format === 'text') return warn(NONE);
      const { policyJson, POLICY_COLUMNS } = await import('../policy/policy-json.ts');
      const rows = policies.map(policyJson);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`);
      else if (options.format === 'csv') await writeCsv(POLICY_COLUMNS, rows);
      else {
        const { policyListText } = await import('../show/policy/policy-text.ts');
        process.stdout.write(policyListText(policies, { stream: process.stdout, width: tableWidth() }));
      }
    });
}

async function writeCsv(columns: readonly string[], rows: readonly object[]): Promise<void> {
  const { objectCsv } = await import('../show/object-csv.ts');
  process.stdout.write(objectCsv(columns, rows));
}

function defineColumns(sub: Command): void {
  sub.addHelpText('after', '\nExample:\n  tacho policy columns | grep gpu\n').action(async (options: Options) => {
    const { NUMBER_FIGURES, TEXT_FIGURES } = await import('../policy/figures.ts');
    const rows = [
      ...NUMBER_FIGURES.map(({ name, unit, total, help }) => ({ name, unit: unit as string, total, help })),
      ...TEXT_FIGURES.map(({ name, list, help }) => ({ name, unit: list ? 'list' : 'text', total: '', help })),
    ];
    const heads = ['name', 'unit', 'total', 'help'] as const;
    if (options.format === 'json') process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`);
    else if (options.format === 'csv') await writeCsv(heads, rows);
    else {
      const { ascii, textTable } = await import('../show/terminal/text-table.ts');
      const lines = textTable(
        heads.map((head) => ({ head, shrinks: head === 'help' })),
        rows.map((row) => heads.map((head) => row[head])),
        tableWidth(),
      );
      const text = `${lines.join('\n')}\n`;
      process.stdout.write(process.stdout.isTTY ? text : ascii(text));
    }
  });
}

function defineTest(sub: Command): void {
  sub
    .usage('POLICY [ARCHIVE…] [options]')
    .option('--from <time>', 'from this time on (2026-11-15, -30d)', '-30d')
    .option('--to <time>', 'until this time (default: now)')
    .addHelpText(
      'after',
      `
Applies a policy as if it had run every day (every period, if that is shorter), and says what it would have reported, to whom,
what these jobs cost, and which to look at, period by period. Nothing is sent.

Examples:
  tacho policy test low-cpu-use /archive/tacho --from -90d
  tacho policy test gpu-idle --from 2026-10-01 --to 2026-11-01 --format csv
`,
    )
    .action(async (name: string, paths: string[], options: PeriodOptions) => {
      const { policies } = await policiesOf(options);
      const { chosenPolicies } = await import('../policy/policy.ts');
      const [policy] = chosenPolicies(policies, [name]);
      const from = parseMoment(options.from);
      const to = options.to === undefined ? Date.now() * 1000 : parseMoment(options.to);
      const { replay } = await import('../policy/replay.ts');
      const replayed = await withHistory(paths, options, async (history) => {
        const whole = await replay(history, policy!, from, to);
        if (whole.looked_at > 0) return whole;
        throw await (await import('./history.ts')).nothingThere(history, { from, to });
      });
      const { CASE_COLUMNS, caseJson, caseRows } = await import('../policy/case-json.ts');
      if (options.format === 'json') {
        const periods = replayed.periods.map((period) => ({
          ...period,
          messages: period.messages.map(({ time, ...one }) => ({ time, ...caseJson(one) })),
        }));
        process.stdout.write(`${JSON.stringify({ ...replayed, periods }, null, 1)}\n`);
      } else if (options.format === 'csv') {
        const messages = replayed.periods.flatMap((period) => period.messages);
        await writeCsv(
          CASE_COLUMNS,
          messages.flatMap(({ time, ...one }) => caseRows(policy!.name, one, { time })),
        );
      } else {
        const { replayText } = await import('../show/policy/policy-text.ts');
        process.stdout.write(replayText(replayed, { stream: process.stdout, width: tableWidth() }));
      }
    });
}

function defineRun(sub: Command): void {
  archiveOption(
    sub.usage('[POLICY…] [options]').argument('[policies...]', 'names of policies (default: all that are enabled)'),
  )
    .option('--dry-run', 'send nothing, whatever the configuration says')
    .addHelpText(
      'after',
      `
Says who does not keep to a policy, with which jobs, and what becomes of it. Nothing is sent or cancelled, and nothing is
noted, without --send (or policies.send in the configuration). A user hears of a policy at most once in its period. What
could not be sent waits, and is sent by the next run.

Examples:
  tacho policy run --archive /archive/tacho
  tacho policy run low-cpu-use --archive /archive/tacho --format markdown
  tacho policy run --archive /archive/tacho --send
`,
    )
    .action(async (names: string[], options: RunOptions) => {
      const { policies, config } = await policiesOf(options);
      const { chosenPolicies } = await import('../policy/policy.ts');
      const chosen = chosenPolicies(policies, names);
      if (chosen.length === 0 && options.format === 'text')
        warn(policies.length === 0 ? NONE : 'no policy is enabled; tacho policy list shows them');
      const paths = options.archive ?? [];
      const isSent = config['policies.send'] && options.dryRun !== true;
      const { channelsOf, openSenders } = await import('../policy/deliver.ts');
      // before anything is read, which may take long
      if (isSent) await openSenders(config, channelsOf(chosen));
      const { judgeNow } = await import('../policy/select.ts');
      const now = Date.now() * 1000;
      const judgedPolicies = await withHistory(paths, options, (history) => judgeNow(history, chosen, now));
      const state = stateFolder(config, paths, options);
      const done = isSent ? await sent(judgedPolicies, state, config) : await wouldBe(judgedPolicies, state, now);
      process.stdout.write(await runText(judgedPolicies, done, { now, isSent, format: options.format }));
      if (isSent) await writeReports(judgedPolicies, done, state, now);
    });
}

function archiveOption(sub: Command): Command {
  return sub.option('--archive <archive...>', 'archives or folders of recordings (default: the current folder)');
}

/** Beside the archive: whoever applies policies to it knows what others have sent. */
function stateFolder(config: Config, paths: readonly string[], { db }: DatabaseOptions): string {
  const named = config['policies.state'];
  if (named !== undefined) return named;
  if (db === undefined && paths.length <= 1) return path.join(paths[0] ?? '.', '.tacho-policies');
  throw usage(
    'where is it kept what policies have sent?',
    'with a database, or several archives, name a folder: --state-folder FOLDER, or policies.state in the configuration',
  );
}

async function wouldBe(judgedPolicies: readonly JudgedPolicy[], state: string, now: number): Promise<Delivered[]> {
  const [{ Ledger }, { planned }] = await Promise.all([import('../policy/ledger.ts'), import('../policy/deliver.ts')]);
  return planned(judgedPolicies, Ledger.read(state), now);
}

async function sent(judgedPolicies: readonly JudgedPolicy[], state: string, config: Config): Promise<Delivered[]> {
  const [{ Ledger }, { deliver, sendersFor }] = await Promise.all([
    import('../policy/ledger.ts'),
    import('../policy/deliver.ts'),
  ]);
  const policies = judgedPolicies.map(({ policy }) => policy);
  return Ledger.hold(state, async (ledger) => {
    const senders = await sendersFor(config, policies, ledger, warn);
    return deliver(judgedPolicies, ledger, {
      now: () => Date.now() * 1000,
      senders,
      tried({ policy, user }, channel, sending) {
        if (sending.state === 'sent') {
          if (sending.attempts > 1) warn(`the ${channel} to ${user} about ${policy}, which had waited, was sent`);
          return;
        }
        process.exitCode = 1;
        const then = {
          waiting: 'it waits',
          unsure: 'it may have arrived, and is not sent again',
          refused: 'it is not sent again',
        };
        const end = sending.state === 'sending' ? '' : `: ${then[sending.state]}`;
        warn(`the ${channel} to ${user} about ${policy} was not sent (${sending.error ?? sending.state})${end}`);
      },
    });
  });
}

async function runText(
  judgements: readonly JudgedPolicy[],
  done: readonly Delivered[],
  { now, isSent, format }: { now: number; isSent: boolean; format: Options['format'] },
): Promise<string> {
  const of = (policy: Policy, user: string): Delivered | undefined =>
    done.find((one) => one.policy === policy.name && one.user === user);
  const { deliveryText } = await import('../policy/delivery-text.ts');
  const messageText = (policy: Policy, user: string): string | undefined => {
    const one = of(policy, user);
    return one === undefined ? undefined : deliveryText(policy, one, isSent);
  };
  if (format === 'json')
    return judgedJson(judgements, now, (policy, user) => ({ sent: isSent, ...stateOf(of(policy, user)) }));
  if (format === 'csv') {
    const [{ CASE_COLUMNS, caseRows }, { objectCsv }] = await Promise.all([
      import('../policy/case-json.ts'),
      import('../show/object-csv.ts'),
    ]);
    const rows = judgements.flatMap(({ policy, judged }) =>
      judged.cases.flatMap((one) => caseRows(policy.name, one, { time: now, message: messageText(policy, one.user) })),
    );
    return objectCsv(CASE_COLUMNS, rows);
  }
  const { judgedMarkdown, judgedText } = await import('../show/policy/policy-text.ts');
  if (format === 'markdown') return judgedMarkdown(judgements);
  const judgedPolicies = judgements.map(({ policy, judged }) => ({
    policy,
    judged,
    noteOf: ({ user }: Case) => messageText(policy, user),
  }));
  return judgedText(judgedPolicies, { stream: process.stdout, width: tableWidth() });
}

/** What became of a case, as programs read it; the message itself is in the ledger. */
function stateOf(one: Delivered | undefined): object {
  if (one === undefined) return {};
  const { policy: _, user: __, message, ...rest } = one;
  return { ...rest, ...(message === undefined ? {} : { message: message.id, sendings: message.sendings }) };
}

async function judgedJson(
  judgedPolicies: readonly JudgedPolicy[],
  now: number,
  outcome: (policy: Policy, user: string) => object,
): Promise<string> {
  const { caseJson } = await import('../policy/case-json.ts');
  const rows = judgedPolicies.map(({ policy, judged }) => ({
    policy: policy.name,
    time: now,
    ...judged,
    cases: judged.cases.map((one) => ({ ...caseJson(one), outcome: outcome(policy, one.user) })),
  }));
  return `${JSON.stringify(rows, null, 1)}\n`;
}

/** The files of policies with the actions json and markdown. */
async function writeReports(
  judgedPolicies: readonly JudgedPolicy[],
  done: readonly Delivered[],
  state: string,
  now: number,
): Promise<void> {
  const when = new Date(now / 1000).toISOString().replaceAll(/[:-]|\.\d+/g, '');
  for (const one of judgedPolicies)
    for (const [action, ending] of [
      ['json', 'json'],
      ['markdown', 'md'],
    ] as const) {
      if (!one.policy.actions.includes(action) || one.judged.cases.length === 0) continue;
      const folder = path.join(state, 'reports');
      makeFolder(folder, 0o700);
      const text = await runText([one], done, { now, isSent: true, format: action });
      fs.writeFileSync(path.join(folder, `${one.policy.name}-${when}.${ending}`), text, { mode: 0o600 });
    }
}

function defineStatus(sub: Command): void {
  archiveOption(sub)
    .option('--waiting', 'only what has not reached anybody')
    .addHelpText(
      'after',
      `
What policies have sent, and what waits. "unsure": a message went out, and the other end did not say that it took it (Tacho or
the server was stopped at that moment). It is not sent again; its jobs are in the user's next message.

Examples:
  tacho policy status --archive /archive/tacho
  tacho policy status --archive /archive/tacho --waiting --format json
`,
    )
    .action(async (options: RunOptions & { waiting?: boolean }) => {
      const config = await configOf({ ...options }, ['policies.state']);
      const { Ledger } = await import('../policy/ledger.ts');
      const { MESSAGE_COLUMNS, messageRows } = await import('../policy/message-rows.ts');
      const state = stateFolder(config, options.archive ?? [], options);
      const all = messageRows(Ledger.read(state).messages());
      const rows = options.waiting ? all.filter((one) => one.state !== 'sent') : all;
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`);
      else if (options.format === 'csv') await writeCsv(MESSAGE_COLUMNS, rows);
      else if (rows.length === 0) warn(`no messages in ${state}`);
      else {
        const { messagesText } = await import('../show/policy/policy-text.ts');
        process.stdout.write(messagesText(rows, { stream: process.stdout, width: tableWidth() }));
      }
    });
}
