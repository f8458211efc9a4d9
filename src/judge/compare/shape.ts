import { unquoted, wordsOf } from '../../base/shell-words.ts';

/**
 * A command without what differs from run to run: numbers, folders, names made up for the moment. Two processes with the
 * same shape did the same work, each on its own files.
 */
export function shapeOf(exename: string, args: string): string {
  const shaped: string[] = [];
  for (const word of plainWords(args)) {
    const shape = wordShape(word);
    // twelve files or thirteen: still the same command
    if (shape !== shaped.at(-1)) shaped.push(shape);
  }
  return [exename, ...shaped].join(' ');
}

/** Words between blanks, those of a script in an argument too, without quotes: texts without any have the same ones. */
const plainWords = (args: string): string[] =>
  wordsOf(args)
    .flatMap((word) => unquoted(word).replaceAll("'", '').split(' '))
    .filter((word) => word !== '');

/** Folders of names that are made up for the moment. */
const PASSING = /^\/(?:tmp|var\/tmp|dev\/shm)\//;
/** The files between the parts of a compiler. */
const COMPILER = /^cc[A-Za-z0-9]{6}(?=\.)/;
/** Six or more letters and digits together, as mktemp and hashes have them. */
const MIXED = /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{6,}(?![A-Za-z0-9])/g;

function wordShape(word: string): string {
  const [, option = '', value = word] = /^(--?[\w-]+=)(.*)$/s.exec(word) ?? [];
  if (PASSING.test(value)) return `${option}#${/\.[a-z]{1,4}$/i.exec(value)?.[0] ?? ''}`;
  const name = value.slice(value.lastIndexOf('/', value.length - 2) + 1);
  return option + name.replace(COMPILER, '#').replace(MIXED, '#').replace(/\d+/g, '#');
}

const INTERPRETERS = /^(?:(?:ba|da|tc|c|z|k|fi)?sh|perl|python|ruby|Rscript|R|java|node|tclsh|awk)[\d.]*$/;

/** What a command is to its user: the program, and for one that runs scripts also which. */
export function programOf(exename: string, args: string): string {
  if (!INTERPRETERS.test(exename)) return exename;
  const script = plainWords(args).find((word) => !word.startsWith('-'));
  return script === undefined ? exename : `${exename} ${wordShape(script)}`;
}
