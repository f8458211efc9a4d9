import type { Report } from '../../src/judge/report-schema.ts';
import { cardOf, reportCards, type TextOptions } from '../../src/show/report/text.ts';

/** What `tacho report` prints of these jobs. */
export function reportText(reports: readonly Report[], options: TextOptions = {}): string {
  const cards = reportCards(options);
  for (const report of reports) cards.add(cardOf(report, options));
  return [...cards.texts()].join('');
}
