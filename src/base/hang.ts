import { textWidth } from './text-width.ts';

/** A line broken at spaces to lines of at most `width` places, the later ones so far in. A path is never broken: it is copied. */
export function hang(line: string, width: number, indent: number): string {
  if (textWidth(line) <= width) return line;
  const lines: string[] = [];
  let open: string | undefined;
  for (const word of line.split(' ')) {
    const longer: string = open === undefined ? word : `${open} ${word}`;
    if (open !== undefined && open.trim() !== '' && textWidth(longer) > width) {
      lines.push(open);
      open = ' '.repeat(indent) + word;
    } else open = longer;
  }
  return [...lines, open].join('\n');
}
