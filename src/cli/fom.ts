import type { Command } from 'commander';
import { usage } from '../base/fault.ts';
import type { Mark } from '../jobs/mark.ts';

export function define(command: Command): void {
  command
    .argument('<name=value...>', 'figures of merit: a name and a number each')
    .addHelpText('after', '\nExamples:\n  tacho fom tokens_per_second=51200 loss=2.31\n')
    .action(async (given: string[]) => {
      const figures = given.map(figure);
      const { needMarkable } = await import('../jobs/active.ts');
      const { writeMarks } = await import('../jobs/mark.ts');
      const recording = needMarkable(process.env, 'there is nowhere to put a figure');
      writeMarks(recording, process.env, figures);
    });
}

export function figure(text: string): Mark {
  const at = text.lastIndexOf('=');
  const number = text.slice(at + 1).trim();
  const value = Number(number);
  if (at < 1 || number === '' || !Number.isFinite(value)) {
    throw usage(`"${text}" is not a figure of merit`, 'it is name=number, e.g. loss=2.31');
  }
  // what is closer to zero than any number of 64 bits would be kept as 0
  if (value === 0 && /^[^e]*[1-9]/i.test(number)) {
    throw usage(`"${text}" is too close to zero to be kept`, 'numbers go down to 5e-324');
  }
  if (!isHeld(number, value)) {
    throw usage(
      `"${text}" has more digits than can be kept: it would become ${value}`,
      'whole numbers are exact up to 9007199254740992, others have 17 digits',
    );
  }
  return { action: 'fom', name: text.slice(0, at), value };
}

/** A number of 64 bits has the digits that were given. Of up to 17 the nearest number will do, if it is not a count. */
function isHeld(text: string, value: number): boolean {
  const given = digits(/^0[xob]/i.test(text) ? String(BigInt(text)) : text);
  const isLargeCount = Number.isInteger(value) && !Number.isSafeInteger(value);
  if (given.length <= 17 && !isLargeCount) return true;
  // more than 100 cannot be asked for
  return given.length <= 100 && digits(value.toPrecision(given.length)) === given;
}

/** Those that count: without sign, point, exponent and zeros at either end. */
const digits = (number: string): string =>
  number
    .replace(/e.*/i, '')
    .replace(/[^\d]/g, '')
    .replace(/^0+|0+$/g, '');
