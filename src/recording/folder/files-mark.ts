import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Recording } from './open.ts';

/** All files with samples, and their names in the recording. */
export function sampleFiles({ nodes, path: folder }: Recording): { name: string; file: string }[] {
  return nodes.flatMap((node) => {
    const below = path.relative(folder, node.folder);
    return [...node.tables.values()].flatMap(({ sealed, parts }) =>
      (sealed === undefined ? parts : [sealed, ...parts]).map((part) => ({
        name: `${below}/${part}`,
        file: `${node.folder}/${part}`,
      })),
    );
  });
}

/** Of their names and sizes: what was computed from them and kept is of them as long as it is the same. */
export function filesMark(recording: Recording): string {
  const names = sampleFiles(recording).map(({ name, file }) => `${name} ${sizeOf(file)}`);
  return crc32(names.sort().join('\n')).toString(16);
}

const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? -1;
