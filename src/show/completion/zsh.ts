import { type CompletedVerb, lastWord, quote, type Takes } from './tree.ts';

/** The script for zsh. */
export function zsh(tree: CompletedVerb): string {
  return `#compdef tacho
# Completion of tacho for zsh: source <(tacho completion zsh)
_tacho() {
${choose(tree, '  ')}
}
if [[ $funcstack[1] == _tacho ]]; then _tacho "$@"; else compdef _tacho tacho; fi
`;
}

/** The verbs of the program or of a verb, and what follows them. */
function choose(completedVerb: CompletedVerb, margin: string): string {
  const lines = [
    'if ((CURRENT == 2)); then',
    '  if [[ $PREFIX == -* ]]; then',
    `    _arguments ${specifications({ ...completedVerb, argumentTypes: [] })}`,
    '  else',
    '    local -a verbs=(',
    ...completedVerb.subverbs.map(({ name, help }) => `      ${quote(`${lastWord(name)}:${plain(help)}`)}`),
    '    )',
    '    _describe verb verbs',
    '  fi',
    '  return',
    'fi',
    'shift words',
    '((CURRENT--))',
    'case $words[1] in',
    ...completedVerb.subverbs.flatMap((verb) => [
      `  ${lastWord(verb.name)})`,
      verb.subverbs.length > 0 ? `${choose(verb, '    ')} ;;` : `    _arguments ${specifications(verb)} ;;`,
    ]),
    'esac',
  ];
  return lines.map((line) => margin + line.replaceAll('\n', `\n${margin}`)).join('\n');
}

const plain = (text: string): string =>
  text
    .replaceAll(/[[\]:\\]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

function specifications({ flags, argumentTypes, variadic }: CompletedVerb): string {
  const lines = flags.flatMap(({ names, help, takes }) =>
    names.map((name) => quote(`*${name}[${plain(help)}]${takes.what === 'nothing' ? '' : `:value:${action(takes)}`}`)),
  );
  argumentTypes.forEach((takes, at) => {
    if (takes.what === 'command') lines.push(quote('*::command:_normal'));
    else lines.push(quote(`${variadic && at === argumentTypes.length - 1 ? '*' : at + 1}:value:${action(takes)}`));
  });
  return lines.join(' \\\n      ');
}

function action(takes: Takes): string {
  if (takes.what === 'choice') return `(${takes.choices.join(' ')})`;
  if (takes.what === 'folder') return '_files -/';
  return takes.what === 'file' ? '_files' : '';
}
