import type { Outliers } from '../../judge/outliers/outliers.ts';
import { threadName } from '../../query/processes/thread-name.ts';

/** Every group with its votes; threads are called as in their table. */
export function outliersJson(outliersFound: Outliers): string {
  const named = (key: string, value: unknown): unknown =>
    key === 'tid' && typeof value === 'number' ? threadName(value) : value;
  return `${JSON.stringify(outliersFound, named, 1)}\n`;
}
