import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { CONTROL_FILE, type ControlFacts, controlOf } from './control.ts';

const HINT = 'tacho dask attach tcp://HOST:8786 attaches one';

export interface RunningMonitor {
  folder: string;
  control: ControlFacts;
}

/** The attached monitor of a recording; without one, that of the recording around this command, or the only one here. */
export function findMonitor(recording: string | undefined): RunningMonitor {
  if (recording !== undefined) {
    const control = controlOf(recording);
    if (control !== undefined) return { folder: recording, control: control };
    const isKilled = fs.existsSync(path.join(recording, CONTROL_FILE));
    throw new Fault(isKilled ? `the monitor of ${recording} was killed` : `no monitor is attached in ${recording}`, {
      hint: isKilled ? 'what it recorded is there; attach again with another folder' : HINT,
    });
  }
  const monitors = monitorsHere();
  if (monitors.length === 0) throw new Fault('no monitor is attached in a recording here', { hint: HINT });
  if (monitors.length > 1 && monitors[0]!.folder !== process.env.TACHO_RECORDING)
    throw new Fault(`several monitors are attached here: ${monitors.map(({ folder }) => folder).join(', ')}`, {
      hint: 'name the recording',
    });
  return monitors[0]!;
}

/** Attached monitors of the recording around this command, and of those in this folder. */
export function monitorsHere(): RunningMonitor[] {
  const { TACHO_RECORDING: around = '' } = process.env;
  const folders = [...(around === '' ? [] : [around]), '.', ...below('.')];
  return folders.flatMap((folder) => {
    const control = controlOf(folder);
    return control === undefined ? [] : [{ folder, control }];
  });
}

const below = (folder: string): string[] =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
