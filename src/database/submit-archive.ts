import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { importEpmt } from '../import/epmt/import.ts';
import type { Database } from './connect.ts';
import type { SubmitOptions } from './submit.ts';
import { type SubmitResult, submitFolder } from './submit-folder.ts';

/** Submits an archive or folder of EPMT: it becomes a recording for as long as that takes. */
export async function submitArchive(
  database: Database,
  input: string,
  options: SubmitOptions = {},
): Promise<SubmitResult> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-submit-'));
  try {
    const { imported, refused } = await importEpmt([input], { folder });
    if (refused[0] !== undefined) return { path: input, id: '', refused: refused[0].fault };
    const result = await submitFolder(database, imported[0]!.recording, { ...options, origin: path.resolve(input) });
    return { ...result, path: input };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
