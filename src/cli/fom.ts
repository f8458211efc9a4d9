import type { Command } from 'commander';
import { usage } from '../base/fault.ts';
import { isHeld } from '../base/held-number.ts';
import { warn } from '../base/warn.ts';
import type { Mark } from '../control/mark.ts';
import { errorLine } from './error-text.ts';

export function define(command: Command): void {
  command
    .argument('<name=value...>', 'figures of merit: a name and a number each')
    .addHelpText('after', '\nExamples:\n  tacho fom tokens_per_second=51200 loss=2.31\n')
    .action(async (given: string[]) => {
      const { figures, refused } = figuresOf(given);
      if (figures.length > 0) {
        const { needMarkable } = await import('../control/active.ts');
        const { writeMarks } = await import('../control/mark.ts');
        const recording = needMarkable(process.env, 'there is nowhere to put a figure');
        writeMarks(recording, process.env, figures);
      }
      for (const error of refused.slice(1)) warn(`fom: ${errorLine(error)}`);
      if (refused.length > 0) throw refused[0]!;
    });
}

/** One that is refused does not take the others with it. */
export function figuresOf(given: readonly string[]): { figures: Mark[]; refused: unknown[] } {
  const refused: unknown[] = [];
  const figures = given.flatMap((text): Mark[] => {
    try {
      return [figure(text)];
    } catch (error) {
      refused.push(error);
      return [];
    }
  });
  return { figures, refused };
}

export function figure(text: string): Mark {
  const at = text.lastIndexOf('=');
  const number = text.slice(at + 1).trim();
  const value = Number(number);
  if (at < 1 || number === '' || !Number.isFinite(value)) {
    throw usage(`"${text}" is not a figure of merit`, 'it is name=number, e.g. loss=2.31');
  }
  if (value === 0 && !isHeld(number, value)) {
    throw usage(`"${text}" is too close to zero to be kept`, 'numbers go down to 5e-324');
  }
  if (!isHeld(number, value)) {
    throw usage(
      `"${text}" has more digits than can be kept: it would become ${value}`,
      'whole numbers are exact up to 9007199254740992',
    );
  }
  return { action: 'fom', name: text.slice(0, at), value };
}
