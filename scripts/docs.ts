import * as fs from 'node:fs';
import * as path from 'node:path';
import { makeFolder } from '../src/base/folder.ts';
import { VERSION } from '../src/base/version.ts';
import { LETTERS } from '../src/cli/flag-table.ts';
import { wholeProgram } from '../src/cli/program.ts';
import { configReference } from '../src/config/reference.ts';
import { historyReference } from '../src/history/tables/reference.ts';
import { reportJsonSchema } from '../src/judge/report-schema.ts';
import { rules } from '../src/judge/rules/index.ts';
import { findingsReference } from '../src/judge/rules/shared/reference.ts';
import { EXAMPLE_POLICIES } from '../src/policy/examples.ts';
import { policyReference } from '../src/policy/policy-keys.ts';
import { cliReference, manualPages } from '../src/show/cli-reference.ts';
import { sources } from '../src/sources/index.ts';
import { agentTable } from '../src/sources/own/agent.ts';
import {
  daskGpuTable,
  daskGraphTable,
  daskMetricTable,
  daskTaskTable,
  daskWorkerTable,
} from '../src/sources/own/dask.ts';
import { metricReference, type ReferenceEntry } from '../src/table/reference.ts';
import { causesReference } from './causes-reference.ts';
import { dashboards } from './grafana/dashboards.ts';
import { RULES_INDEX, rulesIndex } from './rules-index.ts';
import { thresholdReference } from './threshold-reference.ts';
import { truthReference } from './truth-reference.ts';

/** Renews what in docs/ and packaging/ is made from definitions: `npm run docs`. */

const DOCS = path.join(import.meta.dirname, '../docs');
const BEGIN = '<!-- made by npm run docs -->';
const END = '<!-- end -->';

const program = await wholeProgram();

/** Every table that a recording may have. */
export const tables: readonly ReferenceEntry[] = [
  ...sources,
  { table: agentTable },
  ...[daskTaskTable, daskWorkerTable, daskGpuTable, daskMetricTable, daskGraphTable].map((table) => ({ table })),
];

/** The generated pages, by path: what they should hold now. */
export function generated(): Map<string, string> {
  const configuring = [configReference(), policyReference(), thresholdReference()];
  return new Map([
    [RULES_INDEX, rulesIndex()],
    [path.join(DOCS, 'metrics.md'), metricReference(tables)],
    [path.join(DOCS, 'findings.md'), `${findingsReference(rules)}\n${causesReference(rules.map(({ id }) => id))}`],
    [path.join(DOCS, 'history-tables.md'), historyReference()],
    [path.join(DOCS, 'report.schema.json'), reportJsonSchema()],
    partOf('configuration.md', configuring.join('\n\n')),
    partOf('truth.md', truthReference()),
    [path.join(DOCS, '../packaging/policies.toml'), EXAMPLE_POLICIES],
    [path.join(DOCS, 'cli.md'), cliReference(program, LETTERS)],
    ...[...manualPages(program, VERSION)].map(
      ([name, page]) => [path.join(DOCS, '../packaging/man', name), page] as const,
    ),
    ...dashboards(),
  ]);
}

/** A page that is written by hand but for one part. */
function partOf(name: string, text: string): [string, string] {
  const file = path.join(DOCS, name);
  const [before, rest] = fs.readFileSync(file, 'utf8').split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/${name} lacks ${BEGIN} … ${END}`);
  return [file, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`];
}

if (import.meta.main) for (const [file, text] of generated()) write(file, text);

function write(file: string, text: string): void {
  makeFolder(path.dirname(file));
  fs.writeFileSync(file, text);
}
