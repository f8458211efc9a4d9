import { createHash } from 'node:crypto';
import { nodeList } from '../../base/node-list.ts';
import { percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { Report } from '../../judge/report-schema.ts';
import { curveEnds, maximumText, nameOf } from './curve-lines.ts';
import { daskLines } from './dask-lines.ts';
import { curvePicture, gpuMap, meterBar, phasePicture } from './drawings.ts';
import { about, endingInText, footer, memoryLines, title, unmeasuredLines } from './head.ts';
import { allocationHours, energyText, kernelWorkText, meters, workText } from './meters.ts';
import { rankPart } from './rank-rows.ts';
import { requestText } from './request-text.ts';
import * as tables from './rows.ts';
import { safe } from './safe.ts';
import { jobRow, manyRows } from './several.ts';
import { STYLE } from './style.ts';
import { verdict } from './verdict.ts';

/** What takes the place of the report where scripts run. */
export interface InteractivePage {
  script: string;
  style: string;
  /** What it shows: JSON, packed with gzip, in base64. */
  data: string;
}

/**
 * The report as one file: nothing from elsewhere, light and dark, fit for printing. It has no scripts, unless it is to be
 * interactive: then it is what is seen until that page is there, and where scripts do not run.
 */
export function reportHtml(reports: readonly Report[], page?: InteractivePage): string {
  const name = reports.length === 1 ? title(reports[0]!) : `${reports.length} jobs`;
  const several =
    reports.length > 1
      ? `<section><h2>Jobs</h2>${table(manyRows(reports.map(jobRow)), (row) => `#job-${row}`)}</section>`
      : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'${page === undefined ? '' : `; img-src data: blob:; script-src '${hashOf(page.script)}'`}">
<title>${safe(name)} · Tacho report</title>
<style id="report-style">${STYLE}</style>
</head>
<body>
${page === undefined ? '' : '<div id="report">\n'}${several}${reports.map(card).join('\n')}
${page === undefined ? '' : interactive(page)}</body>
</html>
`;
}

/** The style of the page waits for its script. What is packed has no character that HTML knows. */
function interactive({ script, style, data }: InteractivePage): string {
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error('the page cannot be put into a file');
  return `</div>
<div id="app"></div>
<style id="page-style" media="not all">${style}</style>
<script id="tacho-data" type="application/octet-stream">${data}</script>
<script>${script}</script>
`;
}

const hashOf = (script: string): string => `sha256-${createHash('sha256').update(script).digest('base64')}`;

function card(report: Report, at: number): string {
  const worst = report.findings[0]?.severity ?? 'fine';
  return `<article id="job-${at}">
<header>
<h1>${safe(title(report))} <span class="state ${report.job.state}">${safe(endingInText(report))}</span></h1>
${about(report)
  .map((line) => `<p>${safe(line)}</p>`)
  .join('\n')}
<p class="verdict ${worst}">${safe(verdict(report))}</p>
</header>
${section(requestText(report), used(report))}
${section('Over time', overTime(report))}
${section('Findings', findings(report))}
${section('GPUs', gpus(report))}
${section('Nodes', table(tables.nodeRows(report.nodes)))}
${section('I/O and network', table(tables.flowRows(report)))}
${ranks(report)}
${section('Dask', list(daskLines(report)))}
${section('Programs', table(tables.programRows(report, 10)) + processes(report))}
${section('Operations', table(tables.operationRows(report, 20)))}
${section('Phases', table(tables.phaseRows(report.phases, report.job.start, 40)))}
${section('Figures of merit', table(tables.figureRows(report.figures)))}
${section('Memory, measured in different ways', memory(report))}
${section('Not measured', list(unmeasuredLines(report).map(({ text }) => text)))}
${section('Checks', checks(report))}
<footer>${footer(report)
    .map((line) => `<p>${safe(line)}</p>`)
    .join('')}</footer>
</article>`;
}

function ranks(report: Report): string {
  const rankTable = rankPart(report, true);
  if (rankTable === undefined) return '';
  const notes = rankTable.notes.map((note) => `<p>${safe(note)}</p>`).join('');
  const short = rankPart(report)!;
  const whole = rankTable.rows.length === short.rows.length;
  const all = `<details><summary>All that the report has of them</summary>${table(rankTable)}</details>`;
  return section(safe(rankTable.title), whole ? table(rankTable) + notes : `${table(short)}${notes}${all}`);
}

function processes(report: Report): string {
  const note = tables.processNote(report);
  const top = table(tables.processRows(report, 20));
  return `${note === undefined ? '' : `<p>${safe(note)}</p>`}${top === '' ? '' : `<details><summary>Top processes</summary>${top}</details>`}`;
}

const section = (name: string, body: string): string =>
  body === '' ? '' : `<section><h2>${name}</h2>\n${body}\n</section>`;

const list = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : `<ul>${lines.map((line) => `<li>${safe(line)}</li>`).join('')}</ul>`;

function used(report: Report): string {
  const rows = meters(report, false).map(
    ({ name, share, text }) =>
      `<tr><th>${name}</th><td class="bar">${share === undefined ? '' : meterBar(share)}</td><td class="n">${
        share === undefined ? '' : percent(share)
      }</td><td>${safe(text)}</td></tr>`,
  );
  const plain = (name: string, text: string): string =>
    `<tr><th>${name}</th><td></td><td></td><td>${safe(text)}</td></tr>`;
  const [work, kernel] = [workText(report), kernelWorkText(report)];
  if (work !== undefined) rows.push(plain('CPU time', work));
  if (kernel !== undefined) rows.push(plain('kernel', kernel));
  rows.push(plain('energy', energyText(report) ?? 'not measurable here'), plain('hours', allocationHours(report)));
  return `<table class="used">${rows.join('\n')}</table>`;
}

/** Curves with the phases below them. */
function overTime(report: Report): string {
  const { curves, phases, job } = report;
  if (curves === undefined) return '';
  const rows = curves.lines.map(
    (line) =>
      `<tr><th>${safe(nameOf(line))}</th><td>${curvePicture(line, maximumText(line))}</td><td class="n">${safe(maximumText(line))}</td></tr>`,
  );
  const bars = phasePicture(phases, curves);
  if (bars !== '') rows.push(`<tr><th>phases</th><td>${bars}</td><td></td></tr>`);
  const [begin, end] = curveEnds(curves, job.start);
  rows.push(`<tr><th></th><td class="ends"><span>${begin}</span><span>${end}</span></td><td></td></tr>`);
  return `<table class="curves">${rows.join('\n')}</table>`;
}

function findings(report: Report): string {
  return report.findings
    .map((f) => {
      const evidence = f.evidence.map((e) => `<li>${safe(e.text)} <code>${safe(e.from)}</code></li>`).join('');
      return `<div class="finding ${f.severity}"><h3><span>${f.severity}</span> ${safe(f.text)}</h3>
<p>${safe(f.advice)}</p>
<details><summary>Evidence, ${f.confidence} confidence (${safe(f.confidence_reason)})</summary><ul>${evidence}</ul></details></div>`;
    })
    .join('\n');
}

function gpus(report: Report): string {
  if (report.gpus.length === 0) return '';
  const map = report.gpus.length > 1 ? gpuMap(report.gpus) : '';
  const rows = table(tables.gpuRows(report.gpus));
  if (report.gpus.length <= 16) return map + rows;
  const nodes = nodeList([...new Set(report.gpus.map((g) => g.node))]);
  return `${map}<details><summary>All ${report.gpus.length} GPUs of ${safe(nodes)}</summary>${rows}</details>`;
}

function memory(report: Report): string {
  return table({
    columns: [{ head: 'what' }, { head: 'at most', align: 'right' }],
    rows: memoryLines(report).map(([what, bytes]) => [what, formatBytes(bytes)]),
  });
}

function checks(report: Report): string {
  const word = { found: 'found', fine: 'nothing wrong', skipped: 'left out', unmeasurable: 'not measurable' };
  const rows = report.checks.map((c) => [c.title, word[c.outcome], c.why ?? '']);
  return `<details><summary>What was looked for</summary>${table({ columns: [{ head: 'what' }, { head: 'result' }, { head: '' }], rows })}</details>`;
}

function table({ columns, rows }: tables.Rows, linkOf?: (row: number) => string): string {
  if (rows.length === 0) return '';
  const shown = columns.map((_, i) => i).filter((i) => rows.some((row) => row[i] !== '' && row[i] !== '-'));
  const kind = (i: number): string =>
    columns[i]!.align === 'right' ? ' class="n"' : columns[i]!.mark ? ' class="marks"' : '';
  const mark = (cell: string, i: number): string => (columns[i]!.mark ? `<mark>${safe(cell)}</mark>` : safe(cell));
  const head = shown.map((i) => `<th${kind(i)}>${safe(columns[i]!.head)}</th>`).join('');
  // on a narrow page the marks' own column is out of sight: they stand below their rows, and stay where one can see them
  const under = (word: string): string =>
    `<tr class="under"><td colspan="${shown.length}"><mark>${safe(word)}</mark></td></tr>`;
  const body = rows.map((row, at) => {
    const link = (cell: string, i: number): string =>
      linkOf === undefined || i !== shown[0] ? cell : `<a href="${linkOf(at)}">${cell}</a>`;
    const cells = shown.map((i) => `<td${kind(i)}>${link(mark(row[i]!, i), i)}</td>`).join('');
    return `<tr>${cells}</tr>${shown
      .filter((i) => columns[i]!.mark && row[i] !== '')
      .map((i) => under(row[i]!))
      .join('')}`;
  });
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`;
}
