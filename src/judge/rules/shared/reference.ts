import type { TableColumn } from '../../../table/table.ts';
import { isColumn, type Need, named, type Rule, SHORT_JOB_SECONDS } from './rule.ts';

/** The text of docs/findings.md. */
export function findingsReference(rules: readonly Rule[]): string {
  const sections = rules.map(({ id, title, help, needs, kind }) =>
    [
      `## ${id}`,
      `Looks for ${title}.`,
      help,
      `Needs: ${needs.map(needText).join('; ')}.`,
      kind === 'waste' ? `A verdict on waste: not given for jobs shorter than ${SHORT_JOB_SECONDS} s.` : '',
    ]
      .filter((line) => line !== '')
      .join('\n\n'),
  );
  return `# Findings

What the report card looks for, when it speaks, and what it must know for that. This page is made from the definitions
in \`src/judge/rules\` (\`npm run docs\`). How often the rules were right on jobs of known cause is [at its
end](#how-often-the-rules-are-right).

Every finding has evidence (what was measured, and where it comes from), advice, and a confidence: *high* for counters
of the kernel and well-sampled values; *medium* for few samples, a whole node's values or an assumption; *low* when large parts of the recording are missing. A poor recording lowers all that rests on samples: with grade C,
or when less than 90 % of the job's time was recorded, to *medium* at most, with grade D to *low*. A check whose data are missing is listed as not measurable,
with the reason; one that does not apply is left out, also with the reason (\`checks\` in the JSON).

| severity | means |
| --- | --- |
| critical | something failed |
| warning | it costs much, or may fail the next time |
| advice | a change would save something |
| info | worth knowing |

${sections.join('\n\n')}
`;
}

function needText(need: Need): string {
  if (isColumn(need)) return named(need);
  return need.columns === undefined ? need.what : `${need.what} (${columnsByTable(need.columns)})`;
}

/** `disk.reads`, or of several columns `disk: reads, writes; nfs: operations`. */
function columnsByTable(columns: readonly TableColumn[]): string {
  if (columns.length === 1) return named(...columns);
  const tables = Map.groupBy(columns, ({ table }) => table);
  return [...tables].map(([table, own]) => `${table}: ${own.map(({ name }) => name).join(', ')}`).join('; ');
}
