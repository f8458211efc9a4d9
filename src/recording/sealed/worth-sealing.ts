import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Recording } from '../folder/open.ts';

/** Smaller ones are as quick to read as they are, and whoever waits for the end of a command gains nothing. */
const WORTH_SEALING = 1 << 18;

export const isWorthSealing = (recording: Recording): boolean => liveBytes(recording) >= WORTH_SEALING;

/** Bytes of live parts that sealing would go through. */
export function liveBytes(recording: Recording): number {
  let bytes = 0;
  for (const node of recording.nodes) {
    for (const files of node.tables.values())
      for (const partFile of files.parts) bytes += sizeOf(path.join(node.folder, partFile));
  }
  return bytes;
}

/** Of a file that may have gone. */
export function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
