import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../base/fault.ts';
import { isWritable } from '../base/folder.ts';
import { randomHex } from '../base/random-hex.ts';
import { processId, stillRuns } from '../jobs/on-node/process-id.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { needOwn } from '../recording/folder/as-owner.ts';
import { readJob } from '../recording/folder/open.ts';
import type { Note } from '../sources/host.ts';
import { markerTable } from '../sources/own/marker.ts';
import { makeMarkerFile, markerFile, markerFileHere, removeUnusedMarkerFile } from './mark.ts';
import { RECORD_FOLDERS } from './record-folders.ts';

/** The variable that tells programs of the job where to append their marks. */
export const MARKS_VARIABLE = 'TACHO_MARKS';

const FOLDER = /^tacho-mark-\d+-[\da-f]{16}$/;
const LINK = 'marks';
const AGENT = 'agent';

/**
 * The path by which programs of a job append marks: the same on every node, since the environment is. On each node it is a
 * link to that node's table in the recording. Nothing is made yet.
 */
export function planMarks(): string {
  const recordsRoot = RECORD_FOLDERS.find(isWritable) ?? RECORD_FOLDERS[0]!;
  return path.join(recordsRoot, `tacho-mark-${process.getuid!()}-${randomHex(8)}`, LINK);
}

/** Where programs on this node append marks; a recording that this user may not write to has a folder for them. */
export function marksFileHere(recording: string, env: Environment): string {
  const planned = readJob(recording)?.marks_file;
  if (planned !== undefined && fs.existsSync(planned)) return planned;
  const file = markerFileHere(path.resolve(recording), env);
  try {
    needOwn(recording);
    makeMarkerFile(file);
  } catch (error) {
    throw new Fault(`cannot write ${file}: ${reason(error)}`, { cause: error });
  }
  return file;
}

export interface OpenMarks {
  /** This node's table `marker` in the recording. */
  file: string;
  /** Why programs cannot append marks here; `tacho mark` still can. */
  trouble?: Note;
  close(): void;
}

/** Makes this node's table of marks, and the link to it. */
export function openMarks(marks: string | undefined, recording: string, node: string): OpenMarks {
  const file = markerFile(path.resolve(recording), node);
  const opened: OpenMarks = {
    file,
    close() {
      if (marks !== undefined) fs.rmSync(path.dirname(marks), { recursive: true, force: true });
      removeUnusedMarkerFile(file);
    },
  };
  try {
    makeMarkerFile(file);
    if (marks !== undefined) link(marks, file);
  } catch (error) {
    opened.trouble = { table: markerTable.name, what: `marks by ${MARKS_VARIABLE}`, why: reason(error) };
  }
  return opened;
}

function link(marks: string, file: string): void {
  const folder = path.dirname(marks);
  removeAbandoned(path.dirname(folder));
  // fails where somebody else has the name
  fs.mkdirSync(folder, { mode: 0o700 });
  fs.writeFileSync(path.join(folder, AGENT), JSON.stringify(processId(process.pid)), { mode: 0o600 });
  fs.symlinkSync(file, marks);
}

/** Agents that were killed leave their link behind; what was written by it is in the recording. */
function removeAbandoned(recordsRoot: string): void {
  for (const name of fs.readdirSync(recordsRoot)) {
    if (!FOLDER.test(name)) continue;
    const folder = path.join(recordsRoot, name);
    try {
      if (fs.lstatSync(folder).uid !== process.getuid!()) continue;
      if (stillRuns(JSON.parse(fs.readFileSync(path.join(folder, AGENT), 'utf8')))) continue;
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // being made or removed in this moment
    }
  }
}
