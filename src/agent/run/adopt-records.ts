import * as fs from 'node:fs';
import * as path from 'node:path';
import { newestWrite } from '../../recording/folder/alive.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { parsePart } from '../../recording/folder/part-name.ts';
import { TableWriter } from '../../recording/live/append.ts';
import { CsvText } from '../../recording/live/csv-write.ts';
import type { Check } from '../../recording/repair/verify.ts';
import { Host } from '../../sources/host.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import { type Records, WHOLE_NODE } from '../../sources/scope.ts';
import type { Source } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import { header } from '../../table/table.ts';
import { leftRecords } from './left-records.ts';

const STALE_MS = 60_000;

/**
 * Takes in what processes have recorded of themselves on this machine after their agent had died: the file of the job is
 * still there. Undefined: there is none, or it is being read.
 */
export async function adoptRecords(recording: Recording, dryRun: boolean): Promise<Check | undefined> {
  const left = leftRecords(recording);
  if (left === undefined) return undefined;
  const { records, node } = left;
  const leftFile = {
    file: records.file,
    what: 'processes have recorded themselves there after the agent of their node had died',
  };
  const action = `taken over into ${path.basename(node.folder)}`;
  if (dryRun) return { ...leftFile, outcome: 'would repair', action };
  const release = claim(path.dirname(records.file));
  if (release === undefined) return undefined;
  try {
    await takeOver(records, node, recording.job.redacted === true);
  } finally {
    release();
  }
  return { ...leftFile, outcome: 'repaired', action };
}

/**
 * Adds to an opened recording what `adoptRecords` would take in, read where it lies: nothing is changed, there or in the
 * recording.
 */
export function readUnfiled(recording: Recording): void {
  const left = leftRecords(recording);
  if (left === undefined) return;
  const { node } = left;
  const readers = openReaders({ ...left.records, untouched: true }, recording.job.redacted === true);
  const texts = readers.map(({ source: { table } }) => ({ table, text: new CsvText() }));
  for (const { table, text } of texts) text.line(header(table));
  const headers = texts.map(({ text }) => text.length);
  readAll(readers, (frame, i) => texts[i]!.text.frame(frame));
  for (const { source } of readers) source.close();
  const filled = texts.filter(({ text }, i) => text.length > headers[i]!);
  node.unfiled = new Map(
    filled.map(({ table, text }) => [table.name, Buffer.from(text.bytes.subarray(0, text.length))]),
  );
  for (const { table } of filled) if (!node.tables.has(table.name)) node.tables.set(table.name, { parts: [] });
}

/** Two who come at once must not both take it over; one that was killed has not. Undefined: somebody else does. */
function claim(folder: string): (() => void) | undefined {
  const lock = path.join(folder, 'taken');
  const since = fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Math.abs(Date.now() - since) > STALE_MS) fs.rmSync(lock, { force: true });
  try {
    fs.closeSync(fs.openSync(lock, 'wx', 0o600));
    return () => fs.rmSync(lock, { force: true });
  } catch {
    return undefined;
  }
}

interface Reader {
  source: Source;
  frame: Frame;
}

function openReaders(records: Records, redact: boolean): Reader[] {
  const host = new Host();
  return RECORD_KINDS.map((kind) => {
    const source = kind.open(host, { ...WHOLE_NODE, redact, records });
    return { source, frame: new Frame(source.table) };
  });
}

/** Reads what processes have recorded to its end. */
function readAll(readers: readonly Reader[], take: (frame: Frame, reader: number) => void): void {
  for (const { source } of readers) source.last?.();
  do {
    for (const [i, { source, frame }] of readers.entries()) {
      frame.clear(Date.now() * 1000);
      source.read(frame);
      take(frame, i);
    }
  } while (readers.some(({ source }) => source.behind?.() === true));
}

/** Reads what processes have recorded to its end, into the recording; then the place goes. */
export async function takeOver(records: Records, node: NodeRecording, redact: boolean): Promise<void> {
  const lastSign = newestWrite(node);
  const readers = openReaders(records, redact);
  const writers = readers.map(({ source }) => new TableWriter(node.folder, source.table));
  readAll(readers, (frame, i) => writers[i]!.append(frame));
  await Promise.all(writers.map((writer) => writer.close()));
  // that it was written down now says nothing about how long the agent lived
  for (const name of fs.readdirSync(node.folder)) {
    const file = path.join(node.folder, name);
    if (parsePart(name) !== undefined && fs.statSync(file).mtimeMs > (lastSign ?? Infinity) / 1e3) {
      fs.utimesSync(file, lastSign! / 1e6, lastSign! / 1e6);
    }
  }
  // only what is safely in the recording may go
  if (writers.every(({ trouble }) => trouble === undefined)) for (const { source } of readers) source.close();
}
