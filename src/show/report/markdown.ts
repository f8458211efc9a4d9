import { percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { Report } from '../../judge/report-schema.ts';
import { foldRows } from '../terminal/fold-rows.ts';
import { cut, pad, printable, textWidth } from '../terminal/text-table.ts';
import { curveFeet, curveTexts, curveTitle } from './curve-lines.ts';
import { daskLines } from './dask-lines.ts';
import { about, endingInText, footer, memoryLines, title, unmeasuredLines } from './head.ts';
import { allocationHours, energyText, kernelWorkText, meters, workText } from './meters.ts';
import { rankPart } from './rank-rows.ts';
import { requestText } from './request-text.ts';
import * as tables from './rows.ts';
import { jobRow, severalRows } from './several.ts';
import { verdict } from './verdict.ts';

/** The report for an issue, a wiki or a notebook. */
export function reportMarkdown(reports: readonly Report[]): string {
  if (reports.length === 1) return card(reports[0]!);
  return ['# Jobs', table(severalRows(reports.map(jobRow))), ...reports.map(card)].join('\n\n');
}

function card(report: Report): string {
  const sections = [
    `# ${safe(title(report))}: ${endingInText(report)}`,
    about(report).map(safe).join('  \n'),
    `**${safe(verdict(report))}**`,
    section(requestText(report), used(report)),
    section(report.curves === undefined ? '' : curveTitle(report.curves), overTime(report)),
    section('Findings', findings(report)),
    section('GPUs', gpus(report)),
    section('Nodes', table(tables.nodeRows(report.nodes))),
    section('I/O and network', table(tables.flowRows(report))),
    ranks(report),
    section('Dask', daskLines(report).map(safe).join('  \n')),
    section('Programs', table(tables.programRows(report, 10))),
    safe(tables.processNote(report) ?? ''),
    section('Operations', table(tables.operationRows(report, 20))),
    section('Phases', table(tables.phaseRows(report.phases, report.job.start, 20))),
    section('Figures of merit', table(tables.figureRows(report.figures))),
    section(
      'Memory, measured in different ways',
      table({
        columns: [{ head: 'what' }, { head: 'at most', align: 'right' }],
        rows: memoryLines(report).map(([what, bytes]) => [what, formatBytes(bytes)]),
      }),
    ),
    section(
      'Not measured',
      unmeasuredLines(report)
        .map(({ text }) => `- ${safe(text)}`)
        .join('\n'),
    ),
    section('Checks', checks(report)),
    footer(report).map(safe).join('  \n'),
  ];
  return `${sections.filter((oneSection) => oneSection !== '').join('\n\n')}\n`;
}

const section = (name: string, body: string): string => (body === '' ? '' : `## ${name}\n\n${body}`);

function gpus(report: Report): string {
  const { rows, hidden } = foldRows(
    report.gpus,
    (g) => tables.gpuMark(g) !== '',
    (g) => g.utilization_mean,
  );
  return `${table(tables.gpuRows(rows))}${hidden > 0 ? `\n\n${hidden} more GPUs are like the others.` : ''}`;
}

function ranks(report: Report): string {
  const rankTable = rankPart(report);
  if (rankTable === undefined) return '';
  const notes = rankTable.notes.map((note) => `\n\n${safe(note)}`).join('');
  return section(safe(rankTable.title), `${table(rankTable)}${notes}`);
}

function used(report: Report): string {
  const rows = meters(report, false).map(({ name, share, text }) => [name, percent(share), text]);
  const [work, kernel] = [workText(report), kernelWorkText(report)];
  if (work !== undefined) rows.push(['CPU time', '', work]);
  if (kernel !== undefined) rows.push(['kernel', '', kernel]);
  const energy = energyText(report);
  rows.push(['energy', '', energy ?? 'not measurable here'], ['hours', '', allocationHours(report)]);
  return table({ columns: [{ head: 'what' }, { head: 'used', align: 'right' }, { head: '' }], rows }, true);
}

/** As text that keeps its columns: names in it cannot become markup. */
function overTime(report: Report): string {
  if (report.curves === undefined) return '';
  const lines = curveTexts(report.curves, true).map(({ name, line, most }) => `${pad(name, 15)}${line}  ${most}`);
  const { phases, times } = curveFeet(report, true);
  const feet = phases.map(({ name, line }) => `${pad(cut(name, 14), 15)}${line}`);
  const text = [...lines, ...feet, `${' '.repeat(15)}${times}`].map((line) => line.replaceAll('`', "'").trimEnd());
  return ['```text', ...text, '```'].join('\n');
}

function findings(report: Report): string {
  return report.findings
    .map((f) => {
      const evidence = f.evidence.map((e) => `${safe(e.text)} (\`${e.from}\`)`).join('; ');
      return [
        `- **${f.severity}**: ${safe(f.text)}`,
        `  - evidence: ${evidence}`,
        `  - advice: ${safe(f.advice)}`,
        `  - confidence: ${f.confidence} (${safe(f.confidence_reason)})`,
      ].join('\n');
    })
    .join('\n');
}

/** What became of the checks that found nothing. */
function checks(report: Report): string {
  const fine = report.checks.filter((c) => c.outcome === 'fine').map((c) => c.title);
  const skipped = report.checks.filter((c) => c.outcome === 'skipped');
  const lines: string[] = [];
  if (fine.length > 0) lines.push(`- Nothing wrong: ${fine.join(', ')}.`);
  for (const check of skipped) lines.push(`- Left out: ${check.title} (${safe(check.why ?? '')}).`);
  return lines.join('\n');
}

function table({ columns, rows }: tables.Rows, keepEmpty = false): string {
  if (rows.length === 0) return '';
  const shown = columns
    .map((_, i) => i)
    .filter((i) => keepEmpty || rows.some((row) => row[i] !== '' && row[i] !== '-'));
  const cells = [
    shown.map((i) => columns[i]!.head),
    ...rows.map((row) =>
      shown.map((i) => (columns[i]!.mark && row[i] !== '' ? `**${safe(row[i]!)}**` : safe(row[i]!))),
    ),
  ];
  // padded, so that it can be read as it is
  const widths = shown.map((_, at) => Math.max(3, ...cells.map((row) => textWidth(row[at]!))));
  const align = (at: number): 'left' | 'right' => columns[shown[at]!]!.align ?? 'left';
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => pad(cell, widths[at]!, align(at))).join(' | ')} |`;
  const rule = widths.map((width, at) => (align(at) === 'right' ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [line(cells[0]!), line(rule), ...cells.slice(1).map(line)].join('\n');
}

/** Names and commands come from anybody: nothing in them may become markup. */
function safe(text: string): string {
  return printable(text).replace(/[\\`*_[\]<>|]|^#|^[+-](?= )/g, (c) => `\\${c}`);
}
