import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { openNew, openPlain } from '../base/plain-file.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { needOwn } from '../recording/folder/as-owner.ts';
import { nodeFolder, nodeName } from '../recording/folder/node-folder.ts';
import { openRecording } from '../recording/folder/open.ts';
import { CsvText } from '../recording/live/csv-write.ts';
import { markersOf, pairPhases } from '../recording/read/markers.ts';
import { markerTable } from '../sources/own/marker.ts';
import { Frame } from '../table/frame.ts';
import { header } from '../table/table.ts';

export interface Mark {
  action: 'begin' | 'end' | 'fom';
  name: string;
  value?: number;
  /** The process that marked it, where it did so itself. */
  pid?: string;
}

const { action: ACTION, name: NAME, value: VALUE, pid: PID } = markerTable.at;

/** Appends marks to the recording's folder of this node: one write each, so that several programs may mark at once. */
export function writeMarks(
  recording: string,
  env: Environment,
  marks: readonly (Mark & { time?: number })[],
  time = Date.now() * 1000,
): void {
  needOwn(recording);
  const file = markerFileHere(recording, env);
  const frame = new Frame(markerTable);
  const lines = new CsvText();
  marks.forEach((mark, i) => {
    // rows of one moment would be taken for one row
    frame.clear(mark.time ?? time + i);
    const r = frame.row();
    frame.texts[r * frame.textWidth + ACTION] = mark.action;
    frame.texts[r * frame.textWidth + NAME] = mark.name;
    frame.texts[r * frame.textWidth + PID] = mark.pid ?? '';
    if (mark.value !== undefined) frame.numbers[r * frame.numberWidth + VALUE] = mark.value;
    lines.frame(frame);
  });
  try {
    makeMarkerFile(file);
    const fd = openPlain(file, fs.constants.O_WRONLY | fs.constants.O_APPEND);
    try {
      fs.writeFileSync(fd, lines.bytes.subarray(0, lines.length));
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    throw new Fault(`cannot write ${file}: ${reason(error)}`, { cause: error });
  }
}

/** The file appears with its header at once, whoever is first. */
export function makeMarkerFile(file: string): void {
  if (fs.existsSync(file)) return;
  const head = headerLine();
  const temporary = `${file}.${process.pid}.new`;
  const fd = openNew(temporary);
  try {
    fs.writeFileSync(fd, head);
  } finally {
    fs.closeSync(fd);
  }
  try {
    fs.linkSync(temporary, file);
  } catch (error) {
    if (code(error) !== 'EEXIST') throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

function headerLine(): Buffer {
  const head = new CsvText();
  head.line(header(markerTable));
  return Buffer.from(head.bytes.subarray(0, head.length));
}

/** A job without marks has no table of them. */
export function removeUnusedMarkerFile(file: string): void {
  try {
    if (fs.readFileSync(file).equals(headerLine())) fs.rmSync(file);
  } catch {
    // it was not made, or it is kept as it is
  }
}

/** A node's table of marks. */
export const markerFile = (recording: string, node: string): string =>
  path.join(recording, nodeFolder(node), `${markerTable.name}.csv`);

/** The same of this node. */
export const markerFileHere = (recording: string, env: Environment): string =>
  path.join(recording, folderHere(recording, env), `${markerTable.name}.csv`);

/** This node's folder; on a machine that is not recorded (a login node), the first node's. */
function folderHere(recording: string, env: Environment): string {
  const here = nodeFolder(env.SLURMD_NODENAME ?? os.hostname().split('.')[0]!);
  if (fs.existsSync(path.join(recording, here))) return here;
  const first = fs
    .readdirSync(recording)
    .filter((name) => nodeName(name) !== undefined)
    .sort()[0];
  if (first === undefined) throw new Fault(`${recording} has no node yet: nothing is recorded there`);
  return first;
}

/** The phases that were begun on this node and have not ended, innermost last. */
export function openPhases(recording: string, env: Environment): string[] {
  const here = path.join(recording, folderHere(recording, env));
  const node = openRecording(recording).nodes.find(({ folder }) => path.resolve(folder) === path.resolve(here));
  if (node === undefined) return [];
  return pairPhases(markersOf(node)).flatMap(({ begin, end }) => (end === undefined ? begin.name : []));
}

/** Ends a phase: the one that is named, else the innermost. Returns its name. */
export function endPhase(recording: string, env: Environment, name: string | undefined): string {
  const open = openPhases(recording, env);
  const ended = name ?? open.at(-1);
  if (ended === undefined) throw new Fault('no phase is open here', { hint: 'tacho mark begin NAME begins one' });
  if (!open.includes(ended)) {
    const hint = open.length === 0 ? 'tacho mark begin NAME begins one' : `open are: ${open.join(', ')}`;
    throw new Fault(`phase "${ended}" was not begun here`, { hint });
  }
  writeMarks(recording, env, [{ action: 'end', name: ended }]);
  return ended;
}
