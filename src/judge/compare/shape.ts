import { baseName, plainWords, scriptWord } from '../../query/processes/program.ts';

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

/** A command without the folders of its files: the same one, wherever it ran. */
export const plainCommand = (exename: string, args: string): string =>
  [exename, ...plainWords(args).map(withoutFolder)].join(' ');

/** `--out=/data/x.nc` is `--out=` and `/data/x.nc`. */
const OPTION = /^(--?[\w-]+=)(.*)$/s;

function withoutFolder(word: string): string {
  const [, option = '', value = word] = OPTION.exec(word) ?? [];
  return option + baseName(value);
}

/** Folders of names that are made up for the moment. */
const PASSING = /^\/(?:tmp|var\/tmp|dev\/shm)\//;
/** The files between the parts of a compiler. */
const COMPILER = /^cc[A-Za-z0-9]{6}(?=\.)/;
/** Six or more letters and digits together, as mktemp and hashes have them. */
const MIXED = /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{6,}(?![A-Za-z0-9])/g;

function wordShape(word: string): string {
  const [, option = '', value = word] = OPTION.exec(word) ?? [];
  if (PASSING.test(value)) return `${option}#${/\.[a-z]{1,4}$/i.exec(value)?.[0] ?? ''}`;
  return option + baseName(value).replace(COMPILER, '#').replace(MIXED, '#').replace(/\d+/g, '#');
}

/** The program and, for one that runs scripts, the shape of the script's name. */
export function programShape(exename: string, args: string): string {
  const script = scriptWord(exename, args);
  return script === undefined ? exename : `${exename} ${wordShape(script)}`;
}
