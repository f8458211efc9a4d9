import * as fs from 'node:fs';
import type { Command } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { warn } from '../base/warn.ts';

interface Options {
  off?: boolean;
}

export function define(command: Command): void {
  command
    .argument('[shell]', 'sh, bash, zsh, csh, fish, or slurm for a TaskProlog (default: the shell that calls)')
    .option('--off', 'print the commands that undo it')
    .addHelpText(
      'after',
      `
Prints commands for a shell: what it starts from then on records itself, every process and every thread, in the recording
that goes on in this job (\`tacho start\`). tacho_pause and tacho_resume leave parts out.

Examples:
  eval "$(tacho env)"                  sh, bash, zsh
  eval \`tacho env csh\`                 csh, tcsh
  tacho env fish | source
  TACHO_TAGS="op:build;seq:4" make     tags of everything that make starts
`,
    )
    .action(async (name: string | undefined, options: Options) => {
      const { SHELLS, shellNamed, shellCode, offCode } = await import('../control/shell-code.ts');
      const shell = name === undefined ? shellNamed(callingShell()) : shellNamed(name);
      if (shell === undefined && name !== undefined) {
        throw usage(`"${name}" is not a shell that Tacho knows`, `one of ${SHELLS.join(', ')}`);
      }
      const shellName = shell ?? 'sh';
      if (options.off) {
        process.stdout.write(offCode(shellName));
        return;
      }
      const { activeMarks, activeRecords } = await import('../control/active-records.ts');
      try {
        process.stdout.write(shellCode(shellName, process.env, activeRecords(process.env), activeMarks(process.env)));
      } catch (error) {
        // a TaskProlog that fails would keep the task from starting
        if (shellName !== 'slurm' || !(error instanceof Fault)) throw error;
        warn(error.message);
      }
    });
}

/** The program of the process that started us. */
function callingShell(): string {
  try {
    return fs.readFileSync(`/proc/${process.ppid}/comm`, 'utf8').trim();
  } catch {
    return process.env.SHELL ?? 'sh';
  }
}
