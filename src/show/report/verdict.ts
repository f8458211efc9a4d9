import { count, figure } from '../../base/readable.ts';
import type { Report } from '../../judge/report-schema.ts';
import { TOO_SHORT } from '../../judge/rules/shared/rule.ts';
import { isPartlyRecorded } from '../../judge/use/partly-recorded.ts';

/** The verdict in one line. */
export function verdict(report: Report): string {
  const ended = report.job.state === 'cancelled' ? report.findings.find((f) => f.id === 'job-failed') : undefined;
  return ended === undefined ? judged(report) : `${ended.text}. ${judged(report, ' else')}`;
}

function judged(report: Report, else_ = ''): string {
  const { findings, checks } = report;
  const seriousFindings = findings.filter((f) => f.severity !== 'info');
  const unmeasurable = checks.filter((c) => c.outcome === 'unmeasurable').length;
  const worst = seriousFindings[0];
  if (worst !== undefined) {
    const more = seriousFindings.length - 1;
    return `${worst.text}${more === 0 ? '' : `, and ${more === 1 ? 'one more finding' : `${more} more findings`}`}.`;
  }
  const fine = checks.filter((c) => c.outcome === 'fine').length;
  const waste = checks.some(({ why }) => why?.includes(TOO_SHORT)) ? `; ${TOO_SHORT}` : '';
  const blind = (checks: string): string => (unmeasurable === 0 ? '' : `; ${checks} could not be made`);
  if (isPartlyRecorded(report))
    return `Recorded only in part: ${count(fine, 'check')} found nothing${else_} wrong${waste}${blind(figure(unmeasurable))}.`;
  return `Nothing${else_} wrong found by ${count(fine, 'check')}${waste}${blind(count(unmeasurable, 'check'))}.`;
}
