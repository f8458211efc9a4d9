import type { Command } from 'commander';
import { formatDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { formatBytes } from '../base/size.ts';
import { type Listed, listRecordings } from '../recording/list.ts';

export function define(command: Command): void {
  command
    .argument('[folder...]', 'where to look (default: the current folder)')
    .option('-t, --tables', 'the tables that were recorded, instead of the recordings')
    .option('-f, --format <format>', 'text or json', 'text')
    .addHelpText(
      'after',
      `
States: running (an agent writes), ended, sealed (small and fast), damaged (see tacho verify).

Examples:
  tacho list
  tacho list tacho-4711 --tables
  tacho list /archive/2026 --format json | jq '.[] | select(.user == "ada").path'
`,
    )
    .action(async (folders: string[], options: { format: string; tables?: boolean }) => {
      if (options.format !== 'text' && options.format !== 'json') {
        throw usage(`there is no format "${options.format}"`, 'use text or json');
      }
      const places = folders.length === 0 ? ['.'] : folders;
      if (options.tables === true) return void process.stdout.write(await tablesOf(places, options.format));
      const found = listRecordings(places);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
      else if (found.length === 0) process.stderr.write('no recordings here; tacho run -- COMMAND makes one\n');
      else process.stdout.write(listText(found));
    });
}

async function tablesOf(places: readonly string[], format: string): Promise<string> {
  const { findRecordings } = await import('../recording/open.ts');
  const { recordedTables, tableListText } = await import('../show/table-list.ts');
  const tables = recordedTables(findRecordings(places));
  return format === 'json' ? `${JSON.stringify(tables, null, 1)}\n` : tableListText(tables);
}

/** A table for people; paths last, because they may be long. */
export function listText(found: readonly Listed[], now = Date.now() * 1000): string {
  const rows = [
    ['job', 'name', 'user', 'began', 'lasted', 'nodes', 'size', 'state', 'recording'],
    ...found.map((each) => [
      each.job,
      shorten(each.name, 20),
      each.user,
      each.start === undefined ? 'unknown' : formatMoment(each.start),
      each.start === undefined ? '' : lasted(each, now),
      String(each.nodes),
      formatBytes(each.bytes),
      each.state,
      each.path,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const right = new Set([4, 5, 6]);
  return rows
    .map((row) => {
      const cells = row.map((cell, i) => (right.has(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)));
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

function lasted(each: Listed, now: number): string {
  if (each.end === undefined && each.state !== 'running') return 'unknown';
  return formatDuration(Math.max(0, (each.end ?? now) - each.start!) / 1e6);
}

const shorten = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
