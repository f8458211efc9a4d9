import { textWidth, wrap } from './text-table.ts';

/** Comments of examples that do not fit beside them stand below, so far in. */
const COMMENT = ' '.repeat(6);

/**
 * A help text in lines of at most `width` places. Paragraphs are broken anew, a comment behind an example moves below
 * it; a command stays one line, for it is copied.
 */
export function foldHelp(text: string, width: number): string {
  const folded: string[] = [];
  let paragraph: string[] = [];
  const finish = (): void => {
    const fits = paragraph.every((line) => textWidth(line) <= width);
    folded.push(...(fits ? paragraph : wrap(paragraph.join(' '), width)));
    paragraph = [];
  };
  for (const line of text.split('\n')) {
    if (/^\S/.test(line)) {
      paragraph.push(line);
      // the line that announces a list is the last of its paragraph
      if (line.endsWith(':')) finish();
      continue;
    }
    finish();
    const comment = /(?<=\S) {2,}(?=\S)/.exec(line);
    if (textWidth(line) <= width || comment === null) folded.push(line);
    else {
      const below = wrap(line.slice(comment.index).trim(), width - COMMENT.length);
      folded.push(line.slice(0, comment.index), ...below.map((one) => COMMENT + one));
    }
  }
  finish();
  return folded.join('\n');
}
