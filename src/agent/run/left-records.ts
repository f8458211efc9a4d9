import * as fs from 'node:fs';
import * as path from 'node:path';
import { RECORD_FOLDERS } from '../../control/record-folders.ts';
import { type ProcessId, stillRuns } from '../../jobs/on-node/process-id.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { readJson } from '../../recording/folder/record-file.ts';
import type { Records } from '../../sources/scope.ts';

/** Who reads it, and for which recording. */
const MOST_NOTE = 64 << 10;

/** What processes of the recording's job have left here after the agent of their node was killed. */
export function leftRecords(recording: Recording): { records: Records; node: NodeRecording } | undefined {
  const { process_records: records } = recording.job;
  if (records === undefined || !isOwnPlace(records.file)) return undefined;
  const node = nodeOf(recording, records);
  return node && { records, node };
}

/** Whether it is one of the places that Tacho makes, and this user's alone: what a recording names may be anything. */
function isOwnPlace(file: string): boolean {
  const uid = process.geteuid!();
  const folder = path.dirname(file);
  const isNamed = path.basename(folder).startsWith(`tacho-${uid}-`) && path.basename(file) === 'events';
  if (!isNamed || !RECORD_FOLDERS.includes(path.dirname(folder))) return false;
  const folderStats = fs.lstatSync(folder, { throwIfNoEntry: false });
  return folderStats?.isDirectory() === true && folderStats.uid === uid && (folderStats.mode & 0o077) === 0;
}

/** The node whose agent has made the file here, for this recording, and no longer runs. */
function nodeOf({ path: recording, nodes }: Recording, records: Records): NodeRecording | undefined {
  try {
    const agent = readJson(path.join(path.dirname(records.file), 'agent'), MOST_NOTE) as ProcessId & {
      recording: string;
    };
    if (stillRuns(agent) || isForAnother(agent.recording, recording)) return undefined;
    return nodes.find((node) => node.agent?.pid === agent.pid);
  } catch {
    return undefined;
  }
}

/** A recording that was moved since is still this one. */
function isForAnother(named: string, recording: string): boolean {
  const [a, b] = [named, recording].map((each) => fs.statSync(each, { throwIfNoEntry: false }));
  return a !== undefined && (a.dev !== b?.dev || a.ino !== b.ino);
}
