/** Text in columns for a page of fixed width. */

import { printable } from '../../base/printable.ts';
import { stated } from '../../base/stated.ts';
import { textWidth, wide } from '../../base/text-width.ts';

export { ascii, printable } from '../../base/printable.ts';
export { textWidth } from '../../base/text-width.ts';

export interface TextColumn {
  head: string;
  align?: 'left' | 'right';
  /** Longest text that is shown on a page; the rest is cut off. */
  most?: number;
  /** May be left out when the table is too wide; the highest goes first. */
  spare?: number;
  /** Says what is the matter with a row. */
  mark?: boolean;
  /** Is cut further when the table is still too wide. */
  shrinks?: boolean;
  /** Down to this, while something else can be left out (16). */
  least?: number;
  /** Is cut in the middle, because ids differ at the end. */
  middle?: boolean;
  /** Is a command: the folders of what it runs are cut first, because its name and its arguments say more. */
  command?: boolean;
  /** Is what one types next: never cut. */
  whole?: boolean;
}

/** A column of numbers. */
export const right = (head: string, spare?: number): TextColumn => ({ head, align: 'right', ...stated({ spare }) });

/** Names are not cut below this while something can be left out. */
const NARROW = 16;
/** Unless there is no other way: then down to this. */
const LEAST = 6;

/** Cut off at so many places, with `..` where something is missing. */
export function cut(text: string, most: number): string {
  if (textWidth(text) <= most) return text;
  let kept = '';
  let width = 0;
  for (const char of text) {
    const next = width + (wide(char.codePointAt(0)!) ? 2 : 1);
    if (next > most - 2) break;
    kept += char;
    width = next;
  }
  return `${kept}..`;
}

/** Cut out of the middle, because commands differ at both ends. */
export function cutMiddle(text: string, most: number): string {
  if (textWidth(text) <= most) return text;
  const characters = [...text];
  const room = Math.max(2, most - 2);
  let head = '';
  let tail = '';
  let width = 0;
  for (let from = 0, to = characters.length - 1; from <= to; ) {
    const front = textWidth(head) <= textWidth(tail);
    const next = characters[front ? from : to]!;
    width += textWidth(next);
    if (width > room) break;
    if (front) {
      head += next;
      from++;
    } else {
      tail = next + tail;
      to--;
    }
  }
  return `${head}..${tail}`;
}

/** A path that one runs; no option, assignment or address. */
const RUN = /^(?!-)[^:=]*\/[^/]+$/;

/** Cut by the folders of the program, and of the script that it runs; if that is not enough, at its end. */
export function cutCommand(text: string, most: number): string {
  const commandWords = text.split(' ');
  const width = (): number => textWidth(commandWords.join(' '));
  for (let at = 0; at < Math.min(2, commandWords.length) && width() > most; at++) {
    const whole = commandWords[at]!;
    if (!RUN.test(whole)) continue;
    const folders = whole.split('/');
    while (folders.length > 1 && width() > most) {
      folders.shift();
      commandWords[at] = `.../${folders.join('/')}`;
    }
    if (textWidth(commandWords[at]!) >= textWidth(whole)) commandWords[at] = whole;
  }
  return cut(commandWords.join(' '), most);
}

const cutterOf = ({ middle, command }: TextColumn): typeof cut => (middle ? cutMiddle : command ? cutCommand : cut);

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const room = ' '.repeat(Math.max(0, width - textWidth(text)));
  return align === 'left' ? text + room : room + text;
}

/**
 * Lines of a table: the heads, then the rows, columns two spaces apart. Columns without any value are left out, and
 * those that can be spared when it would be wider than `width`: their heads go to `leftOut`. What is then wider than
 * `widest` is cut. Cells may hold what anybody has written.
 */
export function textTable(
  columns: readonly TextColumn[],
  texts: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
  leftOut: string[] = [],
  widest = width,
): string[] {
  const rows = texts.map((row) => row.map(printable));
  const used = columns.map((_, i) => rows.some((row) => row[i] !== '' && row[i] !== '-'));
  let shown = columns.map((_, i) => i).filter((i) => used[i]);
  // a page without an end has room for everything
  const most = columns.map((column) => (width < Number.POSITIVE_INFINITY && column.most) || Number.POSITIVE_INFINITY);
  const longest = columns.map((_, i) => rows.reduce((width, row) => Math.max(width, textWidth(row[i]!)), 0));
  const wanted = (i: number): number => Math.max(textWidth(columns[i]!.head), Math.min(longest[i]!, most[i]!));
  const excess = (): number => shown.reduce((total, i) => total + wanted(i) + 2, -2) - width;
  // a narrow first column still tells rows apart; below that, columns go
  while (excess() > 0) {
    const elastic = shown.find((i) => columns[i]!.shrinks);
    if (elastic !== undefined && wanted(elastic) - excess() >= (columns[elastic]!.least ?? NARROW)) {
      most[elastic] = wanted(elastic) - excess();
      break;
    }
    const least = shown
      .filter((i) => columns[i]!.spare !== undefined)
      .sort((a, b) => columns[b]!.spare! - columns[a]!.spare!)[0];
    if (least === undefined) break;
    shown = shown.filter((i) => i !== least);
    leftOut.push(columns[least]!.head);
  }
  // what is left is cut place by place, the longest text first; figures stay whole
  while (excess() > widest - width) {
    const next = shown
      .filter(
        (i) =>
          columns[i]!.align !== 'right' &&
          !columns[i]!.whole &&
          wanted(i) > Math.max(LEAST, textWidth(columns[i]!.head)),
      )
      .sort((a, b) => wanted(b) - wanted(a))[0];
    if (next === undefined) break;
    most[next] = wanted(next) - 1;
  }
  const cells = rows.map((row) => shown.map((i) => cutterOf(columns[i]!)(row[i]!, most[i]!)));
  const widths = shown.map(wanted);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => pad(cell, widths[at]!, columns[shown[at]!]!.align))
      .join('  ')
      .trimEnd();
  return [line(shown.map((i) => columns[i]!.head)), ...cells.map(line)];
}

/** Names the columns that a narrow terminal has no room for. */
export const hiddenColumns = (heads: readonly string[]): string[] =>
  heads.length === 0 ? [] : [`columns hidden: ${heads.join(', ')}; a wider terminal or a pipe shows them`];

/** A number and its unit stay together. */
const BEFORE_UNIT = /(?<=\d) (?=(?:\d{3}|%|[KMGTP]?i?B|ms|min|MHz|k?Wh|[smhdWJC])(?:[\s,.;:)/]|$))/g;
const NO_BREAK = '\u00a0';

/** Sentences are read on a page, even where tables have all the room there is. */
const PAGE = 80;

/** Breaks a text into lines of at most `width` places; a longer word is broken where it must be. */
export function wrap(text: string, room: number): string[] {
  const width = room < Number.POSITIVE_INFINITY ? room : PAGE;
  const lines: string[] = [];
  let line = '';
  for (let word of text
    .replace(BEFORE_UNIT, NO_BREAK)
    .split(' ')
    .filter((w) => w !== '')) {
    while (textWidth(word) > width) {
      if (line !== '') {
        lines.push(line);
        line = '';
      }
      lines.push(word.slice(0, width));
      word = word.slice(width);
    }
    const longer = line === '' ? word : `${line} ${word}`;
    if (textWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  if (line !== '') lines.push(line);
  return lines.map((one) => one.replaceAll(NO_BREAK, ' '));
}
