import * as fs from 'node:fs';
import * as path from 'node:path';
import { createGunzip } from 'node:zlib';
import { code, Fault, reason } from '../../base/fault.ts';
import { TarReader } from './tar.ts';

/** A job's files may have so many bytes, unpacked; the largest known has 70 MB. */
const MOST_BYTES = 2 ** 30;
/** The archives of most jobs are smaller, and read at once. */
const PIECE = 1 << 24;
/** What most jobs have, unpacked, is less than the second; memory is taken when it is written to. */
const UNPACKED_PIECE = { least: 1 << 16, most: 1 << 27 };
export const METADATA = 'job_metadata';
/** Of a job that has not ended. */
const RUNNING = `${METADATA}.tmp`;

export interface DataFile {
  name: string;
  bytes: Buffer;
}

/** The files of one job, as EPMT keeps them. */
export interface JobFiles {
  /** Where they come from, as the user named it. */
  input: string;
  metadata: Buffer;
  /** `.csv` and `.tsv`, by name. */
  data: DataFile[];
  /** Others that are there, and are not read. */
  foreign: string[];
  empty: string[];
}

const isData = (name: string): boolean => /\.[ct]sv$/.test(name);
/** What EPMT reads, unless a site tells it otherwise. */
const isOfPapiex = (name: string): boolean => /-papiex[^/]*\.[ct]sv$/.test(name);
export const isArchive = (name: string): boolean => /\.(tgz|tar\.gz|tar)$/.test(name);

/** A folder that is no job itself stands for the archives and the jobs' folders in it, also in folders of users there. */
export function listInputs(paths: readonly string[]): string[] {
  return paths.flatMap((input) => {
    const inside = jobsIn(input);
    return inside.length > 0 ? inside : [input];
  });
}

/** What EPMT left in a place, among whatever else is there. */
export function epmtJobs(archive: string): string[] {
  if (isArchive(archive)) return fs.statSync(archive, { throwIfNoEntry: false })?.isFile() === true ? [archive] : [];
  return jobsIn(archive).filter((job) => isArchive(job) || fs.existsSync(path.join(job, METADATA)) || isLeftover(job));
}

/** Data of papiex of which nobody says which job it was: whoever reads it says so. */
function isLeftover(folder: string): boolean {
  try {
    const names = fs.readdirSync(folder);
    return !names.includes(RUNNING) && names.some(isOfPapiex);
  } catch {
    return false;
  }
}

function jobsIn(input: string): string[] {
  let entries: fs.Dirent[];
  try {
    if (!fs.statSync(input).isDirectory()) return [input];
    entries = fs.readdirSync(input, { withFileTypes: true });
  } catch {
    // whoever reads it says why that fails
    return [input];
  }
  if (entries.some(({ name }) => name === METADATA || name === RUNNING)) return [input];
  // papiex wrote here, and what says which job it was is not there: whoever reads it says so
  if (entries.some(({ name }) => isOfPapiex(name))) return [input];
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const file = path.join(input, entry.name);
      if (entry.isDirectory()) return jobsIn(file);
      // a link may lead in a circle: what it leads to counts if it is a job itself
      return isArchive(file) || fs.existsSync(path.join(file, METADATA)) ? [file] : [];
    });
}

export async function readJobFiles(input: string, mostBytes = MOST_BYTES): Promise<JobFiles> {
  let files: Map<string, Buffer>;
  try {
    files = fs.statSync(input).isDirectory() ? readFolder(input, mostBytes) : await readArchive(input, mostBytes);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`cannot read ${input}: ${reason(error)}`, { cause: error });
  }
  const metadataNames = [...files.keys()].filter((name) => path.posix.basename(name) === METADATA);
  if (metadataNames.length === 0) {
    const running = files.has(RUNNING);
    throw new Fault(
      running
        ? `${input} cannot be imported: the job has not ended (it has a job_metadata.tmp, but no job_metadata)`
        : `${input} cannot be imported: it has no job_metadata, so it is no job of EPMT`,
      running ? { hint: 'epmt stop ends the recording of a job' } : {},
    );
  }
  if (metadataNames.length > 1)
    throw new Fault(`${input} cannot be imported: it holds several jobs (${metadataNames.join(', ')})`);
  const folder = path.posix.dirname(metadataNames[0]!);
  const all = [...files.keys()].filter((name) => isData(name) && path.posix.dirname(name) === folder).sort();
  const named = all.some(isOfPapiex);
  const ours = named ? all.filter(isOfPapiex) : all;
  const isEmpty = (name: string): boolean => files.get(name)!.length === 0 && !name.endsWith('-header.tsv');
  const nothing = ours.every(isEmpty);
  return {
    input,
    metadata: files.get(metadataNames[0]!)!,
    data: ours.filter((name) => nothing || !isEmpty(name)).map((name): DataFile => ({ name, bytes: files.get(name)! })),
    foreign: named ? all.filter((name) => !isOfPapiex(name)) : [],
    empty: nothing ? [] : ours.filter(isEmpty),
  };
}

const isWanted = (name: string): boolean => isData(name) || /(^|\/)job_metadata(\.tmp)?$/.test(name);

function readFolder(folder: string, mostBytes: number): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  let total = 0;
  for (const name of fs.readdirSync(folder)) {
    if (!isWanted(name)) continue;
    const file = path.join(folder, name);
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new Fault(`${folder} cannot be imported: ${name} is no plain file`);
    total += stat.size;
    if (total > mostBytes) throw tooLarge(folder, mostBytes);
    files.set(name, fs.readFileSync(file));
  }
  return files;
}

/** Unpacks as the bytes come: what is too large is refused when it says so, not when the memory is full. */
async function readArchive(archive: string, mostBytes: number): Promise<Map<string, Buffer>> {
  const tar = new TarReader({ archive, wanted: isWanted, mostBytes });
  let total = 0;
  const take = (bytes: Buffer): void => {
    tar.push(bytes);
    total += bytes.length;
    // headers and padding come on top of what the members claim
    if (total > mostBytes * 2) throw tooLarge(archive, mostBytes);
  };
  const file = fs.openSync(archive, 'r');
  try {
    const { size } = fs.fstatSync(file);
    const first = nextPiece(file, size);
    if (first.length === 0) throw new Fault(`${archive} cannot be imported: it is empty`);
    refusePacked(archive, first);
    const packed = first[0] === 0x1f && first[1] === 0x8b;
    if (packed) await unpack(first, () => nextPiece(file, size), take, unpackedSize(file, size));
    else for (let chunk = first; chunk.length > 0; chunk = nextPiece(file, size)) take(chunk);
    tar.end();
  } catch (error) {
    throw unpackFault(archive, error);
  } finally {
    fs.closeSync(file);
  }
  return tar.files;
}

/** What other programs pack with, and what unpacks it again; the first bytes tell. */
const OTHER_PACKERS = [
  { bytes: '425a68', name: 'bzip2', unpack: 'bunzip2 -k' },
  { bytes: 'fd377a585a00', name: 'xz', unpack: 'unxz -k' },
  { bytes: '28b52ffd', name: 'zstd', unpack: 'unzstd' },
];

function refusePacked(archive: string, first: Buffer): void {
  const packer = OTHER_PACKERS.find(({ bytes }) => first.toString('hex', 0, bytes.length / 2) === bytes);
  if (packer === undefined) return;
  throw new Fault(`${archive} cannot be imported: it is packed with ${packer.name}, not with gzip as EPMT does`, {
    hint: `${packer.unpack} makes a .tar of it, which can be imported`,
  });
}

/** Empty when there is no more. */
function nextPiece(file: number, size: number): Buffer {
  const chunk = Buffer.allocUnsafeSlow(Math.min(PIECE, size + 1));
  return chunk.subarray(0, fs.readSync(file, chunk));
}

/** Bytes that a gzip file says it unpacks to, in its last four. A wrong answer costs time alone. */
function unpackedSize(file: number, size: number): number {
  const last = Buffer.alloc(4);
  fs.readSync(file, last, 0, last.length, Math.max(0, size - last.length));
  return last.readUInt32LE(0);
}

/**
 * A thread of its own unpacks: the archives of most jobs at once, whatever this one does meanwhile. Where all fits into one piece,
 * nothing is copied.
 */
function unpack(first: Buffer, next: () => Buffer, take: (bytes: Buffer) => void, size: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const { least, most } = UNPACKED_PIECE;
    const unpacked = createGunzip({ chunkSize: Math.max(least, Math.min(most, size + 1)) });
    const attempt = (what: () => void): void => {
      try {
        what();
      } catch (error) {
        unpacked.destroy(error as Error);
      }
    };
    const feed = (chunk: Buffer): void => {
      if (chunk.length === 0) unpacked.end();
      else unpacked.write(chunk, (error) => error ?? attempt(() => feed(next())));
    };
    unpacked.on('data', (bytes: Buffer) => attempt(() => take(bytes)));
    unpacked.on('end', resolve);
    unpacked.on('error', reject);
    feed(first);
  });
}

function unpackFault(archive: string, error: unknown): unknown {
  const why = code(error);
  if (why === 'Z_BUF_ERROR') return new Fault(`${archive} cannot be imported: it is cut off`, { cause: error });
  if (why?.startsWith('Z_')) {
    return new Fault(`${archive} cannot be imported: its compression is damaged (${reason(error)})`, { cause: error });
  }
  return error;
}

const tooLarge = (input: string, mostBytes: number): Fault =>
  new Fault(`${input} cannot be imported: it unpacks to more than ${Math.round(mostBytes / 1048576)} MiB`);
