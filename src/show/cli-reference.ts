import type { EventEmitter } from 'node:events';
import type { Argument, Command, Option } from 'commander';

/** Every verb with every flag, from the definitions: a page of docs/, and manual pages. */

interface VerbPage {
  /** Of a verb's own verb both words: "db jobs". */
  name: string;
  summary: string;
  usage: string;
  arguments: { term: string; help: string }[];
  flags: { term: string; help: string }[];
  /** What its help says after the flags: explanations and examples. */
  more: string;
}

/** The pages of all verbs that help shows. */
function verbPages(program: Command): VerbPage[] {
  const pages: VerbPage[] = [];
  const walk = (command: Command, above: string): void => {
    const help = command.createHelp();
    for (const child of help.visibleCommands(command)) {
      const name = `${above}${child.name()}`;
      pages.push(pageOf(child, name));
      walk(child, `${name} `);
    }
  };
  walk(program, '');
  return pages;
}

function pageOf(command: Command, name: string): VerbPage {
  const help = command.createHelp();
  let more = '';
  // commander prints what stands after a help so
  (command as unknown as EventEmitter).emit('afterHelp', {
    error: false,
    command,
    write: (text: string) => (more += text),
  });
  const option = (each: Option): { term: string; help: string } => ({
    term: help.optionTerm(each),
    help: help.optionDescription(each).replace(/ \(default: \[\]\)$/, ''),
  });
  const argument = (each: Argument): { term: string; help: string } => ({
    term: each.name(),
    help: help.argumentDescription(each),
  });
  return {
    name,
    summary: command.description(),
    usage: `tacho ${name} ${command.usage()}`,
    arguments: help.visibleArguments(command).map(argument),
    flags: help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map(option),
    more: more.trim(),
  };
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');

function table(head: string, rows: readonly { term: string; help: string }[]): string[] {
  if (rows.length === 0) return [];
  return [
    '',
    `| ${head} | |`,
    '|---|---|',
    ...rows.map(({ term, help }) => `| \`${term.replaceAll('|', '\\|')}\` | ${cell(help)} |`),
  ];
}

/** docs/cli.md. `letters`: which letter is which flag. */
export function cliReference(program: Command, letters: Readonly<Record<string, string>>): string {
  const pages = verbPages(program);
  const lines = [
    '# All verbs and flags',
    '',
    'Made by `npm run docs` from the definitions; `tacho VERB --help` prints the same, with examples.',
    '',
    'A verb that takes recordings takes any of these:',
    '',
    '- a recording, or a folder that holds some, four levels deep;',
    '- the id or the name of a job. It is looked for in this folder, in the configured `recordings`, in the archive',
    '  (`hub.archive`) and in folders below this one. Verbs with `--db` look in the database last;',
    '- nothing. Then it is the folder `recordings`, with the current folder where that holds recordings; else the',
    '  current folder.',
    '',
    'An id comes before a name. If two jobs share a name, it is refused, and both are listed. The id of an array means',
    'all of its tasks.',
    '',
    'A letter means the same flag in every verb:',
    '',
    '| letter | flag |',
    '|---|---|',
    ...Object.entries(letters).map(([letter, long]) => `| \`${letter}\` | \`${long}\` |`),
    '',
    ...pages.map(({ name, summary }) => `- [tacho ${name}](#tacho-${name.replaceAll(' ', '-')}): ${summary}`),
  ];
  for (const { name, summary, usage, arguments: argumentTerms, flags } of pages) {
    lines.push('', `## tacho ${name}`, '', summary, '', `    ${usage}`);
    lines.push(...table('argument', argumentTerms), ...table('flag', flags));
  }
  return `${lines.join('\n')}\n`;
}

/** Text as roff takes it. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/[^\x00-\x7f]/g, (char) => `\\[u${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replaceAll(/^(?=[.'])/gm, '\\&');

/** Manual pages by their file names: tacho.1, tacho-run.1, tacho-db-jobs.1… */
export function manualPages(program: Command, version: string): Map<string, string> {
  const pages = verbPages(program);
  const head = (title: string): string => `.TH "${title.toUpperCase()}" "1" "" "Tacho ${version}" "Tacho"`;
  const terms = (all: readonly { term: string; help: string }[]): string[] =>
    all.flatMap(({ term, help }) => ['.TP', `\\fB${roff(term)}\\fR`, roff(help)]);
  const made = new Map<string, string>();
  const main = [
    head('tacho'),
    '.SH NAME',
    'tacho \\- the flight recorder for batch, HPC and ML jobs',
    '.SH SYNOPSIS',
    '\\fBtacho\\fR VERB [options]',
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH VERBS',
    ...terms(
      pages.map(({ name, summary }) => ({ term: name, help: `${summary} See tacho-${name.replaceAll(' ', '-')}(1).` })),
    ),
  ];
  made.set('tacho.1', `${main.join('\n')}\n`);
  for (const { name, summary, usage, arguments: argumentTerms, flags, more } of pages) {
    const file = `tacho-${name.replaceAll(' ', '-')}`;
    const lines = [head(file), '.SH NAME', `${roff(file)} \\- ${roff(summary)}`, '.SH SYNOPSIS', roff(usage)];
    if (argumentTerms.length > 0) lines.push('.SH ARGUMENTS', ...terms(argumentTerms));
    if (flags.length > 0) lines.push('.SH OPTIONS', ...terms(flags));
    if (more !== '') lines.push('.SH NOTES', '.nf', roff(more), '.fi');
    lines.push('.SH SEE ALSO', 'tacho(1)');
    made.set(`${file}.1`, `${lines.join('\n')}\n`);
  }
  return made;
}
