import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { readJobFiles } from '../src/import/epmt/archive.ts';
import {
  CSV_COLUMNS,
  csvText,
  JOB_START,
  madeProcess,
  metadataOf,
  PickledMoment,
  pickle3,
  tgzOf,
} from '../src/import/epmt/test-archive.ts';
import type { Row } from './row.ts';

export interface ImportBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
}

const HERE = path.join(import.meta.dirname, '..');
/** A build of the Linux kernel that EPMT recorded, where it is at hand; otherwise one is made up. */
const REAL = path.join(HERE, '../shared/data/epmt/kern-6656-20190614-190245.tgz');
const PROCESSES = 10_600;

/** What a reader in plain Python does with the same archive, without storing anything. */
const PYTHON = `
import csv, io, pickle, sys, tarfile
for tar, member in [(tar, member) for tar in map(tarfile.open, sys.argv[1:]) for member in tar.getmembers()]:
    if not member.isfile(): continue
    data = tar.extractfile(member).read()
    if member.name.endswith('job_metadata'): pickle.loads(data, encoding='bytes'); continue
    texts = {'tags', 'hostname', 'exename', 'path', 'args'}
    rows = [{k: v if k in texts or v == '' else int(v) for k, v in row.items()}
            for row in csv.DictReader(io.StringIO(data.decode()), escapechar='\\\\', quoting=csv.QUOTE_NONE)]
    print(len(rows), sum(row['usertime'] for row in rows))
`;

/** Importing archives of EPMT, whole commands, against reading them in plain Python. */
export async function bench(options: ImportBenchOptions = {}): Promise<Row[]> {
  const { runs = 7 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const one = fs.existsSync(REAL) ? REAL : madeUp(path.join(folder, 'one.tgz'));
    const ten = await tenfold(one, path.join(folder, 'ten.tgz'));
    const four = Array.from({ length: 4 }, (_, i) => renamed(one, path.join(folder, `${i}.tgz`), `job-${i}`));
    return [
      measure([one], PROCESSES, runs, folder, 'an EPMT archive of 10,600 processes, imported'),
      measure(await Promise.all(four), PROCESSES * 4, Math.ceil(runs / 2), folder, 'four of them in one command'),
      measure([ten], PROCESSES * 10, Math.ceil(runs / 2), folder, 'one of 106,000 processes'),
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function measure(archives: readonly string[], processes: number, runs: number, folder: string, what: string): Row {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let run = 0; run < runs; run++) {
    const out = path.join(folder, `out-${run}`);
    ours.push(seconds(path.join(HERE, 'tacho'), ['import', 'epmt', ...archives, '-o', out]));
    fs.rmSync(out, { recursive: true });
    if (theirs.length < 3) theirs.push(seconds('python3', ['-c', PYTHON, ...archives]));
  }
  const rate = processes / median(ours);
  const other = processes / median(theirs);
  return {
    what: `${what}, whole command`,
    must: '≥ 50000 /s',
    measured: rate,
    unit: 'processes/s',
    peer: Number.isFinite(other) ? `plain Python, reading only: ${Math.round(other)}` : '',
    ratio: Number.isFinite(other) ? rate / other : Number.NaN,
  };
}

/** NaN when the program is not there. */
function seconds(command: string, args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) return Number.NaN;
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - start) / 1000;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** The same job under another id. */
async function renamed(archive: string, target: string, id: string): Promise<string> {
  const { data } = await readJobFiles(archive);
  const day = (start: boolean): PickledMoment =>
    new PickledMoment(start ? '2019-06-13T00:00:00' : '2023-12-01T00:00:00', 0, 0);
  const metadata = pickle3(metadataOf({ id, start: day(true), stop: day(false) }));
  fs.writeFileSync(target, tgzOf([{ name: './job_metadata', bytes: metadata }, ...data]));
  return target;
}

/** The same processes ten times, each time with other ids. */
async function tenfold(archive: string, target: string): Promise<string> {
  const { metadata, data } = await readJobFiles(archive);
  const [{ name, bytes }] = data as [(typeof data)[number]];
  const [header, ...lines] = bytes.toString('latin1').trimEnd().split('\n');
  const pid = header!.split(',').indexOf('pid');
  const shifted = Array.from({ length: 10 }, (_, round) =>
    lines.map((line) => {
      // commas in texts have a backslash before them
      const cells = line.split(/(?<!\\),/);
      for (const place of [pid, header!.split(',').indexOf('tid')])
        cells[place] = String(Number(cells[place]) + round * 1e6);
      return cells.join(',');
    }),
  );
  const text = Buffer.from(`${[header, ...shifted.flat()].join('\n')}\n`, 'latin1');
  fs.writeFileSync(
    target,
    tgzOf([
      { name: './job_metadata', bytes: metadata },
      { name: `./${name}`, bytes: text },
    ]),
  );
  return target;
}

/** An archive of 10,600 processes like those of a build. */
export function madeUp(target: string): string {
  const made = Array.from({ length: PROCESSES }, (_, i) => {
    const args = `-Wp,-MD,kernel/.file${i % 5000}.o.d ${'-nostdinc -isystem /usr/lib/gcc/include '.repeat(12)}`;
    return madeProcess(i + 1, { args, exename: 'cc1', path: '/usr/lib/cc1', start: JOB_START + i * 100 });
  });
  const csv = csvText(made, CSV_COLUMNS[41]);
  fs.writeFileSync(
    target,
    tgzOf([
      { name: './job_metadata', bytes: pickle3(metadataOf()) },
      { name: './c1-collated-papiex-1-0.csv', bytes: csv },
    ]),
  );
  return target;
}
