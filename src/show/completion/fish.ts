import { type CompletedVerb, type Flag, lastWord, quote, type Takes, verbsOf } from './tree.ts';

/** The script for fish. */
export function fish(tree: CompletedVerb): string {
  const lines = [
    '# Completion of tacho for fish: tacho completion fish | source',
    '# the words so far begin with these',
    'function __tacho_in',
    '  set -l words (commandline -opc)[2..]',
    '  set -l number (count $argv)',
    '  test (count $words) -ge $number; and test "$words[1..$number]" = "$argv"',
    'end',
    '# the words so far are these',
    'function __tacho_at',
    '  set -l words (commandline -opc)[2..]',
    '  test "$words" = "$argv"',
    'end',
    'complete -c tacho -f',
    ...tree.flags.map((flag) => flagLine('__tacho_at', flag)),
    ...verbsOf(tree).flatMap(verbLines),
  ];
  return `${lines.join('\n')}\n`;
}

function verbLines(verb: CompletedVerb): string[] {
  const [word, above] = [lastWord(verb.name), verb.name.split(' ').slice(0, -1)];
  const at = quote(['__tacho_at', ...above].join(' '));
  const inside = `__tacho_in ${verb.name}`;
  const lines = [`complete -c tacho -n ${at} -a ${word} -d ${quote(verb.help)}`];
  // what has verbs of its own has flags of its own only before them
  const flags = verb.subverbs.length > 0 ? `__tacho_at ${verb.name}` : inside;
  lines.push(...verb.flags.map((flag) => flagLine(flags, flag)));
  for (const takes of verb.argumentTypes) {
    const argumentText = argumentWords(takes);
    if (argumentText !== '') lines.push(`complete -c tacho -n ${quote(inside)} ${argumentText}`);
  }
  return lines;
}

function flagLine(condition: string, { names, takes, help }: Flag): string {
  const lineWords = ['complete -c tacho', '-n', quote(condition)];
  for (const name of names) lineWords.push(...(name.startsWith('--') ? ['-l', name.slice(2)] : ['-s', name.slice(1)]));
  if (takes.what === 'text') lineWords.push('-x');
  else if (takes.what === 'file') lineWords.push('-r', '-F');
  else if (takes.what !== 'nothing') lineWords.push('-x', argumentWords(takes));
  return [...lineWords, '-d', quote(help)].join(' ');
}

function argumentWords(takes: Takes): string {
  if (takes.what === 'choice') return `-a ${quote(takes.choices.join(' '))}`;
  if (takes.what === 'folder') return `-a ${quote('(__fish_complete_directories (commandline -ct))')}`;
  if (takes.what === 'command') return `-a ${quote('(__fish_complete_command)')}`;
  return takes.what === 'file' ? '-F' : '';
}
