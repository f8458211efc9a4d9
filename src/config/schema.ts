import { any, array, optional, refine, strictObject } from 'zod/mini';
import { shownAddress } from '../base/address.ts';
import { kinds } from './kinds.ts';
import { type Setting, settings } from './settings.ts';
import { sourceKeys } from './source-keys.ts';

type Schema = ReturnType<typeof optional>;

/** What a configuration file may hold, made of the settings. */
export function schema() {
  const accepts = (name: string, say: string, ok: (value: unknown) => boolean): Schema =>
    optional(any().check(refine(ok, { error: ({ input }) => `${name} must be ${say}, not ${shown(input)}` })));

  const root: Record<string, Schema> = {};
  const sections: Record<string, Record<string, Schema>> = {};
  for (const { key, kind } of settings as readonly Setting[]) {
    const [section, name] = key.includes('.') ? (key.split('.') as [string, string]) : [undefined, key];
    const value = accepts(key, kinds[kind].say, (given) => fits(given, kinds[kind]));
    if (section === undefined) root[name] = value;
    else sections[section] = { ...sections[section], [name]: value };
  }
  for (const [name, keys] of Object.entries(sections)) {
    root[name] = optional(strictObject(keys, { error: `[${name}] must be a section` }));
  }
  const oneSource: Record<string, Schema> = {};
  for (const { key, kind, say } of sourceKeys) oneSource[key] = accepts(key, say, (value) => sourceValue[kind](value));
  const source = strictObject(oneSource, { error: 'a [[source]] must be a section' }).check(
    refine((given) => given.name !== undefined, { error: 'a [[source]] needs a name' }),
    refine((given) => (given.module === undefined) !== (given.command === undefined), {
      error: 'a [[source]] needs either a module or a command',
    }),
  );
  root.source = optional(array(source, { error: 'source must be a list of sections: [[source]]' }));
  // whole lists of sections are taken out before: what is left is none
  root.policy = accepts('policy', 'a list of sections: [[policy]]', () => false);
  return strictObject(root);
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
  const text = JSON.stringify(typeof value === 'string' ? shownAddress(value) : value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
