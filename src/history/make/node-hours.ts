import type { Recording } from '../../recording/folder/open.ts';
import type { NodeHourSummary } from '../tables/summary.ts';

/** What the nodes of a recording did in every hour (UTC) that it has samples of. */
export function nodeHoursOf(_recording: Recording, _path = ''): NodeHourSummary[] {
  return [];
}
