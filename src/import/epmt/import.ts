import * as fs from 'node:fs';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { type JobFiles, listInputs, readJobFiles } from './archive.ts';
import type { NodeTables } from './tables.ts';

/** The next archive is unpacked while a job is imported, unless it may take much memory. */
const LARGEST_AHEAD = 16 << 20;
/** Archives of so many bytes take longer than a second. */
const LONG_RUN = 6 << 20;

export interface ImportOptions {
  /** Where the recordings go, each as tacho-<job id>. */
  folder: string;
  env?: Record<string, string | undefined>;
  /** Ends the work between two jobs. */
  signal?: AbortSignal;
  /** Called when all files of a recording are written, before it gets its name: what is added is there with it. */
  complete?: (written: WrittenRecording) => void;
  /** Called after each input. */
  progress?: () => void;
}

export interface Imported {
  input: string;
  recording: string;
  job: string;
  nodes: string[];
  processes: number;
  threads: number;
  /** What somebody should know about the data. */
  notes: string[];
}

/** A recording that was written, and the records of its processes, by node. */
export interface WrittenRecording {
  folder: string;
  nodes: readonly NodeTables[];
}

export interface Refused {
  input: string;
  fault: Fault;
}

/** Imports archives and folders of EPMT, a recording a job. One that cannot be imported does not keep the others back. */
export async function importEpmt(
  inputs: readonly string[],
  options: ImportOptions,
): Promise<{ imported: Imported[]; refused: Refused[] }> {
  const imported: Imported[] = [];
  const refused: Refused[] = [];
  const made = epmtFilesIn(options.folder);
  const all = listInputs(inputs);
  let ahead = readAhead(all[0]);
  // the rest of the program is loaded meanwhile
  const { importJob } = await import('./import-job.ts');
  if (sizeOf(all) < LONG_RUN) (await import('../../base/short-run.ts')).shortRun();
  try {
    for (const [i, input] of all.entries()) {
      options.signal?.throwIfAborted();
      try {
        const reading = ahead ?? readJobFiles(input);
        ahead = undefined;
        const files = await reading;
        ahead = readAhead(all[i + 1]);
        imported.push(await importJob(files, options));
      } catch (error) {
        refused.push({ input, fault: faultOf(input, error) });
      }
      options.progress?.();
    }
  } finally {
    if (imported.length === 0) removeEmpty(made);
  }
  return { imported, refused };
}

/** Undefined: it is to be read when its turn comes. */
function readAhead(input: string | undefined): Promise<JobFiles> | undefined {
  if (input === undefined || sizeOf([input]) > LARGEST_AHEAD) return undefined;
  const files = readJobFiles(input);
  // whoever waits for it is told
  files.catch(() => {});
  return files;
}

/** Bytes of these archives; infinitely many where one of them is a folder, or cannot be looked at. */
function sizeOf(inputs: readonly string[]): number {
  let size = 0;
  for (const input of inputs) {
    try {
      const stat = fs.statSync(input);
      size += stat.isFile() ? stat.size : Number.POSITIVE_INFINITY;
    } catch {
      // whoever reads it says why that fails
      return Number.POSITIVE_INFINITY;
    }
  }
  return size;
}

/** Returns the folders that it had to make, the innermost first. */
function epmtFilesIn(folder: string): string[] {
  try {
    return makeFolder(folder);
  } catch (error) {
    throw new Fault(`cannot write ${folder}: ${reason(error)}`, { hint: 'choose another folder with -o' });
  }
}

/** Unless somebody else has put something into them meanwhile. */
function removeEmpty(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      fs.rmdirSync(folder);
    } catch (error) {
      if (code(error) === 'ENOTEMPTY' || code(error) === 'EEXIST') return;
      throw error;
    }
  }
}

const faultOf = (input: string, error: unknown): Fault =>
  error instanceof Fault ? error : new Fault(`cannot import ${input}: ${reason(error)}`, { cause: error });

export { listInputs } from './archive.ts';
