import { eachWord, unquoted } from '../../base/shell-words.ts';

/** Words between blanks, those of a script in an argument too, without quotes: texts without any have the same ones. */
export const plainWords = (args: string): string[] => [...eachPlainWord(args)];

function* eachPlainWord(args: string): Generator<string> {
  for (const quoted of eachWord(args)) {
    for (const word of unquoted(quoted).replaceAll("'", '').split(' ')) if (word !== '') yield word;
  }
}

const SHELLS = /^(?:ba|da|tc|c|z|k|fi)?sh$/;
const INTERPRETERS = /^(?:perl|python|pypy|ruby|Rscript|R|julia|java|node|tclsh|awk)[\d.]*$/;
/** The program is the next argument, not a file. */
const IN_LINE = /^-(?:c|e)$/;

const QUOTED = /['\\]/;

/** The word that says which script an interpreter runs; undefined when it runs none, or one that has no name. */
export function scriptWord(exename: string, args: string): string | undefined {
  const isShell = SHELLS.test(exename);
  if (!isShell && !INTERPRETERS.test(exename)) return undefined;
  const [first] = args.split(' ', 1);
  if (first !== '' && !first!.startsWith('-') && !QUOTED.test(first!)) return first;
  // arguments may be long, and the script is among the first
  for (const word of eachPlainWord(args)) {
    if (!isShell && IN_LINE.test(word)) return undefined;
    if (!word.startsWith('-')) return word;
  }
  return undefined;
}

/** The last path component. */
export const baseName = (word: string): string => word.slice(word.lastIndexOf('/', word.length - 2) + 1);

/** Without it, what awk runs is the text of a program. */
const AWK_FILE = /(?:^| )-f/;

/** What a process is to its user: the program, and for one that runs scripts also which: `python3 train.py`, `sh -c make`. */
export function programName(exename: string, args: string): string {
  if (exename === 'awk' && !AWK_FILE.test(args)) return exename;
  const script = scriptWord(exename, args);
  if (script === undefined) return exename;
  const inLine = SHELLS.test(exename) && /^-\w*c /.test(args) ? ' -c' : '';
  return `${exename}${inLine} ${baseName(script)}`;
}

/** The same of a command line as sampling has it. */
export function programOfLine(command: string): string {
  const blank = command.indexOf(' ');
  const [path, args] = blank < 0 ? [command, ''] : [command.slice(0, blank), command.slice(blank + 1)];
  return programName(baseName(path), args);
}
