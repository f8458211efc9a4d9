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
  if (source !== undefined && !namesCluster(source)) return source;
  const { findMonitor, monitorsHere } = await import('../../dask/find-monitor.ts');
  const { placesOfRecordings } = await import('../named-recordings.ts');
  const folders = await placesOfRecordings();
  if (source === undefined) return findMonitor(undefined, folders).folder;
  const { findCluster } = await import('../../dask/address.ts');
  const { scheduler, dashboard } = await findCluster(source);
  const monitor = monitorsHere(folders).find(({ control }) => [scheduler?.text, dashboard].includes(control.scheduler));
  if (monitor === undefined)
    throw new Fault(`no monitor is attached to ${source} here`, { hint: `tacho dask attach ${source} attaches one` });
  return monitor.folder;
}

/** As tacho dask attach takes it: an address, or a scheduler file. */
function namesCluster(source: string): boolean {
  const entry = fs.statSync(source, { throwIfNoEntry: false });
  return entry === undefined ? /^[a-z]+:\/\/|^[^/]+:\d+$/.test(source) : entry.isFile();
}

/** The samples of workers, from wherever they are. */
export async function samplesOf(source: string | undefined): Promise<DaskSamples> {
  const { isWorkerFolder, samplesOfFiles } = await import('../../query/dask/worker-files.ts');
  if (source !== undefined && isWorkerFolder(source)) return samplesOfFiles(source);
  const { daskSamples } = await import('../../query/dask/workers.ts');
  const samples = daskSamples(await daskRecording(source));
  if (samples.workers.length === 0)
    throw new Fault('no worker was sampled', {
      hint: 'the dashboard’s event stream has no samples; tacho dask attach tcp://HOST:8786 records them',
    });
  return samples;
}
