import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { pageWidth } from '../base/page-width.ts';
import type { StudyKind } from '../judge/scale/kind.ts';
import type { SizeBy } from '../judge/scale/run.ts';
import type { ScaleChoice } from './scale-runs.ts';

export interface ScaleOptions extends ScaleChoice {
  format: 'text' | 'json' | 'csv' | 'svg';
}

export function sizeBy(text: string): SizeBy {
  if (text === 'cores' || text === 'nodes' || text === 'gpus' || /^tag:./.test(text)) return text as SizeBy;
  throw usage(`"${text}" is not cores, nodes, gpus or tag:KEY`);
}

/** A share from "70%" or "0.7". */
export function shareOf(text: string): number {
  const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim()) ?? [];
  const share = Number(digits ?? Number.NaN) / (sign === '%' ? 100 : 1);
  if (share > 0 && share <= 1) return share;
  throw usage(`"${text}" is not a share between 0 and 1`, 'write it like 70% or 0.7');
}

/** What a study is told about itself, whoever made its runs. */
export const studyOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--kind <kind>',
        'strong: the same work on more; weak: more work on more (default: decided by the runs)',
      ).choices(['strong', 'weak'] satisfies StudyKind[]),
    )
    .option('--figure <name>', 'a figure of merit (tacho fom) instead of the time; more is better')
    .option('--work <name>', 'the tag or figure of merit that says how much work a run did')
    .option('--efficiency <share>', 'lowest efficiency that the recommended size may have', shareOf, 0.7)
    .addOption(
      new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv', 'svg']).default('text'),
    );

type Answer = Awaited<ReturnType<typeof import('./scale-runs.ts')['scaleOf']>>;

/** As text, JSON, CSV or SVG. */
export async function printScale(studyOrRun: Answer, format: ScaleOptions['format']): Promise<void> {
  const page = { stream: process.stdout, width: pageWidth() };
  const print = (text: string): void => void process.stdout.write(text);
  if ('run' in studyOrRun) {
    if (format === 'svg') throw usage('one run has no curve to draw', 'name several recordings, or use --format json');
    const { oneRunCsv, oneRunJson, oneRunText } = await import('../show/scale/one-run-text.ts');
    print(
      format === 'json'
        ? oneRunJson(studyOrRun.run)
        : format === 'csv'
          ? oneRunCsv(studyOrRun.run)
          : oneRunText(studyOrRun.run, page),
    );
    return;
  }
  const { study } = studyOrRun;
  if (format === 'svg') {
    const [{ scalingSvg }, { lawCurve }] = await Promise.all([
      import('../charts/scaling-svg.ts'),
      import('../judge/scale/curve.ts'),
    ]);
    print(scalingSvg({ ...study, curve: lawCurve(study) }));
  } else {
    const { studyCsv, studyJson, studyText } = await import('../show/scale/study-text.ts');
    print(format === 'json' ? studyJson(study) : format === 'csv' ? studyCsv(study) : studyText(study, page));
  }
}
