import type { Report } from '../../judge/report-schema.ts';
import { exactJson } from '../exact-json.ts';

/** The report object: one recording gives an object, several a list. docs/report.schema.json describes it. */
export function reportJson(reports: readonly Report[]): string {
  return exactJson(reports.length === 1 ? reports[0] : reports);
}
