import { splitLine } from '../../base/csv.ts';
import { Fault } from '../../base/fault.ts';
import type { StoredSeries } from '../../query/store/export-lines.ts';

/**
 * A file that Omnistat's query tool exports: some header rows (metric, instance, card …), a row that names the index
 * (timestamp), then a row a moment, in UTC. Every column is a series.
 */
export function parseOmnistatCsv(text: string, file: string): StoredSeries[] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  const levels: string[][] = [];
  let at = 0;
  for (; at < lines.length; at++) {
    const cells = splitLine(lines[at]!);
    if (cells[0] === 'timestamp') break;
    levels.push(cells);
    if (levels.length > 8) break;
  }
  if (levels[0]?.[0] !== 'metric' || at === lines.length || levels.length > 8) {
    throw new Fault(
      `${file} is not a file that Omnistat exports: its rows should begin with metric, instance … timestamp`,
      {
        hint: 'omnistat-query --export writes such files (omnistat-rocm.csv); tacho import omnistat DIR takes all of a folder',
      },
    );
  }
  const width = levels[0].length;
  const short = levels.find((cells) => cells.length !== width);
  if (short !== undefined)
    throw new Fault(`${file}: the header row ${short[0]} has ${short.length} cells, not ${width}`);
  const times: number[] = [];
  const values: number[][] = Array.from({ length: width - 1 }, () => []);
  for (const [i, line] of lines.slice(at + 1).entries()) {
    const cells = splitLine(line);
    const time = momentOf(cells[0] ?? '');
    if (Number.isNaN(time) || cells.length !== width) {
      const why = cells.length === width ? `"${cells[0]}" is no moment` : `it has ${cells.length} cells, not ${width}`;
      throw new Fault(`${file} cannot be imported: line ${at + 2 + i}: ${why}`);
    }
    times.push(time);
    for (let c = 1; c < width; c++) values[c - 1]!.push(cells[c] === '' ? Number.NaN : Number(cells[c]));
  }
  const moments = Float64Array.from(times);
  return values.map((column, c) => {
    const labels = Object.fromEntries(
      levels.map((cells): [string, string] => [
        cells[0] === 'metric' ? '__name__' : cells[0]!,
        // a name with a space in front of it is known
        cells[c + 1]!.trim(),
      ]),
    );
    return { labels, times: moments, values: Float64Array.from(column) };
  });
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|\+00:00)?$/;

/** Epoch milliseconds of a moment without a zone, which is UTC. */
function momentOf(text: string): number {
  const momentMatch = MOMENT.exec(text);
  return momentMatch === null ? Number.NaN : Date.parse(`${momentMatch[1]}T${momentMatch[2]}Z`);
}
