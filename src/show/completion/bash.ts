import { type CompletedVerb, lastWord, quote, type Takes, verbsOf } from './tree.ts';

/** The script for bash. */
export function bash(tree: CompletedVerb): string {
  const verbs = verbsOf(tree);
  const several = tree.subverbs.filter(({ subverbs }) => subverbs.length > 0).map(({ name }) => name);
  const valued = verbs.flatMap(({ name, flags }) =>
    flags
      .filter(({ takes }) => takes.what !== 'nothing')
      .map((flag) => ({ flag, pattern: flag.names.map((each) => quote(`${name} ${each}`)).join('|') })),
  );
  return `# Completion of tacho for bash: eval "$(tacho completion bash)"
_tacho() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} verb='' words='' place=0 i
  COMPREPLY=()
  # --flag=value comes in three words
  if [[ $current == = ]]; then current=''
  elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --)
        if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi
        if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current")); else _tacho_files -f; fi
        return ;;
      -*)
        case "$verb \${COMP_WORDS[i]}" in
          ${valued.map(({ pattern }) => pattern).join('|') || "''"})
            if [[ \${COMP_WORDS[i + 1]} == = ]]; then ((i++)); fi
            ((i++)) ;;
        esac ;;
      *)
        case $verb in
          '') verb=\${COMP_WORDS[i]} ;;
          ${several.join('|') || "''"}) verb="$verb \${COMP_WORDS[i]}" ;;
          *) ((place++)) ;;
        esac ;;
    esac
  done
  case "$verb $previous" in
${valued.map(({ flag, pattern }) => `    ${pattern}) ${offer(flag.takes)} ;;`).join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $verb in
      '') words=${list(tree.flags.flatMap(({ names }) => names))} ;;
${verbs.map(({ name, flags }) => `      ${quote(name)}) words=${list(flags.flatMap(({ names }) => names))} ;;`).join('\n')}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$verb $place" in
    ' 0') words=${list(tree.subverbs.map(({ name }) => name))} ;;
${verbs.flatMap(placeLines).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
# names may have spaces in them
_tacho_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$current"))
}
complete -F _tacho tacho
`;
}

const list = (choices: readonly string[]): string => quote(choices.join(' '));

/** What stands at which place after a verb. */
function placeLines({ name, subverbs, argumentTypes, variadic }: CompletedVerb): string[] {
  if (subverbs.length > 0)
    return [`    ${quote(`${name} 0`)}) words=${list(subverbs.map((subverb) => lastWord(subverb.name)))} ;;`];
  return argumentTypes.map((takes, at) => {
    const pattern = variadic && at === argumentTypes.length - 1 ? `${quote(`${name} `)}*` : quote(`${name} ${at}`);
    return `    ${pattern}) ${offer(takes)} ;;`;
  });
}

function offer(takes: Takes): string {
  if (takes.what === 'choice') return `COMPREPLY=($(compgen -W ${list(takes.choices)} -- "$current")); return`;
  if (takes.what === 'folder') return '_tacho_files -d; return';
  if (takes.what === 'file') return '_tacho_files -f; return';
  return takes.what === 'command' ? 'COMPREPLY=($(compgen -c -- "$current")); return' : 'return';
}
