import { type Command, Option } from 'commander';
import { formatDuration, parseDuration } from '../base/duration.ts';
import { Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { progress } from '../show/terminal/progress.ts';

interface Options {
  output?: string;
  nodes: number;
  gpus: number;
  hours: number;
  interval?: number;
  slower?: boolean;
  seal: boolean;
  format: 'text' | 'json';
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw usage(`"${text}" is not a number`);
  return value;
}

export function define(command: Command): void {
  command
    .option('-o, --output <folder>', 'the recording (default: tacho-demo)')
    .option('--nodes <n>', 'nodes of the job', number, 8)
    .option('--gpus <n>', 'GPUs of each node', number, 8)
    .option('--hours <n>', 'how long the job took', number, 2)
    .option('-i, --interval <duration>', 'time between samples, from 0.1s (default: 1s)', parseDuration)
    .option('--slower', 'the same job a day later, when storage is slow (default folder: tacho-demo-slower)')
    .option('--no-seal', 'leave the files as the agents of a running job write them')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
The job is made up, and the same each time: a training run with epochs, checkpoints and evaluations, one node that
throttles, one GPU that nobody uses, one node that leaks memory. No GPU is needed to look at it. With --slower it is
the second run of that job: loading and checkpoints take four times as long.

Examples:
  tacho demo && tacho report tacho-demo
  tacho demo --slower && tacho compare tacho-demo tacho-demo-slower
  tacho demo -o small --nodes 2 --gpus 2 --hours 0.1
`,
    )
    .action(async (options: Options) => {
      const { demoSize, runSize, valuesOf, writeDemo } = await import('../demo/demo.ts');
      const asked = {
        nodes: options.nodes,
        gpus: options.gpus,
        seconds: options.hours * 3600,
        interval: options.interval ?? 1,
      };
      const size = demoSize(asked);
      const slower = options.slower === true;
      const folder = options.output ?? (slower ? 'tacho-demo-slower' : 'tacho-demo');
      const values = valuesOf(size, slower);
      const { seconds } = runSize(size, slower);
      const bar = progress('writing the demo', values);
      const stop = new AbortController();
      process.once('SIGINT', () => stop.abort(new Fault('interrupted; nothing was kept', { exit: 130 })));
      process.once('SIGTERM', () => stop.abort(new Fault('ended by SIGTERM; nothing was kept', { exit: 143 })));
      const recording = await writeDemo({
        ...size,
        signal: stop.signal,
        folder,
        slower,
        live: !options.seal,
        progress: (more) => bar.advance(more),
      });
      bar.done();
      process.stdout.write(
        options.format === 'json'
          ? `${JSON.stringify({ recording, ...size, seconds, values })}\n`
          : `${recording}: ${count(size.nodes, 'node')} with ${count(size.gpus, 'GPU')} each, ${formatDuration(seconds)}, ` +
              `${count(values, 'value')}\ntacho report ${folder} prints its report card\n`,
      );
    });
}
