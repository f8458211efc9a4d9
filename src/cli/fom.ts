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

function figure(text: string): Mark {
  const at = text.lastIndexOf('=');
  const value = Number(text.slice(at + 1));
  if (at < 1 || text.slice(at + 1).trim() === '' || !Number.isFinite(value)) {
    throw usage(`"${text}" is not a figure of merit`, 'it is name=number, e.g. loss=2.31');
  }
  // what is closer to zero than any number of 64 bits would be kept as 0
  if (value === 0 && /^[^e]*[1-9]/i.test(text.slice(at + 1))) {
    throw usage(`"${text}" is too close to zero to be kept`, 'numbers go down to 5e-324');
  }
  return { action: 'fom', name: text.slice(0, at), value };
}
