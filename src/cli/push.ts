import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { configFlags, configOf } from '../config/flags.ts';
import { isAlive } from '../recording/folder/alive.ts';
import type { Recording } from '../recording/folder/open.ts';
import { progress } from '../show/terminal/progress.ts';
import { printable } from '../show/terminal/text-table.ts';
import { tell } from './failure.ts';
import { findRecordings } from './find-recordings.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';

const KEYS = ['victoria.process_cpu'] as const;

interface Options {
  store?: string;
  config?: string;
  format: 'text' | 'json';
}

export function define(command: Command): void {
  command
    .usage('RECORDING… --store URL [options]')
    .argument('[recordings...]', JOBS_ARGUMENT)
    .option('--store <url>', 'the VictoriaMetrics that gets them, e.g. http://localhost:8428')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'));
  configFlags(command, KEYS)
    .addHelpText(
      'after',
      `
Sends recordings that have ended to a VictoriaMetrics, as agents do while a job runs. The dashboards for Grafana
(packaging/grafana) then show them. Pushing again changes nothing. A VictoriaMetrics drops samples that are older than its
-retentionPeriod (one month unless it is set).

Examples:
  tacho push tacho-4711 --store http://localhost:8428
  tacho push runs/ --store http://localhost:8428 --format json
`,
    )
    .action(async (names: string[], options: Options & Record<string, unknown>) => {
      const { store } = options;
      if (store === undefined) throw usage('no store is named', 'tacho push RECORDING --store http://localhost:8428');
      // checks the address
      (await import('../query/store/client.ts')).openStore(store);
      const config = await configOf(options, KEYS);
      const { pushRecording } = await import('../sinks/victoria/push-recording.ts');
      const recordings = await findRecordings(names, 1, options);
      const bar = progress('pushing', recordings.length);
      const results: object[] = [];
      for (const recording of recordings) {
        const { id } = recording.job;
        try {
          needEnded(recording);
          const pushed = await pushRecording(recording, store, { processCpuSeconds: config['victoria.process_cpu'] });
          results.push({ path: recording.path, id, ...pushed });
          const held = `${count(pushed.nodes, 'node')}, ${count(pushed.tables, 'table')}, ${count(pushed.rows, 'row')}`;
          if (options.format === 'text')
            process.stdout.write(`${printable(`${recording.path}: job ${id}: ${held}`)}\n`);
        } catch (error) {
          // what is wrong with one says nothing about the others
          if (!(error instanceof Fault)) throw error;
          process.exitCode = tell(error);
          results.push({ path: recording.path, id, error: error.message });
        }
        bar.advance(1);
      }
      bar.done();
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(results, null, 1)}\n`);
    });
}

function needEnded({ path, job, nodes }: Recording): void {
  if (!nodes.some((node) => isAlive(node))) return;
  throw new Fault(`cannot push ${path}: job ${job.id} still runs`, {
    hint: 'push it when it has ended; agents with victoria.url push while a job runs',
  });
}
