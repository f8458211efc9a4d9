import { Argument, type Command } from 'commander';
import { usage } from '../base/fault.ts';

export function define(command: Command): void {
  command
    .addArgument(new Argument('<action>', 'what happens').choices(['begin', 'end', 'file']))
    .argument('[name]', 'the name of the phase; end without one ends the innermost')
    .addHelpText(
      'after',
      '\nPhases may lie inside each other; the report card has a line for each.\n\nExamples:\n  tacho mark begin "epoch 3"\n  ./train\n  tacho mark end\n  export TACHO_MARKS="$(tacho mark file)"   where programs append marks by themselves, in microseconds\n',
    )
    .action(async (action: 'begin' | 'end' | 'file', name: string | undefined) => {
      if (action === 'begin' && !name) throw usage('a phase needs a name', 'tacho mark begin "epoch 3"');
      const { needMarkable } = await import('../control/active.ts');
      const { endPhase, writeMarks } = await import('../control/mark.ts');
      const recording = needMarkable(process.env, 'there is nothing to mark');
      if (action === 'file') {
        const { marksFileHere } = await import('../control/marks-file.ts');
        process.stdout.write(`${marksFileHere(recording, process.env)}\n`);
      } else if (action === 'begin') writeMarks(recording, process.env, [{ action, name: name! }]);
      else endPhase(recording, process.env, name);
    });
}
