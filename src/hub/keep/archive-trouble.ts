import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, reason } from '../../base/fault.ts';
import { type Trouble, trouble } from '../../base/trouble.ts';
import { type ArchivePath, archiveFolderKey } from '../receive/archive-folder.ts';
import type { Owners } from '../receive/owner.ts';

/** Something could not be stored: in the whole archive, or in one recording alone (a quota, rights, a folder in place of a file). */
export class Unwritable extends Error {
  readonly whole: boolean;
  constructor(message: string, whole: boolean) {
    super(message);
    this.whole = whole;
  }
}

/** Of these it must be found out whether they are everybody's. */
const MAYBE_EVERYBODYS = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);
/** The hub's own descriptors: nothing can be opened, whoever it belongs to. */
const EVERYBODYS = new Set(['EMFILE', 'ENFILE']);
/** Agents try again after half a minute at most. */
const CALM_MS = 35_000;
const LOOK_EVERY_MS = 1_000;
/** A file system with less is full. */
const FEWEST_BLOCKS = 16;
/** More recordings that cannot be written are not told apart from new ones. */
const MOST_KNOWN = 1_000;
/** The hub's lock: the one file that is always there, and its own. */
const OWN_FILE = '.hub';

/** Finds out whose trouble it is that something cannot be written, and tells administrators when it begins and ends. */
export class ArchiveTrouble {
  private readonly root: string;
  private readonly owners: Owners;
  private readonly log: (text: string) => void;
  private readonly whole: Trouble;
  private readonly recordings = new Map<string, Trouble>();
  private looked = { at: Number.NEGATIVE_INFINITY, error: undefined as unknown };

  constructor(root: string, owners: Owners, log: (text: string) => void) {
    this.root = root;
    this.owners = owners;
    this.log = log;
    this.whole = trouble(log, undefined, CALM_MS);
  }

  /** What could not be done at this place, as its agent hears it. */
  failed(archivePath: ArchivePath, error: unknown): Unwritable {
    const everybodys = this.everybodys(error);
    const kept = 'agents keep their samples until it can be written';
    if (everybodys !== undefined) {
      this.whole.wrong(`cannot write to ${this.root}: ${reason(everybodys)}; ${kept}`);
      return new Unwritable(`the hub cannot write to its archive: ${reason(everybodys)}`, true);
    }
    const key = recordingKey(archivePath);
    this.troubleOf(key).wrong(`cannot write ${key}: ${reason(error)}; its ${kept}, and all others go on`);
    return new Unwritable(`cannot write ${key}: ${reason(error)}`, false);
  }

  /** Something was written there. */
  wrote(archivePath: ArchivePath): void {
    if (this.recordings.size === 0) return;
    const key = recordingKey(archivePath);
    const recordingTrouble = this.recordings.get(key);
    recordingTrouble?.right(`${key} can be written again`);
  }

  /** A whole request was stored. */
  right(): void {
    this.whole.right(`${this.root} can be written again`);
  }

  private troubleOf(key: string): Trouble {
    const before = this.recordings.get(key);
    if (before !== undefined) return before;
    if (this.recordings.size >= MOST_KNOWN) this.recordings.delete(this.recordings.keys().next().value!);
    const fresh = trouble(this.log, undefined, 0);
    const right = (message: string): void => {
      this.recordings.delete(key);
      fresh.right(message);
    };
    const troubleReport = { wrong: fresh.wrong, right };
    this.recordings.set(key, troubleReport);
    return troubleReport;
  }

  private everybodys(error: unknown): unknown {
    const name = code(error) ?? '';
    if (EVERYBODYS.has(name)) return error;
    return MAYBE_EVERYBODYS.has(name) ? this.look() : undefined;
  }

  /** Why the archive itself cannot be written; undefined: it can. */
  private look(): unknown {
    const now = performance.now();
    if (now - this.looked.at > LOOK_EVERY_MS) {
      this.looked = { at: now, error: this.owners.as(undefined, () => whyNotWritable(this.root)) };
    }
    return this.looked.error;
  }
}

/** `user=ada/job=7`, of whatever lies in it. */
const recordingKey = ({ way, owner }: ArchivePath): string => archiveFolderKey({ way: way.slice(0, 2), owner });

/** Root may write where others cannot (reserved blocks), so the file system is asked first. */
function whyNotWritable(root: string): unknown {
  try {
    const { bavail, files, ffree } = fs.statfsSync(root);
    if (bavail < FEWEST_BLOCKS || (files > 0 && ffree === 0)) return full();
    const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants;
    const fd = fs.openSync(path.join(root, OWN_FILE), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      fs.writeSync(fd, 'hub\n', 0);
      fs.fsyncSync(fd);
      fs.ftruncateSync(fd, 0);
    } finally {
      fs.closeSync(fd);
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

const full = (): Error => Object.assign(new Error('no space left on the device'), { code: 'ENOSPC' });
