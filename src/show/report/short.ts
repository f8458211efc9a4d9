import { asciiAround } from '../../base/printable.ts';
import { count, percent } from '../../base/readable.ts';
import type { Report } from '../../judge/report-schema.ts';
import { paint } from '../terminal/paint.ts';
import { cut, cutCommand, pad, printable, textWidth } from '../terminal/text-table.ts';
import { endingInText, title } from './head.ts';
import { meters } from './meters.ts';
import type { TextOptions } from './text.ts';
import { verdict } from './verdict.ts';

const WIDTH = 80;

/** The card in five lines, as schedulers' own tools print them: state, time, CPU (and GPU), memory, verdict. */
export function shortText(report: Report, { stream = {} }: Pick<TextOptions, 'stream'> = {}): string {
  const pen = paint(stream);
  const say = asciiAround([title(report)]);
  const used = new Map(meters(report, false).map((meter) => [meter.name, meter]));
  const meterText = (name: string): string => {
    const { share, text } = used.get(name) ?? { text: 'not measured' };
    return share === undefined ? text : `${percent(share)}, ${text}`;
  };
  const cards = used.has('GPU') ? `; GPU ${meterText('GPU').replace(' on average', '')}` : '';
  const { nodes } = report.summary;
  // how it ended is never cut: the name gives way
  const user = report.job.user === '' ? '' : ` of ${cut(printable(report.job.user), 16)}`;
  const whose = `${user}, ${count(nodes, 'node')}: ${endingInText(report)}`;
  const lines: [string, string][] = [
    ['Job', `${cutCommand(printable(title(report)), Math.min(40, WIDTH - 9 - textWidth(whose)))}${whose}`],
    ['Time', meterText('time')],
    ['CPU', `${meterText('CPU')}${cards}`],
    ['Memory', meterText('memory')],
    ['Verdict', verdict(report)],
  ];
  return lines.map(([name, text]) => `${pen.bold(pad(name, 8))} ${cut(say(printable(text)), WIDTH - 9)}\n`).join('');
}
