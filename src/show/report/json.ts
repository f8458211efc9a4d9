import type { Report } from '../../judge/report-schema.ts';
import { exactJson } from '../exact-json.ts';

/** The report object: one recording gives an object, several a list. docs/report.schema.json describes it. */
export function reportJson(reports: readonly Report[]): string {
  return exactJson(reports.length === 1 ? reports[0] : reports);
}

/** The same, each report as it comes. */
export async function* reportJsonParts(reports: AsyncIterable<Report>): AsyncGenerator<string> {
  let first: Report | undefined;
  let isList = false;
  for await (const each of reports) {
    if (isList) yield `,\n${item(each)}`;
    else if (first !== undefined) {
      yield `[\n${item(first)},\n${item(each)}`;
      isList = true;
    } else first = each;
  }
  yield isList ? '\n]\n' : reportJson(first === undefined ? [] : [first]);
}

const OPENING = '[\n';
const CLOSING = '\n]\n';

const item = (report: Report): string => exactJson([report]).slice(OPENING.length, -CLOSING.length);
