import * as path from 'node:path';
import { Fault, reason, usage } from '../base/fault.ts';
import type { CustomSource } from '../sources/custom/custom.ts';
import {
  type FileContent,
  ForeignFile,
  type Forgive,
  type PolicySection,
  type RuleThreshold,
  readConfigFile,
} from './file.ts';
import { kinds } from './kinds.ts';
import { type Setting, settings, type Values, variableOf } from './settings.ts';
import { unknownVariables } from './variables.ts';

export interface Config extends Values {
  /** The user's own sources; of two with one name the more specific file's counts. */
  readonly custom: readonly CustomSource[];
  /** Thresholds of rules; of one that several files set, only the most specific file's. */
  readonly thresholds: readonly RuleThreshold[];
  /** Policies; of two with one name the more specific file's counts. */
  readonly policies: readonly PolicySection[];
  /** The files that were read, most general first. */
  readonly files: readonly string[];
  /** Where a setting comes from, by its key, for messages: the file and its line, the variable; none: flag or default. */
  readonly origins: ReadonlyMap<string, string>;
  /** What was not used, and why: for stderr. */
  readonly warnings: readonly string[];
}

/** Values given on the command line, by key; undefined is not given. */
export type Given = { [K in keyof Values]?: Values[K] | undefined };

export interface Surroundings {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of the whole machine's configuration. */
  readonly site: string;
  readonly uid: number;
}

const here = (): Surroundings => ({
  folder: process.cwd(),
  environment: process.env,
  site: '/etc/tacho',
  uid: process.getuid?.() ?? 0,
});

/**
 * The configuration: what is given on the command line, else the environment (TACHO_…), else ./tacho.toml, else
 * ~/.config/tacho/config.toml, else /etc/tacho/config.toml, else the defaults. A file named by --config or TACHO_CONFIG
 * is read instead of the three. What is wrong is thrown, unless `forgive` takes it: then the rest counts.
 */
export async function loadConfig(
  given: Given = {},
  named?: string,
  surroundings = here(),
  forgive?: Forgive,
): Promise<Config> {
  const { environment, folder } = surroundings;
  const warnings: string[] = [];
  const contents: FileContent[] = [];
  const only = named ?? (environment.TACHO_CONFIG || undefined);
  if (only !== undefined) {
    const file = path.resolve(folder, only);
    let content: FileContent | undefined;
    let isThere = true;
    try {
      // sudo may leave root a user's variables, and a configuration starts commands
      const owner = named === undefined && surroundings.uid === 0 ? 0 : undefined;
      content = await readConfigFile(file, forgive, owner);
      isThere = content !== undefined;
    } catch (thrown) {
      const error =
        thrown instanceof ForeignFile
          ? usage(`TACHO_CONFIG: ${only} belongs to another user`, `--config ${only} uses it`)
          : thrown;
      if (forgive === undefined || !(error instanceof Fault)) throw error;
      forgive(error, true);
    }
    if (content !== undefined) contents.push(content);
    if (!isThere) {
      const origin = named === undefined ? 'TACHO_CONFIG' : '--config';
      const none = usage(`${origin}: there is no file ${only}`, 'docs/configuration.md shows what it may hold');
      if (forgive === undefined) throw none;
      forgive(none, true);
    }
  } else {
    for (const file of candidates(surroundings)) {
      const isSite = file.startsWith(`${surroundings.site}/`);
      const owner = isSite ? undefined : surroundings.uid;
      const content = await readConfigFile(file, forgive, owner).catch((error: unknown) => {
        if (error instanceof ForeignFile) {
          warnings.push(`${file} is not used: it belongs to another user; --config ${file} uses it`);
          return undefined;
        }
        // the home of another user, after sudo -u: what is in there was not meant for us
        if (!(error instanceof Fault) || error.cause === undefined) throw error;
        if (!isSite && path.dirname(file) !== folder) warnings.push(`${file} is not used: ${reason(error.cause)}`);
        else if (forgive !== undefined) forgive(error, true);
        else throw error;
        return undefined;
      });
      if (content !== undefined) contents.push(content);
    }
  }
  const custom = new Map<string, CustomSource>();
  for (const content of contents) for (const source of content.sources) custom.set(source.name, source);
  const thresholds = new Map<string, RuleThreshold>();
  for (const content of contents) for (const one of content.thresholds) thresholds.set(`${one.rule} ${one.name}`, one);
  const values: Record<string, unknown> = {};
  const origins = new Map<string, string>();
  for (const each of settings) {
    const { value, origin } = resolve(each, given, environment, contents, forgive);
    values[each.key] = value;
    if (origin !== undefined) origins.set(each.key, origin);
  }
  warnings.push(...unknownVariables(environment));
  return {
    ...(values as unknown as Values),
    origins,
    custom: [...custom.values()],
    thresholds: [...thresholds.values()],
    policies: policiesOf(contents),
    files: contents.map(({ file }) => file),
    warnings,
  };
}

function policiesOf(contents: readonly FileContent[]): PolicySection[] {
  const names = (content: FileContent | undefined): unknown[] => content?.policies.map((one) => one.content.name) ?? [];
  return contents.flatMap((content, i) => {
    const later = contents.slice(i + 1).flatMap(names);
    return content.policies.filter((one) => one.content.name === undefined || !later.includes(one.content.name));
  });
}

/**
 * The files that may be there, most general first. A configuration can start commands: one in a shared folder, or in a home
 * that sudo left to root, counts only if the user or root owns it.
 */
function candidates({ folder, environment, site }: Surroundings): string[] {
  const home = environment.XDG_CONFIG_HOME || (environment.HOME ? path.join(environment.HOME, '.config') : undefined);
  return [
    path.join(site, 'config.toml'),
    ...(home === undefined ? [] : [path.join(home, 'tacho', 'config.toml')]),
    path.join(folder, 'tacho.toml'),
  ];
}

function resolve(
  setting: Setting,
  given: Given,
  environment: Surroundings['environment'],
  contents: readonly FileContent[],
  forgive: Forgive | undefined,
): { value: unknown; origin?: string } {
  const flag = given[setting.key as keyof Given];
  if (flag !== undefined) return { value: flag };
  const { parse } = kinds[setting.kind];
  const name = variableOf(setting);
  const variable = environment[name];
  if (variable !== undefined && variable !== '') {
    const origin = `${name} in the environment`;
    try {
      return { value: parse(variable), origin };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const wrong = usage(`${origin}: ${error.message}`, error.hint);
      if (forgive === undefined) throw wrong;
      forgive(wrong, setting.key === 'redact');
    }
  }
  const content = contents.findLast(({ values }) => values.has(setting.key));
  if (content !== undefined) {
    const value = parse(content.values.get(setting.key) as string);
    const origin = `${content.file}:${content.line(setting.key)}`;
    return {
      value: setting.kind === 'folder' ? path.resolve(path.dirname(content.file), String(value)) : value,
      origin,
    };
  }
  return { value: setting.default === undefined ? undefined : parse(setting.default) };
}
