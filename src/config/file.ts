import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason, usage } from '../base/fault.ts';
import { openPlain } from '../base/plain-file.ts';
import { stated } from '../base/stated.ts';
import { suggest } from '../base/suggest.ts';
import type { CustomSource } from '../sources/custom/custom.ts';
import { kinds } from './kinds.ts';
import { type Setting, settings } from './settings.ts';
import { sourceKeys } from './source-keys.ts';
import { lineOf } from './where.ts';

/** A threshold of a rule, under [rules.ID]. Whether there are such a rule and threshold is for the judge to say. */
export interface RuleThreshold {
  readonly rule: string;
  readonly name: string;
  readonly value: number;
  /** The file and its line. */
  readonly origin: string;
}

/** A [[policy]] as it stands in a file. What it may hold is for those to say who apply it. */
export interface PolicySection {
  readonly file: string;
  readonly content: Readonly<Record<string, unknown>>;
  /** The line at which the section stands, or a key of it, or an element of a list. */
  line(key?: string, element?: string): number;
}

/** What one configuration file says. */
export interface FileContent {
  readonly file: string;
  /** Settings by key, as they stand in the file. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly sources: readonly CustomSource[];
  readonly thresholds: readonly RuleThreshold[];
  readonly policies: readonly PolicySection[];
  /** The line at which a setting stands. */
  line(key: string): number;
}

/** Takes what is wrong and therefore not used; `redacts`: that may have been the wish to keep arguments out of recordings. */
export type Forgive = (wrong: Fault, redacts: boolean) => void;

/** A file that somebody else owns, or to which somebody else's link leads. */
export class ForeignFile extends Error {}

/**
 * Reads a configuration file; undefined when there is none. What is wrong in it is thrown, with file and line, or told to
 * `forgive`, and left out. With `uid` it must be an ordinary file of this user or of root's: else throws `ForeignFile`.
 */
export async function readConfigFile(file: string, forgive?: Forgive, uid?: number): Promise<FileContent | undefined> {
  let text: string;
  try {
    text = uid === undefined ? fs.readFileSync(file, 'utf8') : readOwn(file, uid);
  } catch (error) {
    if (error instanceof ForeignFile) throw error;
    if (code(error) === 'ENOENT' || code(error) === 'ENOTDIR') return undefined;
    throw new Fault(`cannot read the configuration ${file}: ${reason(error)}`, { exit: 2, cause: error });
  }
  try {
    return await checked(file, text, await parsed(file, text), forgive);
  } catch (error) {
    if (forgive === undefined || !(error instanceof Fault)) throw error;
    forgive(error, text.includes('redact'));
    return { file, values: new Map(), sources: [], thresholds: [], policies: [], line: () => 1 };
  }
}

/** Opened once, and then looked at: a link cannot be changed in between. */
function readOwn(file: string, uid: number): string {
  const isOwn = (owner: number): boolean => owner === uid || owner === 0;
  const named = fs.lstatSync(file);
  if (!isOwn(named.uid)) throw new ForeignFile();
  const fd = openPlain(file, fs.constants.O_RDONLY, true);
  try {
    if (!isOwn(fs.fstatSync(fd).uid)) throw new ForeignFile();
    return fs.readFileSync(fd, 'utf8');
  } finally {
    fs.closeSync(fd);
  }
}

async function parsed(file: string, text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    throw usage(`${file}:${error.line}: not valid TOML: ${what}`, 'https://toml.io explains the format');
  }
}

async function checked(
  file: string,
  text: string,
  content: Record<string, unknown>,
  forgive: Forgive | undefined,
): Promise<FileContent> {
  // zod takes a while to load: only who has a file pays for it
  const { schema } = await import('./schema.ts');
  const { thresholds, rest: withPolicies, wrong } = thresholdsIn(file, text, content);
  const { policies, rest } = policiesIn(file, text, withPolicies);
  const result = schema().safeParse(rest);
  if (!result.success || wrong.length > 0) {
    const issues = result.success ? [] : result.error.issues;
    const inSettings = issues.flatMap((issue) => {
      const at = issue.path as (string | number)[];
      const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...at, key]) : [at];
      return paths.map((where) => ({
        where,
        line: lineOf(text, where),
        what: issue.code === 'unrecognized_keys' ? unknownKey(where) : issue.message,
      }));
    });
    const problems = [...wrong, ...inSettings];
    problems.sort((a, b) => a.line - b.line);
    const lines = problems.map(({ line, what }) => `${file}:${line}: ${what}`);
    if (forgive === undefined || !problems.some(({ where }) => isIn(content, where)))
      throw usage(lines[0]!, [...lines.slice(1), 'docs/configuration.md lists every key'].join('\n'));
    const rest = structuredClone(content);
    for (const [index, { where }] of problems.entries()) forgive(usage(lines[index]!), meantKey(where) === 'redact');
    leaveOut(
      rest,
      problems.map(({ where }) => where),
    );
    return checked(file, text, rest, forgive);
  }
  const values = new Map<string, unknown>();
  for (const { key } of settings as readonly Setting[]) {
    const value = key
      .split('.')
      .reduce<unknown>((in_, word) => (in_ as Record<string, unknown> | undefined)?.[word], content);
    if (value !== undefined) values.set(key, value);
  }
  const sources = customSources(file, content);
  refuseTwins(file, text, sources);
  if (sources.length > 0) await refuseBuiltIn(file, text, sources);
  return { file, values, sources, thresholds, policies, line: (key) => lineOf(text, key.split('.')) };
}

/** The sections [rules.ID], and what is left without them: a rule has its own names of thresholds. */
function thresholdsIn(file: string, text: string, content: Record<string, unknown>) {
  const { rules } = content;
  const isSection = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const thresholds: RuleThreshold[] = [];
  const wrong: { where: (string | number)[]; line: number; what: string }[] = [];
  if (!isSection(rules)) return { thresholds, wrong, rest: content };
  const others: Record<string, unknown> = {};
  for (const [rule, section] of Object.entries(rules)) {
    if (!isSection(section)) {
      others[rule] = section;
      continue;
    }
    for (const [name, value] of Object.entries(section)) {
      const where = ['rules', rule, name];
      const line = lineOf(text, where);
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (typeof number === 'number' && Number.isFinite(number))
        thresholds.push({ rule, name, value: number, origin: `${file}:${line}` });
      else wrong.push({ where, line, what: `${where.join('.')} must be a number, not ${JSON.stringify(value)}` });
    }
  }
  return { thresholds, wrong, rest: { ...content, rules: others } };
}

/** The sections [[policy]], and what is left without them; anything else of that name is left for the check to refuse. */
function policiesIn(file: string, text: string, content: Record<string, unknown>) {
  const { policy, ...rest } = content;
  const isSection = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
  if (!Array.isArray(policy) || !policy.every(isSection)) return { policies: [], rest: content };
  const lines = text.split('\n');
  const policies = policy.map(
    (section: Record<string, unknown>, index): PolicySection => ({
      file,
      content: section,
      line(key, element) {
        const first = lineOf(text, ['policy', index, ...(key === undefined ? [] : [key])]);
        const below = element === undefined ? -1 : lines.slice(first - 1).findIndex((line) => line.includes(element));
        return first + Math.max(0, below);
      },
    }),
  );
  return { policies, rest };
}

const isIn = (content: object, where: readonly (string | number)[]): boolean =>
  where.length > 0 && where.reduce<unknown>((in_, word) => Object(in_)[word], content) !== undefined;

/** Takes values out; of a source, the whole source, which could not be read without it. */
function leaveOut(content: Record<string, unknown>, all: readonly (readonly (string | number)[])[]): void {
  const sources = new Set(all.flatMap(([first, index]) => (first === 'source' && index !== undefined ? index : [])));
  for (const where of all) {
    if (isInSource(where)) continue;
    const table = where.slice(0, -1).reduce<unknown>((in_, word) => Object(in_)[word], content);
    if (typeof table === 'object' && table !== null) delete (table as Record<string, unknown>)[String(where.at(-1))];
  }
  if (Array.isArray(content.source)) content.source = content.source.filter((_, index) => !sources.has(index));
}

/** Of two sources of one name in a file, one would be dropped without a word. */
function refuseTwins(file: string, text: string, sources: readonly CustomSource[]): void {
  for (const [index, { name }] of sources.entries()) {
    const first = sources.findIndex((source) => source.name === name);
    if (first === index) continue;
    const line = (which: number): number => lineOf(text, ['source', which, 'name']);
    throw usage(
      `${file}:${line(index)}: the name "${name}" is taken by the [[source]] of line ${line(first)}`,
      'each [[source]] is a table of its own and needs its own name',
    );
  }
}

/** A source named like one of Tacho's tables could not be recorded beside it. */
async function refuseBuiltIn(file: string, text: string, given: readonly CustomSource[]): Promise<void> {
  const { sources } = await import('../sources/index.ts');
  const taken = new Set(['agent', ...sources.map(({ table }) => table.name)]);
  const index = given.findIndex(({ name }) => taken.has(name));
  if (index < 0) return;
  throw usage(
    `${file}:${lineOf(text, ['source', index, 'name'])}: Tacho has a table named "${given[index]!.name}" itself`,
    'give the [[source]] another name',
  );
}

/** Where a file really lies: modules beside it are meant, not beside a link to it. */
function realFolder(file: string): string {
  try {
    return path.dirname(fs.realpathSync(file));
  } catch {
    // a pipe of the shell's: --config <(…)
    return path.dirname(file);
  }
}

function customSources(file: string, content: Record<string, unknown>): CustomSource[] {
  const given = (content.source ?? []) as Record<string, string>[];
  return given.map((source) => ({
    name: source.name!,
    ...(source.module === undefined ? {} : { module: path.resolve(realFolder(file), source.module) }),
    ...stated({ command: source.command }),
    format: source.format === 'json' ? 'json' : 'prometheus',
    ...(source.interval === undefined ? {} : { interval: kinds.duration.parse(source.interval) }),
    timeout: kinds.duration.parse(source.timeout ?? '10s'),
  }));
}

function unknownKey(where: readonly (string | number)[]): string {
  const inSource = isInSource(where);
  const name = inSource ? String(where.at(-1)) : where.join('.');
  const meant = meantKey(where);
  const question = meant === undefined ? '' : `; did you mean "${meant}"?`;
  return `unknown key "${name}"${inSource ? ' in [[source]]' : ''}${question}`;
}

const isInSource = (where: readonly (string | number)[]): boolean => where[0] === 'source' && where.length > 1;

/** The key that somebody may have had in mind. */
function meantKey(where: readonly (string | number)[]): string | undefined {
  const inSource = isInSource(where);
  const knownKeys = inSource
    ? sourceKeys.map(({ key }): string => key)
    : ['source', 'policy', ...settings.flatMap(({ key }) => [key, key.slice(key.indexOf('.') + 1)])];
  const name = inSource ? String(where.at(-1)) : where.join('.');
  const meant = suggest(name, knownKeys) ?? suggest(String(where.at(-1)), knownKeys);
  if (inSource) return meant;
  return settings.find(({ key }) => key === meant || key.endsWith(`.${meant}`))?.key ?? meant;
}
