import * as fs from 'node:fs';
import * as path from 'node:path';
import { rowEnd, splitLine } from '../../base/csv.ts';
import { Fault, reason } from '../../base/fault.ts';
import { type DaskCell, type DaskSamples, type DaskWorkerRows, GPU_METRICS } from './workers.ts';

/** How a worker's file is called, with its number. */
const WORKER_FILE = /_(\d+)\.csv$/;
const ALWAYS = ['job', 'dag', 'timestamp'];

/** A folder of files of workers, and no recording. */
export function isWorkerFolder(folder: string): boolean {
  try {
    const names = fs.readdirSync(folder);
    return !names.includes('job.json') && names.some((name) => WORKER_FILE.test(name));
  } catch {
    return false;
  }
}

/** CSV files of workers in a folder, by their numbers: 2 comes before 10. */
const workerFiles = (folder: string): string[] =>
  fs
    .readdirSync(folder)
    .filter((name) => WORKER_FILE.test(name))
    .sort((a, b) => Number(WORKER_FILE.exec(a)![1]) - Number(WORKER_FILE.exec(b)![1]))
    .map((name) => path.join(folder, name));

/** The samples in the CSV files of a folder, with the columns that they have. */
export function samplesOfFiles(folder: string): DaskSamples {
  const workers = readWorkerFiles(folder);
  const names = new Set(workers.flatMap(({ metrics }) => [...metrics.keys()]));
  const isGpu = (name: string): boolean => (GPU_METRICS as readonly string[]).includes(name);
  return {
    start: 0,
    tracking: [
      ...(workers.some(({ hasTasks }) => hasTasks) ? ['tasks'] : []),
      ...GPU_METRICS.filter((name) => names.has(name)),
    ],
    custom: [...names].filter((name) => !isGpu(name)),
    workers,
  };
}

/** The samples in the CSV files of a folder, as dask-metrics or `tacho dask csv` wrote them. */
export function readWorkerFiles(folder: string): (DaskWorkerRows & { hasTasks: boolean })[] {
  const files = workerFiles(folder);
  if (files.length === 0)
    throw new Fault(`${folder} has no CSV files of Dask workers`, {
      hint: 'they are called worker_0.csv, worker_1.csv…',
    });
  return files.map(readFile);
}

function readFile(file: string): DaskWorkerRows & { hasTasks: boolean } {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
  const rows = rowsOf(text);
  const header = rows.shift() ?? [];
  if (!ALWAYS.every((name) => header.includes(name)))
    throw new Fault(
      `${file} is no CSV file of a Dask worker: it lacks ${ALWAYS.filter((name) => !header.includes(name)).join(', ')}`,
    );
  const whole = rows.filter((row) => row.length === header.length);
  const column = (name: string): string[] => {
    const at = header.indexOf(name);
    return whole.map((row) => row[at] ?? '');
  };
  const metrics = header.filter((name) => !ALWAYS.includes(name) && name !== 'tasks');
  return {
    address: file,
    name: WORKER_FILE.exec(file)![1]!,
    times: column('timestamp').map((seconds) => Math.round(Number(seconds) * 1e6)),
    jobs: column('job').map(Number),
    dags: column('dag').map(Number),
    tasks: column('tasks'),
    hasTasks: header.includes('tasks'),
    metrics: new Map(
      metrics.map((name) => [name, column(name).map((cell) => (cell === '' ? [] : cell.split(', ').map(cellOf)))]),
    ),
  };
}

const cellOf = (text: string): DaskCell =>
  text.trim() === '' ? undefined : Number.isFinite(Number(text)) ? Number(text) : text;

function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  for (let at = 0; at < text.length; ) {
    const end = rowEnd(text, at);
    const row = text.slice(at, end).replace(/\r$/, '');
    if (row !== '') rows.push(splitLine(row));
    at = end + 1;
  }
  return rows;
}
