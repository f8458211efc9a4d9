import * as fs from 'node:fs';
import * as path from 'node:path';
import { rules } from '../src/judge/rules/index.ts';

/** The table of all rules' thresholds in docs/configuration.md: what each means is said where it is defined. */

const RULES = path.join(import.meta.dirname, '../src/judge/rules');
const COMMENT = /^\s*\/\*\* (.*) \*\/$/;
const THRESHOLD = /^\s*([a-z]\w*): [^{]/;

/** The comment above each name; one comment may stand above several. */
function commentsIn(file: string): Map<string, string> {
  const commentsByName = new Map<string, string>();
  let comment: string | undefined;
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    const said = COMMENT.exec(line)?.[1];
    const name = THRESHOLD.exec(line)?.[1];
    if (said !== undefined) comment = said;
    else if (name === undefined) comment = undefined;
    else if (comment !== undefined && !commentsByName.has(name)) commentsByName.set(name, comment);
  }
  return commentsByName;
}

export function thresholdReference(): string {
  const shared = new Map<string, string>();
  for (const file of fs.globSync(path.join(RULES, 'shared/*.ts')).sort())
    if (!file.endsWith('.test.ts'))
      for (const [name, comment] of commentsIn(file)) if (!shared.has(name)) shared.set(name, comment);
  const rows = rules.flatMap(({ id, thresholds }) => {
    const own = commentsIn(path.join(RULES, `${id}.ts`));
    return Object.entries(thresholds).map(
      ([name, value]) => `| \`${id}\` | \`${name}\` | ${value} | ${own.get(name) ?? shared.get(name) ?? ''} |`,
    );
  });
  return [
    '### [rules.ID]',
    '',
    'The thresholds of the rules by which the report card judges. [findings.md](findings.md) says what each rule looks for.',
    '',
    '| rule | threshold | default | |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}
