import * as fs from 'node:fs';
import type { Command } from 'commander';
import { Fault } from '../../base/fault.ts';
import type { DaskSamples } from '../../query/dask/workers.ts';
import type { Recording } from '../../recording/folder/open.ts';

const ATTACHED = 'or the address of a cluster that is attached here (default: the only one)';

export const recordingArgument = (command: Command): Command =>
  command.argument('[source]', `a recording, ${ATTACHED}`);

/** What has only samples of workers will do, too. */
export const samplesArgument = (command: Command): Command =>
  command.argument('[source]', `a recording, a folder of CSV files, ${ATTACHED}`);

/** The recording that is meant: named, or of an attached monitor. */
export async function daskRecording(source: string | undefined): Promise<Recording> {
  const { findRecordings } = await import('../find-recordings.ts');
  return (await findRecordings([await folderOf(source)]))[0]!;
}

async function folderOf(source: string | undefined): Promise<string> {
  const isAddress = source !== undefined && /^[a-z]+:\/\//.test(source);
  if (source !== undefined && !isAddress) return source;
  const { findMonitor, monitorsHere } = await import('../../dask/find-monitor.ts');
  if (source === undefined) return findMonitor(undefined).folder;
  const { findCluster } = await import('../../dask/address.ts');
  const { scheduler, dashboard } = await findCluster(source);
  const monitor = monitorsHere().find(({ control }) => [scheduler?.text, dashboard].includes(control.scheduler));
  if (monitor === undefined)
    throw new Fault(`no monitor is attached to ${source} here`, { hint: `tacho dask attach ${source} attaches one` });
  return monitor.folder;
}

/** The samples of workers, from wherever they are. */
export async function samplesOf(source: string | undefined): Promise<DaskSamples> {
  if (source !== undefined && isCsvFolder(source)) {
    const { samplesOfFiles } = await import('../../query/dask/worker-files.ts');
    return samplesOfFiles(source);
  }
  const { daskSamples } = await import('../../query/dask/workers.ts');
  return daskSamples(await daskRecording(source));
}

function isCsvFolder(folder: string): boolean {
  try {
    const names = fs.readdirSync(folder);
    return !names.includes('job.json') && names.some((name) => /_\d+\.csv$/.test(name));
  } catch {
    return false;
  }
}
