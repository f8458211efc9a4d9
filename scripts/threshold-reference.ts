import * as fs from 'node:fs';
import * as path from 'node:path';
import { rules } from '../src/judge/rules/index.ts';

/** The table of all rules' thresholds in docs/configuration.md: what each means stands where it is defined. */

const RULES = path.join(import.meta.dirname, '../src/judge/rules');
const OPENING = /^(?:export )?const (\w+) = \{$|^ +(thresholds): \{$/;
const HELP = /^\s*\/\*\* (.*) \*\/$/;
const SPREAD = /^\s*\.\.\.(\w+),$/;
const ENTRY = /^\s*([a-z]\w*): (?:([A-Z_]+)\.\w+,$)?/;
/** Where a rule has the thresholds of others as they are. */
const WHOLE = /^ +thresholds: ([A-Z_]+),$/m;

/** Help by threshold, by the name of the object that has them. */
type Objects = Map<string, Map<string, string>>;

/** The objects of a file, with what they have from those of other files. */
function objectsIn(file: string, others: Objects): Objects {
  const objects: Objects = new Map();
  const named = (name: string): Map<string, string> => objects.get(name) ?? others.get(name) ?? new Map();
  const text = fs.readFileSync(file, 'utf8');
  let object: Map<string, string> | undefined;
  let help: string | undefined;
  for (const line of text.split('\n')) {
    const [, constant, property] = OPENING.exec(line) ?? [];
    const name = constant ?? property;
    if (name !== undefined) {
      object = new Map();
      objects.set(name, object);
    } else if (/^ *\}/.test(line)) object = undefined;
    else if (object !== undefined) {
      const [, threshold, source] = ENTRY.exec(line) ?? [];
      const [, spread] = SPREAD.exec(line) ?? [];
      if (spread !== undefined) for (const [key, value] of named(spread)) object.set(key, value);
      const own = help ?? (source === undefined ? undefined : named(source).get(threshold!));
      if (threshold !== undefined && own !== undefined) object.set(threshold, own);
    }
    help = HELP.exec(line)?.[1];
  }
  const whole = WHOLE.exec(text)?.[1];
  if (whole !== undefined) objects.set('thresholds', named(whole));
  return objects;
}

export function thresholdReference(): string {
  const shared: Objects = new Map();
  const files = fs.globSync(path.join(RULES, 'shared/*.ts')).sort();
  // twice: a file may take up what is in a later one
  for (const file of [...files, ...files])
    for (const [name, object] of objectsIn(file, shared)) shared.set(name, object);
  const rows = rules.flatMap(({ id, thresholds }) => {
    // a rule that is made by another file has its thresholds there
    const object = objectsIn(path.join(RULES, `${id}.ts`), shared).get('thresholds') ?? shared.get('thresholds');
    return Object.entries(thresholds).map(
      ([name, value]) => `| \`${id}\` | \`${name}\` | ${value} | ${object?.get(name) ?? ''} |`,
    );
  });
  return [
    '### [rules.ID]',
    '',
    'The thresholds of the rules by which the report card judges. [findings.md](findings.md) says what each rule looks for.',
    'Without "below" or "up to", a finding needs this much or more.',
    '',
    '| rule | threshold | default | |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}
