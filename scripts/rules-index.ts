import * as fs from 'node:fs';
import * as path from 'node:path';

/** src/judge/rules/index.ts: every file of the folder is a rule, named after its id. */

const RULES = path.join(import.meta.dirname, '../src/judge/rules');

export const RULES_INDEX = path.join(RULES, 'index.ts');

export function rulesIndex(folder = RULES): string {
  const files = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'index.ts')
    .sort();
  const nameOf = (file: string): string => file.slice(0, -3).replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  const imports = files.map((file) => ({ file, line: `import ${nameOf(file)} from './${file}';` }));
  imports.push({ file: 'shared/rule.ts', line: "import type { Rule } from './shared/rule.ts';" });
  imports.sort((a, b) => (a.file < b.file ? -1 : 1));
  return `/* Made by npm run docs from the files of this folder. */

${imports.map(({ line }) => line).join('\n')}

const all: readonly Rule[] = [
${files.map((file) => `  ${nameOf(file)},`).join('\n')}
];

/** Everything that the judge looks for, in the order of the reference. */
export const rules: readonly Rule[] = all.toSorted((a, b) => a.order - b.order);
`;
}

if (import.meta.main) fs.writeFileSync(RULES_INDEX, rulesIndex());
