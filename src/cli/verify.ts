import { type Command, Option } from 'commander';
import { adoptRecords } from '../agent/run/adopt-records.ts';
import { Fault } from '../base/fault.ts';
import { hang } from '../base/hang.ts';
import { tableWidth } from '../base/page-width.ts';
import { fileJob } from '../jobs/schedulers/refresh.ts';
import { checkResults } from '../judge/check-results.ts';
import { asOwner } from '../recording/folder/as-owner.ts';
import type { Job } from '../recording/folder/job.ts';
import { openRecording } from '../recording/folder/open.ts';
import { type Check, verifyRecording } from '../recording/repair/verify.ts';
import { paint } from '../show/terminal/paint.ts';
import { printable } from '../show/terminal/text-table.ts';
import { findRecordings } from './find-recordings.ts';

export function define(command: Command): void {
  command
    .argument('<recording...>', 'recordings, folders of recordings, job ids or names')
    .option('--dry-run', 'say what would be done, and do nothing')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Nothing is ever deleted that cannot be read: it is moved beside its file under the ending .torn,
or .damaged when its rows are lost.
Exit code: 0 when there is no damage or all of it was repaired, otherwise 1.

Examples:
  tacho verify tacho-4711
  tacho verify --dry-run /archive/2026
`,
    )
    .action(async (paths: string[], options: { dryRun?: boolean; format: string }) => {
      const dryRun = options.dryRun === true;
      const results: { path: string; checks: Check[] }[] = [];
      for (const recording of await findRecordings(paths)) {
        const filed = dryRun ? undefined : await fileJob(recording, { steps: true });
        const checks = await verified(recording.path, dryRun);
        results.push({ path: recording.path, checks: filed === undefined ? checks : [howItEnded(filed), ...checks] });
      }
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(results, null, 1)}\n`);
      else for (const { path, checks } of results) process.stdout.write(verifyText(path, checks));
      const unhealed = ({ outcome }: Check): boolean => outcome === 'not repaired' || outcome === 'would repair';
      if (results.some(({ checks }) => checks.some(unhealed))) process.exitCode = 1;
    });
}

const howItEnded = ({ state }: Job): Check => ({
  file: 'job.json',
  what: `did not say all of how the job ended; now it does: ${state}`,
  outcome: 'note',
});

async function verified(path: string, dryRun: boolean): Promise<Check[]> {
  const work = async (folder: string): Promise<Check[]> => {
    const adopted = await adoptRecords(openRecording(folder), dryRun);
    const checks = [...verifyRecording(folder, { dryRun }), ...checkResults(folder, dryRun)];
    return adopted === undefined ? checks : [adopted, ...checks];
  };
  try {
    return dryRun ? await work(path) : await asOwner(path, work);
  } catch (error) {
    // what is wrong with one says nothing about the others
    if (!(error instanceof Fault)) throw error;
    return [{ file: '.', what: error.message, outcome: 'not repaired', ...(error.hint ? { action: error.hint } : {}) }];
  }
}

function verifyText(path: string, checks: readonly Check[]): string {
  const { green, yellow, red, dim } = paint(process.stdout);
  if (checks.length === 0) return `${printable(path)}: ${green('ok')}\n`;
  const colour = { repaired: green, 'would repair': yellow, 'not repaired': red, note: dim };
  const lines = checks.map(({ outcome, file, what, action }) => {
    const done = action === undefined ? '' : `; ${action}`;
    const line = hang(
      `  ${outcome}: ${printable(`${file}${/^its? /.test(what) ? ':' : ''} ${what}${done}`)}`,
      tableWidth(),
      4,
    );
    return `${line.replace(outcome, colour[outcome])}\n`;
  });
  return `${printable(path)}:\n${lines.join('')}`;
}
