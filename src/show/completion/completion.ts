import type { Command } from 'commander';
import { bash } from './bash.ts';
import { csh } from './csh.ts';
import { fish } from './fish.ts';
import { treeOf } from './tree.ts';
import { zsh } from './zsh.ts';

const scripts = { bash, zsh, fish, csh, tcsh: csh } as const;

export type Shell = keyof typeof scripts;

/** A completion script for a shell, made of the commander tree. */
export const completion = (shell: Shell, program: Command): string => scripts[shell](treeOf(program));
