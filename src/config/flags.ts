import type { Command } from 'commander';
import { type Fault, usage } from '../base/fault.ts';
import { suggest } from '../base/suggest.ts';
import { warn } from '../base/warn.ts';
import { type Config, type Given, loadConfig } from './config.ts';
import { kinds } from './kinds.ts';
import { flagOf, type SettingKey, setting, variableOf } from './settings.ts';

/**
 * Adds the flags of settings to a verb, and `--config`:
 *
 *     configFlags(command, ['interval', 'redact']).action(async (…, options) => {
 *       const config = await configOf(options, ['interval', 'redact']);
 */
export function configFlags(
  command: Command,
  keys: readonly SettingKey[],
  short: { [K in SettingKey]?: string } = {},
): Command {
  for (const key of keys) {
    const { kind, help, default: initial, rare = false } = setting(key);
    const { long, placeholder } = flagOf(setting(key));
    const flags = [short[key], placeholder === undefined ? long : `${long} <${placeholder}>`]
      .filter(Boolean)
      .join(', ');
    const usual = initial === undefined || initial === false || `${initial}` === '' ? '' : ` (default: ${initial})`;
    const several = kind === 'list' ? '; several with commas, or the flag again' : '';
    const option = command.createOption(flags, `${sentence(help)}${several}${usual} [${variableOf(setting(key))}]`);
    option.hideHelp(rare);
    if (kind === 'list') option.argParser<readonly string[]>((text, all = []) => [...all, ...kinds.list.parse(text)]);
    else if (placeholder !== undefined) option.argParser((text) => kinds[kind].parse(text));
    command.addOption(option);
  }
  return command.option('--config <file>', 'configuration to use instead of tacho.toml and the like [TACHO_CONFIG]');
}

/** As `--help` writes it. */
const sentence = (help: string): string => help.charAt(0).toLowerCase() + help.slice(1).replace(/\.$/, '');

/** The configuration as a verb's flags, the environment and the files have it; says on stderr what was not used. */
export async function configOf(options: Record<string, unknown>, keys: readonly SettingKey[]): Promise<Config> {
  const config = await loadConfig(givenBy(options, keys), options.config as string | undefined);
  await checkTables(config);
  for (const warning of config.warnings) warn(warning);
  return config;
}

/**
 * The same for what goes on in a job: what is wrong in it is said and left out, and the rest counts. Where that may have
 * been the wish to redact, arguments are left out.
 */
export async function forgivenConfig(options: Record<string, unknown>, keys: readonly SettingKey[]): Promise<Config> {
  let redact = false;
  const config = await loadConfig(
    givenBy(options, keys),
    options.config as string | undefined,
    undefined,
    (wrong, hides) => {
      redact ||= hides;
      warn(`${wrong.message}: it is not used`);
    },
  );
  const forgiven = { ...config, redact: redact || config.redact };
  if (forgiven.redact !== config.redact)
    warn('arguments of commands are left out, as that may have been asked for (redact)');
  const listedNames: Record<string, readonly string[]> = {};
  await checkTables(config, (wrong, key, name) => {
    warn(`${wrong.message}: it is not used`);
    listedNames[key] = (listedNames[key] ?? config[key]).filter((each) => each !== name);
  });
  for (const warning of config.warnings) warn(warning);
  return { ...forgiven, ...listedNames };
}

function givenBy(options: Record<string, unknown>, keys: readonly SettingKey[]): Given {
  const given: Record<string, unknown> = {};
  for (const key of keys) given[key] = options[attributeOf(flagOf(setting(key)).long)];
  return given as Given;
}

const TABLE_LISTS = ['sources.enable', 'sources.disable', 'sources.also'] as const;

/** A table that does not exist would be left out, or recorded alone, without a word. */
async function checkTables(
  config: Config,
  forgive?: (wrong: Fault, key: (typeof TABLE_LISTS)[number], name: string) => void,
): Promise<void> {
  for (const key of TABLE_LISTS) {
    if (config[key].length === 0) continue;
    const { sources } = await import('../sources/index.ts');
    const tableNames = [...sources.map(({ table }) => table.name), 'agent', ...config.custom.map(({ name }) => name)];
    for (const name of config[key]) {
      if (tableNames.includes(name)) continue;
      const meant = suggest(name, tableNames);
      const question = meant === undefined ? '' : `; did you mean "${meant}"?`;
      const wrong = usage(
        `${config.origins.get(key) ?? flagOf(setting(key)).long}: there is no table "${name}"${question}`,
        'docs/metrics.md lists the tables',
      );
      if (forgive === undefined) throw wrong;
      forgive(wrong, key, name);
    }
  }
}

/** As commander calls the value of a flag: `--keep-environment` is keepEnvironment. */
const attributeOf = (long: string): string =>
  long.replace(/^--(no-)?/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
