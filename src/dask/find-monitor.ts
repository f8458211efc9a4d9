import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { type ControlFacts, controlFileOf, controlOf } from './control.ts';

const HINT = 'tacho dask attach tcp://HOST:8786 attaches one';

export interface RunningMonitor {
  folder: string;
  control: ControlFacts;
}

/** The attached monitor of a recording; without one, that of the recording around this command, or the only one in these folders. */
export function findMonitor(recording: string | undefined, folders: readonly string[] = ['.']): RunningMonitor {
  if (recording !== undefined) {
    const control = controlOf(recording);
    if (control !== undefined) return { folder: recording, control: control };
    const last = controlFileOf(recording);
    if (last === undefined) throw new Fault(`no monitor is attached in ${recording}`, { hint: HINT });
    if (last.host !== os.hostname())
      throw new Fault(`the monitor of ${recording} runs on ${last.host}`, { hint: 'give this command there' });
    throw new Fault(`the monitor of ${recording} was killed`, {
      hint: 'what it recorded is there; attach again with another folder',
    });
  }
  const monitors = monitorsHere(folders);
  if (monitors.length === 0) throw new Fault('no monitor is attached in a recording here', { hint: HINT });
  if (monitors.length > 1 && monitors[0]!.folder !== process.env.TACHO_RECORDING)
    throw new Fault(`several monitors are attached here: ${monitors.map(({ folder }) => folder).join(', ')}`, {
      hint: 'name the recording',
    });
  return monitors[0]!;
}

/** Attached monitors of the recording around this command, and of those in these folders. */
export function monitorsHere(folders: readonly string[]): RunningMonitor[] {
  const { TACHO_RECORDING: around = '' } = process.env;
  const recordings = [...(around === '' ? [] : [around]), ...folders.flatMap((folder) => [folder, ...below(folder)])];
  const bySocket = new Map<string, RunningMonitor>();
  for (const folder of recordings) {
    const control = controlOf(folder);
    // this folder may be one of those that recordings are made in
    if (control !== undefined && !bySocket.has(control.socket)) bySocket.set(control.socket, { folder, control });
  }
  return [...bySocket.values()];
}

const below = (folder: string): string[] =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
