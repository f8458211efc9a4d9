import type { Fault } from '../../src/base/fault.ts';
import { byTime, describeAll, foldersOfRecordings, type Listed } from '../../src/recording/folder/list.ts';

/** The recordings in some folders, as `tacho list` has them, oldest first. */
export function listRecordings(
  folders: readonly string[],
  { now = Date.now() * 1000, failed }: { now?: number; failed?: (why: Fault) => void } = {},
): Listed[] {
  return byTime(describeAll({ folders: [...foldersOfRecordings(folders, failed)], now }));
}
