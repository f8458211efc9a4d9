import type { Command, Option } from 'commander';

/** Completion scripts for shells, made of the commander tree. */
export const completions = { bash, zsh, fish } as const;

export type Shell = keyof typeof completions;

type Takes =
  | { readonly what: 'nothing' | 'text' | 'file' | 'folder' }
  | { readonly what: 'choice'; readonly words: readonly string[] };

interface Flag {
  readonly long: string | undefined;
  readonly short: string | undefined;
  readonly takes: Takes;
  readonly help: string;
}

interface Part {
  readonly name: string;
  readonly help: string;
  readonly flags: readonly Flag[];
  readonly parts: readonly Part[];
  /** What stands where no flag does. */
  readonly argument: 'command' | 'folder' | 'file' | 'choice' | 'nothing';
  readonly words: readonly string[];
}

const FOLDERS = /recording|folder|dir/i;
const FILES = /file|path/i;

function takes(option: Option): Takes {
  if (option.argChoices !== undefined) return { what: 'choice', words: option.argChoices };
  const placeholder = /[<[](.*?)[>\]]/.exec(option.flags)?.[1];
  if (placeholder === undefined) return { what: 'nothing' };
  if (FOLDERS.test(placeholder)) return { what: 'folder' };
  return { what: FILES.test(placeholder) ? 'file' : 'text' };
}

function part(command: Command): Part {
  const help = command.createHelp();
  const [argument] = command.registeredArguments;
  const name = argument?.name() ?? '';
  let kind: Part['argument'] = 'nothing';
  if (argument?.argChoices !== undefined) kind = 'choice';
  else if (name === 'command') kind = 'command';
  else if (FOLDERS.test(name)) kind = 'folder';
  else if (FILES.test(name)) kind = 'file';
  return {
    name: command.name(),
    help: command.summary() || command.description(),
    flags: help.visibleOptions(command).map((option) => ({
      long: option.long,
      short: option.short,
      takes: takes(option),
      help: option.description,
    })),
    parts: help.visibleCommands(command).map(part),
    argument: kind,
    words: argument?.argChoices ?? [],
  };
}

const names = (flag: Flag): string[] => [flag.long, flag.short].filter((name) => name !== undefined);
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bash(program: Command): string {
  const tree = part(program);
  const values: string[] = [];
  const flags: string[] = [];
  const rest: string[] = [];
  const verbs = tree.parts.flatMap((verb) => [
    verb,
    ...verb.parts.map((sub) => ({ ...sub, name: `${verb.name} ${sub.name}` })),
  ]);
  const several = tree.parts.filter(({ parts }) => parts.length > 0).map(({ name }) => name);
  for (const verb of verbs) {
    for (const flag of verb.flags) {
      const pattern = names(flag)
        .map((name) => quote(`${verb.name} ${name}`))
        .join('|');
      if (flag.takes.what !== 'nothing') values.push(`    ${pattern}) ${bashValue(flag.takes)} return ;;`);
    }
    flags.push(`      ${quote(verb.name)}) words=${quote(verb.flags.flatMap(names).join(' '))} ;;`);
    if (verb.parts.length > 0)
      rest.push(`    ${quote(verb.name)}) words=${quote(verb.parts.map(({ name }) => name).join(' '))} ;;`);
    else if (verb.argument === 'choice') rest.push(`    ${quote(verb.name)}) words=${quote(verb.words.join(' '))} ;;`);
    else if (verb.argument === 'folder')
      rest.push(`    ${quote(verb.name)}) ${bashValue({ what: 'folder' })} return ;;`);
    else if (verb.argument === 'file') rest.push(`    ${quote(verb.name)}) ${bashValue({ what: 'file' })} return ;;`);
    else if (verb.argument === 'command')
      rest.push(`    ${quote(verb.name)}) COMPREPLY=($(compgen -c -- "$current")); return ;;`);
  }
  return `# Completion of tacho for bash: eval "$(tacho completion bash)"
_tacho() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} verb='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --)
        if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi
        if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi
        return ;;
      -*) ;;
      *)
        case $verb in
          '') verb=\${COMP_WORDS[i]} ;;
${several.length === 0 ? '' : `          ${several.join('|')}) verb="$verb \${COMP_WORDS[i]}" ;;\n`}        esac ;;
    esac
  done
  case "$verb $previous" in
${values.join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $verb in
      '') words=${quote(tree.flags.flatMap(names).join(' '))} ;;
${flags.join('\n')}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $verb in
    '') words=${quote(tree.parts.map(({ name }) => name).join(' '))} ;;
${rest.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _tacho tacho
`;
}

function bashValue(value: Takes): string {
  if (value.what === 'choice') return `COMPREPLY=($(compgen -W ${quote(value.words.join(' '))} -- "$current"));`;
  if (value.what === 'folder') return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$current"));';
  if (value.what === 'file') return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current"));';
  return '';
}

function zsh(program: Command): string {
  const tree = part(program);
  const plain = (text: string): string =>
    text
      .replaceAll(/[[\]:\\]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
  const value = (flag: Flag): string => {
    if (flag.takes.what === 'nothing') return '';
    if (flag.takes.what === 'choice') return `:value:(${flag.takes.words.join(' ')})`;
    return { folder: ':folder:_files -/', file: ':file:_files', text: ':value:' }[flag.takes.what];
  };
  const specifications = ({ flags, argument, parts, words }: Part): string => {
    const lines = flags.flatMap((flag) =>
      names(flag).map((name) => quote(`*${name}[${plain(flag.help)}]${value(flag)}`)),
    );
    if (argument === 'command') lines.push(quote('*::command:_normal'));
    else if (argument === 'folder') lines.push(quote('*:recording:_files -/'));
    else if (argument === 'file') lines.push(quote('*:file:_files'));
    else if (argument === 'choice') lines.push(quote(`1:value:(${words.join(' ')})`));
    else if (parts.length > 0) lines.push(quote(`1:verb:(${parts.map(({ name }) => name).join(' ')})`));
    return lines.join(' \\\n        ');
  };
  return `#compdef tacho
# Completion of tacho for zsh: source <(tacho completion zsh)
_tacho() {
  local -a verbs=(
${tree.parts.map((verb) => `    ${quote(`${verb.name}:${plain(verb.help)}`)}`).join('\n')}
  )
  if ((CURRENT == 2)); then
    if [[ $PREFIX == -* ]]; then
      _arguments ${specifications({ ...tree, parts: [] })}
    else
      _describe verb verbs
    fi
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
${tree.parts.map((verb) => `    ${verb.name})\n      _arguments ${specifications(verb)} ;;`).join('\n')}
  esac
}
if [[ $funcstack[1] == _tacho ]]; then _tacho "$@"; else compdef _tacho tacho; fi
`;
}

function fish(program: Command): string {
  const tree = part(program);
  const lines = ['# Completion of tacho for fish: tacho completion fish | source', 'complete -c tacho -f'];
  const flag = (condition: string, { long, short, takes: value, help }: Flag): string => {
    const words = ['complete -c tacho', '-n', quote(condition)];
    if (long !== undefined) words.push('-l', long.slice(2));
    if (short !== undefined) words.push('-s', short.slice(1));
    if (value.what === 'choice') words.push('-x', '-a', quote(value.words.join(' ')));
    else if (value.what === 'folder') words.push('-x', '-a', quote('(__fish_complete_directories)'));
    else if (value.what === 'file') words.push('-r', '-F');
    else if (value.what === 'text') words.push('-x');
    return [...words, '-d', quote(help)].join(' ');
  };
  for (const each of tree.flags) lines.push(flag('__fish_use_subcommand', each));
  for (const verb of tree.parts) {
    const inside = `__fish_seen_subcommand_from ${verb.name}`;
    lines.push(`complete -c tacho -n __fish_use_subcommand -a ${verb.name} -d ${quote(verb.help)}`);
    for (const each of verb.flags) lines.push(flag(inside, each));
    const values = [...verb.words, ...verb.parts.map(({ name }) => name)].join(' ');
    const argument = {
      command: '(__fish_complete_command)',
      folder: '(__fish_complete_directories)',
      file: '',
      choice: '',
      nothing: '',
    };
    const offered = argument[verb.argument] || values;
    if (verb.argument === 'file') lines.push(`complete -c tacho -n ${quote(inside)} -F`);
    else if (offered !== '') lines.push(`complete -c tacho -n ${quote(inside)} -a ${quote(offered)}`);
  }
  return `${lines.join('\n')}\n`;
}
