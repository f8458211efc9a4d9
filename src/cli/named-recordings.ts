import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, usage } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { printable } from '../base/printable.ts';
import { warn } from '../base/warn.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { isOfJob } from '../jobs/on-node/of-job.ts';
import { findArchivedJobs, findJobs, type IsWanted, type JobRecording } from '../recording/folder/find-job.ts';
import { foldersBelow } from '../recording/folder/open.ts';

/**
 * What is named on the command line is a recording, a folder that holds some, or a job, by its id or its name. Every verb
 * asks here which recordings are meant.
 */

/** What is named on the command line of verbs about recordings. */
export const JOBS_ARGUMENT = 'recordings, folders of recordings, job ids or names (default: the current folder)';

export interface PlaceOptions {
  /** The configuration to use instead of tacho.toml and the like. */
  config?: string;
  /** Files are read, too, such as archives: without it a file is none, as jobs are often called like the script beside them. */
  takesFiles?: boolean;
}

export interface Named {
  /** Recordings, and folders that hold some. */
  paths: string[];
  /** Why a name means nothing. */
  refused: Fault[];
}

/** The recordings and folders that are meant; of no name, the usual ones. */
export async function resolveNames(names: readonly string[], options: PlaceOptions = {}): Promise<Named> {
  if (names.length === 0) return { paths: await usualPlaces(options), refused: [] };
  const named: Named = { paths: [], refused: [] };
  for (const name of names) {
    const recordingNames = isPath(name, options) ? [name] : await recordingsOf(name, options);
    if (recordingNames === undefined) named.refused.push(await unknownName(name, options));
    else named.paths.push(...recordingNames);
  }
  return named;
}

/** The same where every name has to mean something. */
export async function pathsNamed(names: readonly string[], options: PlaceOptions = {}): Promise<string[]> {
  const { paths, refused } = await resolveNames(names, options);
  if (refused.length > 0) throw refused[0];
  return paths;
}

/** The same for one recording. */
export async function pathNamed(name: string, options: PlaceOptions = {}): Promise<string> {
  const paths = await pathsNamed([name], options);
  if (paths.length === 1) return paths[0]!;
  throw usage(`job ${name} has ${paths.length} recordings`, `name one of them: ${paths.join(', ')}`);
}

/** Whether a name on the command line is a path, whatever lies there. */
export const isPath = (name: string, { takesFiles = false }: PlaceOptions = {}): boolean =>
  name === '' || name.includes('/') || (takesFiles ? fs.existsSync(name) : isFolder(name));

const foundBefore = new Map<string, string[] | undefined>();

/** The recordings of a job, by its id or else its name; undefined: it is not in any folder that is looked at. */
export async function recordingsOf(id: string, options: PlaceOptions = {}): Promise<string[] | undefined> {
  const key = `${options.config ?? ''} ${id}`;
  if (!foundBefore.has(key)) foundBefore.set(key, await lookFor(id, options));
  return foundBefore.get(key);
}

async function lookFor(id: string, options: PlaceOptions): Promise<string[] | undefined> {
  const hasId = wantedBy(id);
  const isWanted: IsWanted = (job, folder) => job.name === id || hasId(job, folder);
  const namesakes = new Map<string, JobRecording>();
  const { recordings, 'hub.archive': archive } = await settings(options);
  // folders below this one come last: there may be very many, of a home
  const looks = [
    () => findJobs('.', isWanted, 1),
    () => (isFolder(recordings) ? findJobs(recordings, isWanted) : []),
    () => (isFolder(archive) ? findArchivedJobs(archive, archivedId(id), isWanted) : []),
    () => findJobs('.', isWanted),
  ];
  for (const look of looks) {
    const [withId, withName] = partition(look(), ({ job, path: folder }) => hasId(job, folder));
    if (withId.length > 0) return oneOfEach(id, withId);
    for (const each of withName) namesakes.set(fs.realpathSync(each.path), each);
  }
  if (namesakes.size > 1) throw ambiguousName(id, [...namesakes.values()]);
  return namesakes.size === 0 ? undefined : [...namesakes.values()].map((each) => each.path);
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

/** Where recordings are when nobody says it. */
async function usualPlaces(options: PlaceOptions): Promise<string[]> {
  const { recordings } = await settings(options);
  if (!isFolder(recordings)) return ['.'];
  const here = fs.realpathSync('.');
  const there = fs.realpathSync(recordings);
  if (here === there || here.startsWith(`${there}${path.sep}`)) return ['.'];
  const [first] = foldersBelow('.', 1);
  if (first?.folder === '.') return ['.'];
  return first === undefined ? [recordings] : ['.', recordings];
}

/** This folder, and that in which recordings are made. */
export async function placesOfRecordings(): Promise<string[]> {
  const { recordings } = await settings({});
  return isFolder(recordings) ? ['.', recordings] : ['.'];
}

const isFolder = (folder: string | undefined): folder is string =>
  folder !== undefined && fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;

/** Ids as other verbs print them (4711r1 is a restart), those of a cluster (c1:4711), and names of recordings. */
function wantedBy(name: string): (job: JobRecording['job'], folder: string) => boolean {
  return (job, folder) => {
    const base = path.basename(folder);
    if (isOfJob(job.id, name) || base === name || base === `tacho-${name}`) return true;
    if (job.restart && name === `${job.id}r${job.restart}`) return true;
    return job.cluster !== undefined && name === `${job.cluster}:${job.id}`;
  };
}

const archivedId = (name: string): string => name.replace(/^[^:]*:/, '').replace(/r\d+$/, '');

/** Tasks of an array and restarts are all meant; two recordings of one run are not, unless one is the user's own beside that of the site. */
function oneOfEach(id: string, sameNamed: readonly JobRecording[]): string[] {
  const chosen: string[] = [];
  for (const same of Map.groupBy(sameNamed, ({ job }) => `${job.id} ${job.restart ?? 0}`).values()) {
    const ofSite = same.filter(({ job }) => job.recorded_by === undefined);
    const left = ofSite.length > 0 ? ofSite : same;
    if (left.length > 1) throw ambiguous(id, left);
    chosen.push(left[0]!.path);
  }
  return chosen;
}

const MOST_CANDIDATES = 20;

const startOf = ({ start, cluster }: JobRecording['job']): string =>
  `started ${Number.isFinite(start) ? formatMoment(start) : 'at an unknown time'}${cluster === undefined ? '' : `, cluster ${cluster}`}`;

function ambiguous(id: string, sameNamed: readonly JobRecording[]): Fault {
  const each = sameNamed.slice(0, MOST_CANDIDATES).map(({ path: folder, job }) => `${folder}  ${startOf(job)}`);
  return usage(`job ${id} has ${sameNamed.length} recordings`, `name one of them by its folder:\n${each.join('\n')}`);
}

function ambiguousName(name: string, sameNamed: readonly JobRecording[]): Fault {
  const newest = sameNamed.toSorted((a, b) => b.job.start - a.job.start).slice(0, MOST_CANDIDATES);
  const more = sameNamed.length - newest.length;
  // copies of a recording have one id
  const isId = new Set(sameNamed.map(({ job }) => job.id)).size === sameNamed.length;
  const each = [
    ...newest.map(({ job, path: folder }) => `${printable(isId ? job.id : folder)}  ${startOf(job)}`),
    ...(more > 0 ? [`and ${more} older ones`] : []),
  ];
  return usage(
    `${sameNamed.length} jobs are called ${name}`,
    `name one of them by its ${isId ? 'id' : 'folder'}:\n${each.join('\n')}`,
  );
}

/** Nothing is called so. */
export async function unknownName(name: string, options: PlaceOptions): Promise<Fault> {
  const { recordings, 'hub.archive': archive, db } = await settings(options);
  const looked = [
    'this folder and four levels below',
    ...(recordings === undefined ? [] : [recordings]),
    ...(archive === undefined ? [] : [`${archive} (by id)`]),
  ];
  const more =
    recordings !== undefined && archive !== undefined
      ? ''
      : `; the settings recordings and hub.archive name other places`;
  const stored =
    db === undefined ? '' : '; jobs of the database have no samples, and are not named together with recordings';
  const missing = fs.existsSync(name) ? 'not a folder' : 'no such file or folder';
  return new Fault(`cannot open ${name}: ${missing}, and no job with this id or name`, {
    hint: `looked in ${looked.join(', ')}${more}${stored}; tacho list shows the recordings in the current folder`,
  });
}

const loaded = new Map<string | undefined, Promise<Config>>();

/** What is wrong in a configuration keeps nobody from looking at recordings. */
function settings({ config }: PlaceOptions): Promise<Config> {
  let made = loaded.get(config);
  if (made === undefined) {
    made = loadConfig({}, config, undefined, (wrong) => warn(`${wrong.message}: it is not used`));
    loaded.set(config, made);
  }
  return made;
}
