import { shellQuote } from '../base/quote.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import type { Records } from '../sources/scope.ts';
import { MARKS_VARIABLE } from './marks-file.ts';
import { injected, libraryOf } from './preload.ts';

export const SHELLS = ['sh', 'bash', 'zsh', 'csh', 'fish', 'slurm'] as const;
export type Shell = (typeof SHELLS)[number];

/** Which of them a program is: /usr/bin/tcsh is csh, dash is sh. */
export function shellNamed(program: string): Shell | undefined {
  const name = program.replace(/.*\//, '').replace(/^-/, '');
  if (name === 'tcsh') return 'csh';
  if (['dash', 'ksh', 'ksh93', 'mksh', 'busybox', 'ash'].includes(name)) return 'sh';
  return SHELLS.find((shell) => shell === name);
}

/**
 * What a shell has to evaluate so that everything it starts from now on records itself. It also gets tacho_pause and
 * tacho_resume; both leave what others have put into LD_PRELOAD. `marks` is where programs append marks.
 */
export function shellCode(shell: Shell, env: Environment, records: Records, marks: string): string {
  return `${setCode(shell, MARKS_VARIABLE, marks)}${recordCode(shell, env, records)}`;
}

function setCode(shell: Shell, name: string, value: string): string {
  if (shell === 'slurm') return lines([`export ${name}=${value}`]);
  if (shell === 'csh') return lines([`setenv ${name} ${shellQuote(value)};`]);
  if (shell === 'fish') return lines([`set --global --export ${name} ${fishQuote(value)}`]);
  return lines([`export ${name}=${shellQuote(value)}`]);
}

function recordCode(shell: Shell, env: Environment, records: Records): string {
  const variables = injected(env, records);
  if (shell === 'slurm') return lines(Object.entries(variables).map(([name, value]) => `export ${name}=${value}`));
  if (shell === 'csh') return cshCode(env, variables);
  if (shell === 'fish') return fishCode(env, variables);
  return posixCode(libraryOf(env), variables);
}

/** What takes all of it back. */
export function offCode(shell: Shell): string {
  if (shell === 'slurm')
    return lines(['unset LD_PRELOAD', 'unset TACHO_RECORD', `unset ${MARKS_VARIABLE}`, 'export TACHO_RECORD_OFF=1']);
  if (shell === 'csh') return `tacho_pause; unalias tacho_pause; unalias tacho_resume; unsetenv ${MARKS_VARIABLE};\n`;
  if (shell === 'fish')
    return lines(['tacho_pause', 'functions --erase tacho_pause tacho_resume', `set --erase ${MARKS_VARIABLE}`]);
  return lines(['tacho_pause', 'unset -f tacho_pause tacho_resume', `unset ${MARKS_VARIABLE}`]);
}

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

/** Without any program but the shell: what it starts would be recorded already. */
function posixCode(library: string, variables: Record<string, string>): string {
  const ours = shellQuote(library);
  return `tacho_pause() {
  unset TACHO_RECORD
  export TACHO_RECORD_OFF=1
  case ":\${LD_PRELOAD-}:" in *:${ours}:*)
    LD_PRELOAD=":$LD_PRELOAD:"
    LD_PRELOAD="\${LD_PRELOAD%%:${ours}:*}:\${LD_PRELOAD#*:${ours}:}"
    LD_PRELOAD=\${LD_PRELOAD#:}
    LD_PRELOAD=\${LD_PRELOAD%:}
    [ -n "$LD_PRELOAD" ] || unset LD_PRELOAD ;;
  esac
}
tacho_resume() {
  tacho_pause
  unset TACHO_RECORD_OFF
  export TACHO_RECORD=${shellQuote(variables.TACHO_RECORD!)}
  export ASAN_OPTIONS=${shellQuote(variables.ASAN_OPTIONS!)}
  export LD_PRELOAD="\${LD_PRELOAD:+$LD_PRELOAD:}"${ours}
}
tacho_resume
`;
}

/** Lines would be joined by the backquotes of eval: every command ends with a semicolon. */
function cshCode(env: Environment, variables: Record<string, string>): string {
  const set = [
    'unsetenv TACHO_RECORD_OFF',
    ...Object.entries(variables).map(([name, value]) => `setenv ${name} ${shellQuote(value)}`),
  ];
  const before = (env.LD_PRELOAD ?? '')
    .split(/[\s:]+/)
    .filter((each) => each !== '' && each !== libraryOf(env))
    .join(':');
  const reset = before === '' ? 'unsetenv LD_PRELOAD' : `setenv LD_PRELOAD ${shellQuote(before)}`;
  return lines([
    `alias tacho_pause 'unsetenv TACHO_RECORD; setenv TACHO_RECORD_OFF 1; ${reset}';`,
    `alias tacho_resume '${set.join('; ')}';`,
    `${set.join('; ')};`,
  ]);
}

function fishCode(env: Environment, variables: Record<string, string>): string {
  return lines([
    'function tacho_pause',
    '  set --erase TACHO_RECORD',
    '  set --global --export TACHO_RECORD_OFF 1',
    `  set --global --export LD_PRELOAD (string match --invert --entire -- ${fishQuote(libraryOf(env))} (string split : -- "$LD_PRELOAD") | string join :)`,
    '  test -n "$LD_PRELOAD"; or set --erase LD_PRELOAD',
    'end',
    'function tacho_resume',
    '  tacho_pause',
    '  set --erase TACHO_RECORD_OFF',
    ...Object.entries(variables)
      .filter(([name]) => name !== 'LD_PRELOAD')
      .map(([name, value]) => `  set --global --export ${name} ${fishQuote(value)}`),
    `  set --global --export LD_PRELOAD (string join : -- $LD_PRELOAD ${fishQuote(libraryOf(env))})`,
    'end',
    'tacho_resume',
  ]);
}

const fishQuote = (word: string): string => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
