import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { warn } from '../base/warn.ts';
import type { Config } from '../config/config.ts';
import { configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
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
  command.usage('list|init|columns|test|run … [options]').addHelpText(
    'after',
    `
A policy says what is expected of jobs, and what happens where they are otherwise: a list, a mail, a webhook. Policies stand in
the configuration as [[policy]] (docs/policies.md). Try one on the past before it is used: tacho policy test.

Examples:
  tacho policy init >> /etc/tacho/config.toml
  tacho policy test low-cpu-use /archive/tacho --from -30d
  tacho policy run --archive /archive/tacho
`,
  );
  const formats = (sub: Command, choices: readonly string[]): Command =>
    sub.addOption(new Option('-f, --format <format>', 'how it looks').choices(choices).default('text'));
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
  defineRun(formats(databaseOption(verb('run', 'apply policies now')), ['text', 'json', 'csv', 'markdown']));
  command.action(() => {
    throw usage('say what to do with policies', 'tacho policy list, init, columns, test or run');
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
    .action(async (name: string, places: string[], options: PeriodOptions) => {
      const { policies } = await policiesOf(options);
      const { chosenPolicies } = await import('../policy/policy.ts');
      const [policy] = chosenPolicies(policies, [name]);
      const from = parseMoment(options.from);
      const to = options.to === undefined ? Date.now() * 1000 : parseMoment(options.to);
      const { replay } = await import('../policy/replay.ts');
      const found = await withHistory(places, options, async (history) => {
        const replayed = await replay(history, policy!, from, to);
        if (replayed.looked_at > 0) return replayed;
        throw await (await import('./history.ts')).nothingThere(history, { from, to });
      });
      const { CASE_COLUMNS, caseJson, caseRows } = await import('../policy/case-json.ts');
      if (options.format === 'json') {
        const periods = found.periods.map((period) => ({
          ...period,
          messages: period.messages.map(({ time, ...one }) => ({ time, ...caseJson(one) })),
        }));
        process.stdout.write(`${JSON.stringify({ ...found, periods }, null, 1)}\n`);
      } else if (options.format === 'csv') {
        const messages = found.periods.flatMap((period) => period.messages);
        await writeCsv(
          CASE_COLUMNS,
          messages.flatMap(({ time, ...one }) => caseRows(policy!.name, one, { time })),
        );
      } else {
        const { replayText } = await import('../show/policy/policy-text.ts');
        process.stdout.write(replayText(found, { stream: process.stdout, width: tableWidth() }));
      }
    });
}

function defineRun(sub: Command): void {
  sub
    .usage('[POLICY…] [options]')
    .argument('[policies...]', 'names of policies (default: all that are enabled)')
    .option('-a, --archive <archive...>', 'archives or folders of recordings (default: the current folder)')
    .addHelpText(
      'after',
      `
Examples:
  tacho policy run --archive /archive/tacho
  tacho policy run low-cpu-use --archive /archive/tacho --format markdown
`,
    )
    .action(async (names: string[], options: RunOptions) => {
      const { policies } = await policiesOf(options);
      const { chosenPolicies } = await import('../policy/policy.ts');
      const chosen = chosenPolicies(policies, names);
      if (chosen.length === 0) {
        if (options.format === 'text') warn(policies.length === 0 ? NONE : 'no policy is enabled; tacho policy list');
      }
      const { judgeNow } = await import('../policy/select.ts');
      const now = Date.now() * 1000;
      const found = await withHistory(options.archive ?? [], options, (history) => judgeNow(history, chosen, now));
      const { CASE_COLUMNS, caseJson, caseRows } = await import('../policy/case-json.ts');
      if (options.format === 'json') {
        const rows = found.map(({ policy, judged }) => ({
          policy: policy.name,
          time: now,
          ...judged,
          cases: judged.cases.map(caseJson),
        }));
        process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`);
      } else if (options.format === 'csv') {
        await writeCsv(
          CASE_COLUMNS,
          found.flatMap(({ policy, judged }) =>
            judged.cases.flatMap((one) => caseRows(policy.name, one, { time: now })),
          ),
        );
      } else {
        const { judgedMarkdown, judgedText } = await import('../show/policy/policy-text.ts');
        process.stdout.write(
          options.format === 'markdown'
            ? judgedMarkdown(found)
            : judgedText(found, { stream: process.stdout, width: tableWidth() }),
        );
      }
    });
}
