import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason, usage } from '../base/fault.ts';
import { suggest } from '../base/suggest.ts';
import type { CustomSource } from '../sources/custom.ts';
import { kinds } from './kinds.ts';
import { type Setting, settings } from './settings.ts';
import { sourceKeys } from './source-keys.ts';
import { lineOf } from './where.ts';

/** What one configuration file says. */
export interface FileContent {
  readonly file: string;
  /** Settings by key, as they stand in the file. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly sources: readonly CustomSource[];
}

/** Reads a configuration file; undefined when there is none. What is wrong in it is said with file and line. */
export async function readConfigFile(file: string): Promise<FileContent | undefined> {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (code(error) === 'ENOENT' || code(error) === 'ENOTDIR') return undefined;
    throw new Fault(`cannot read the configuration ${file}: ${reason(error)}`, { exit: 2 });
  }
  return checked(file, text, await parsed(file, text));
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

async function checked(file: string, text: string, content: Record<string, unknown>): Promise<FileContent> {
  const result = (await schema()).safeParse(content);
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue) => {
      const at = issue.path as (string | number)[];
      const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...at, key]) : [at];
      return paths.map((where) => ({
        line: lineOf(text, where),
        what: issue.code === 'unrecognized_keys' ? unknownKey(where) : issue.message,
      }));
    });
    problems.sort((a, b) => a.line - b.line);
    const lines = problems.map(({ line, what }) => `${file}:${line}: ${what}`);
    throw usage(lines[0]!, [...lines.slice(1), 'docs/configuration.md lists every key'].join('\n'));
  }
  const values = new Map<string, unknown>();
  for (const { key } of settings as readonly Setting[]) {
    const value = key
      .split('.')
      .reduce<unknown>((in_, word) => (in_ as Record<string, unknown> | undefined)?.[word], content);
    if (value !== undefined) values.set(key, value);
  }
  return { file, values, sources: customSources(file, content) };
}

function customSources(file: string, content: Record<string, unknown>): CustomSource[] {
  const given = (content.source ?? []) as Record<string, string>[];
  return given.map((source) => ({
    name: source.name!,
    ...(source.module === undefined ? {} : { module: path.resolve(path.dirname(file), source.module) }),
    ...(source.command === undefined ? {} : { command: source.command }),
    format: source.format === 'json' ? 'json' : 'prometheus',
    ...(source.interval === undefined ? {} : { interval: kinds.duration.parse(source.interval) }),
    timeout: kinds.duration.parse(source.timeout ?? '10s'),
  }));
}

function unknownKey(where: readonly (string | number)[]): string {
  const inSource = where[0] === 'source' && where.length > 1;
  const known = inSource
    ? sourceKeys.map(({ key }): string => key)
    : ['source', ...settings.flatMap(({ key }) => [key, key.slice(key.indexOf('.') + 1)])];
  const name = inSource ? String(where.at(-1)) : where.join('.');
  const meant = suggest(name, known) ?? suggest(String(where.at(-1)), known);
  const whole = settings.find(({ key }) => key === meant || key.endsWith(`.${meant}`))?.key ?? meant;
  const question = meant === undefined ? '' : `; did you mean "${inSource ? meant : whole}"?`;
  return `unknown key "${name}"${inSource ? ' in [[source]]' : ''}${question}`;
}

/** The schema of a file, made of the settings. zod takes a while to load: only who has a file pays for it. */
async function schema() {
  const z = await import('zod/mini');
  type Schema = ReturnType<typeof z.optional>;
  const accepts = (name: string, say: string, ok: (value: unknown) => boolean): Schema =>
    z.optional(z.any().check(z.refine(ok, { error: ({ input }) => `${name} must be ${say}, not ${shown(input)}` })));

  const root: Record<string, Schema> = {};
  const sections: Record<string, Record<string, Schema>> = {};
  for (const { key, kind } of settings as readonly Setting[]) {
    const [section, name] = key.includes('.') ? (key.split('.') as [string, string]) : [undefined, key];
    const value = accepts(key, kinds[kind].say, (given) => fits(given, kinds[kind]));
    if (section === undefined) root[name] = value;
    else sections[section] = { ...sections[section], [name]: value };
  }
  for (const [name, keys] of Object.entries(sections)) {
    root[name] = z.optional(z.strictObject(keys, { error: `[${name}] must be a section` }));
  }
  const oneSource: Record<string, Schema> = {};
  for (const { key, kind, say } of sourceKeys) oneSource[key] = accepts(key, say, (value) => sourceValue[kind](value));
  const source = z.strictObject(oneSource, { error: 'a [[source]] must be a section' }).check(
    z.refine((given) => given.name !== undefined, { error: 'a [[source]] needs a name' }),
    z.refine((given) => (given.module === undefined) !== (given.command === undefined), {
      error: 'a [[source]] needs either a module or a command',
    }),
  );
  root.source = z.optional(z.array(source, { error: 'source must be a list of sections: [[source]]' }));
  return z.strictObject(root);
}

const sourceValue: Record<(typeof sourceKeys)[number]['kind'], (value: unknown) => boolean> = {
  name: (value) => typeof value === 'string' && /^[a-z][a-z0-9_]*$/.test(value),
  text: (value) => typeof value === 'string' && value !== '',
  format: (value) => value === 'prometheus' || value === 'json',
  duration: (value) => fits(value, kinds.duration),
};

function fits(value: unknown, kind: (typeof kinds)[keyof typeof kinds]): boolean {
  const type = Array.isArray(value) ? 'array' : typeof value;
  if (!(kind.types as readonly string[]).includes(type)) return false;
  if (Array.isArray(value) && !value.every((each) => typeof each === 'string')) return false;
  try {
    kind.parse(value as string);
    return true;
  } catch {
    return false;
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
