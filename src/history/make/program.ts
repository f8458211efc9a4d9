import * as path from 'node:path';

const name = (word: string): string => path.posix.basename(word);

/** They start another program, which is named behind their options. */
const LAUNCHERS = new Set(
  'srun mpirun mpiexec mpiexec.hydra orterun prterun aprun jsrun flux env time nice ionice numactl taskset timeout stdbuf setsid nohup exec command sudo singularity apptainer'.split(
    ' ',
  ),
);
/** Words of launchers that are no options and no programs. */
const SUBCOMMANDS = new Set(['run', 'exec', 'submit']);
/** Options of launchers that take the next word as their value. */
const WITH_VALUE =
  /^-(?:n|np|N|c|p|t|w|x|H|host|hostfile|machinefile|ppn|env|genv|s|o|a|k|u|C|S|B|-(?:ntasks|nodes|cpus-per-task|partition|time|mpi|bind|map-by|bind-to|cpu-bind))$/;
const SHELL = /^(?:ba|da|z|k|c|tc|fi)?sh$/;
const INTERPRETER = /^(?:python|pypy|perl|ruby|Rscript|julia|node|lua|octave|matlab|java|R)[\d.]*$/;
/** Options of interpreters that take the next word; `-m` names a module, `-jar` an archive. */
const INTERPRETER_VALUE = /^-(?:W|X|I|cp|classpath|r|-require)$/;

/**
 * The program that a command is about: `srun -n 4 ./solver in.nml` is solver, `python3 -u train.py` is train.py. Undefined:
 * there is none, or it is a shell with text.
 */
export function programOf(command: readonly string[]): string | undefined {
  let at = 0;
  while (at < command.length) {
    const word = command[at]!;
    if (/^\w+=/.test(word)) {
      at++;
      continue;
    }
    const program = name(word);
    if (LAUNCHERS.has(program)) at = afterOptions(command, at + 1, program);
    else if (SHELL.test(program)) return scriptOf(command, at + 1);
    else if (INTERPRETER.test(program)) return scriptOf(command, at + 1) ?? program;
    else return program === '' ? undefined : program;
  }
  return undefined;
}

function afterOptions(command: readonly string[], from: number, launcher: string): number {
  let at = from;
  for (; at < command.length; at++) {
    const word = command[at]!;
    if (word === '--') return at + 1;
    if (SUBCOMMANDS.has(word) && at === from) continue;
    if (!word.startsWith('-')) break;
    // of taskset the list of CPUs is the argument itself
    if (WITH_VALUE.test(word) && launcher !== 'taskset') at++;
  }
  // their first plain word is a mask, a duration or an image
  const hasArgument =
    launcher === 'taskset' || launcher === 'timeout' || launcher === 'singularity' || launcher === 'apptainer';
  return hasArgument ? at + 1 : at;
}

/** The script or module that an interpreter runs. */
function scriptOf(command: readonly string[], from: number): string | undefined {
  for (let at = from; at < command.length; at++) {
    const word = command[at]!;
    if (word === '-c' || word === '-e' || word === '-') return undefined;
    if (word === '-m' || word === '-jar') return command[at + 1] === undefined ? undefined : name(command[at + 1]!);
    if (INTERPRETER_VALUE.test(word)) at++;
    else if (!word.startsWith('-')) return name(word);
  }
  return undefined;
}

/** Scripts of a shell only start what matters. */
export const isShellScript = (program: string): boolean =>
  SHELL.test(program) || /\.(?:sh|bash|slurm|sbatch|job|pbs|batch|qsub)$/.test(program) || program === 'slurm_script';
