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
} from '../test/made/epmt-archive.ts';
import type { Row } from './row.ts';

export interface ImportBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
}

const HERE = path.join(import.meta.dirname, '..');
/** A build of the Linux kernel that EPMT recorded, where it is at hand; otherwise one is made up. */
const REAL = path.join(HERE, '../shared/data/epmt/kern-6656-20190614-190245.tgz');
/** In one of them. */
const PROCESSES = 10_600;
const ARCHIVES = 20;

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
    const many = await Promise.all(
      Array.from({ length: ARCHIVES }, (_, i) => renamed(one, path.join(folder, `${i}.tgz`), `job-${i}`)),
    );
    const large = (processes: number): Promise<string> => ofSize(one, path.join(folder, `${processes}.tgz`), processes);
    const few = Math.ceil(runs / 2);
    return [
      ...measure(many, PROCESSES * ARCHIVES, few, folder, `${ARCHIVES} archives of 10,600`),
      ...measure([await large(106_000)], 106_000, few, folder, '1 archive of 106,000'),
      ...measure([await large(35_000)], 35_000, runs, folder, '1 archive of 35,000', '≥ 120000 /s'),
      ...measure(many.slice(0, 4), PROCESSES * 4, runs, folder, '4 archives of 10,600'),
      ...measure([one], PROCESSES, runs, folder, '1 archive of 10,600'),
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** `must`: processes in a second of CPU time, all threads of the command. */
function measure(
  archives: readonly string[],
  processes: number,
  runs: number,
  folder: string,
  what: string,
  must = '',
): Row[] {
  const ours: Cost[] = [];
  const theirs: Cost[] = [];
  for (let run = 0; run < runs; run++) {
    const out = path.join(folder, `out-${run}`);
    ours.push(costOf(path.join(HERE, 'tacho'), ['import', 'epmt', ...archives, '-o', out]));
    fs.rmSync(out, { recursive: true });
    // it is slow enough for one to tell
    if (theirs.length < (processes > 50_000 ? 1 : 3)) theirs.push(costOf('python3', ['-c', PYTHON, ...archives]));
  }
  const row = (by: keyof Cost, name: string, required: string): Row => {
    const [rate, other] = [ours, theirs].map((costs) => processes / median(costs.map((cost) => cost[by])));
    return {
      what: name,
      must: required,
      measured: rate!,
      unit: 'processes/s',
      peer: Number.isFinite(other) ? `plain Python, reading only: ${Math.round(other!)}` : '',
      ratio: Number.isFinite(other) ? rate! / other! : Number.NaN,
    };
  };
  return [
    row('wall', `import epmt, whole command: ${what}`, '≥ 50000 /s'),
    row('cpu', '  in a second of CPU time, all threads', must),
  ];
}

/** Seconds that a command took, and CPU seconds of all its threads; NaN when the program is not there. */
interface Cost {
  wall: number;
  cpu: number;
}

function costOf(command: string, args: readonly string[]): Cost {
  const before = childrenCpu();
  const start = performance.now();
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) return { wall: Number.NaN, cpu: Number.NaN };
  if (status !== 0) throw new Error(stderr);
  return { wall: (performance.now() - start) / 1000, cpu: childrenCpu() - before };
}

/** CPU seconds of the processes that this one has waited for. */
function childrenCpu(): number {
  const fields = fs
    .readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
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

/** The same processes again and again until there are so many, each time with other ids. */
export async function ofSize(archive: string, target: string, processes: number): Promise<string> {
  const { metadata, data } = await readJobFiles(archive);
  const [{ name, bytes }] = data as [(typeof data)[number]];
  const [header, ...lines] = bytes.toString('latin1').trimEnd().split('\n');
  const ids = ['pid', 'tid'].map((column) => header!.split(',').indexOf(column));
  const shifted = Array.from({ length: processes }, (_, i) => {
    // commas in texts have a backslash before them
    const cells = lines[i % lines.length]!.split(/(?<!\\),/);
    const round = Math.floor(i / lines.length);
    for (const cellIndex of ids) cells[cellIndex] = String(Number(cells[cellIndex]) + round * 1e6);
    return cells.join(',');
  });
  const text = Buffer.from(`${[header, ...shifted].join('\n')}\n`, 'latin1');
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
