import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, reason } from '../../base/fault.ts';
import { type NodeJob, type NodeJobEnd, parseEndFile, parseJobFile, readJobText } from '../../jobs/on-node/job-file.ts';

export interface HookFilesOptions {
  /** Where job files come in. */
  folder: string;
  /** Hooks and files have the time of the wall clock, which may be so much ahead of this one (src/agent/loop/clock.ts). */
  ahead?(): number;
  /** A file that cannot be used, said once. */
  refused(file: string, why: string): void;
}

/** A file, and which one it was by this name; undefined: there was none. */
export type HookFile = readonly [name: string | undefined, identity: string | undefined];

/** The files by which prologs and epilogs tell of jobs. */
export class HookFiles {
  private readonly options: HookFilesOptions;
  private readonly refused = new Set<string>();
  /** Files of jobs that have ended and are being closed: which they were, by name. */
  private readonly closing = new Map<string, string | undefined>();

  constructor(options: HookFilesOptions) {
    this.options = options;
  }

  ahead(): number {
    return this.options.ahead?.() ?? 0;
  }

  /** The names in the folder; undefined: it cannot be read. */
  list(): string[] | undefined {
    try {
      const names = fs.readdirSync(this.options.folder);
      for (const name of this.refused) if (!names.includes(name) && !name.includes(' ')) this.refused.delete(name);
      return names.filter((name) => !name.startsWith('.'));
    } catch (error) {
      if (code(error) !== 'ENOENT') this.refuse('', reason(error));
      return undefined;
    }
  }

  readBegin(name: string): NodeJob | undefined {
    const job = this.read(name, parseJobFile);
    return job?.begin === undefined ? job : { ...job, begin: job.begin - this.ahead() };
  }

  readEnd(name: string): NodeJobEnd | undefined {
    const end = this.read(name, parseEndFile);
    return end?.end === undefined ? end : { ...end, end: end.end - this.ahead() };
  }

  private read<T>(name: string, parse: (text: string) => T): T | undefined {
    try {
      const text = readJobText(path.join(this.options.folder, name));
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      this.refuse(name, reason(error));
      return undefined;
    }
  }

  /** Whether a file is still the same one; undefined: it has gone. */
  identity(name: string): string | undefined {
    const stat = fs.statSync(path.join(this.options.folder, name), { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? undefined : `${stat.ino} ${stat.mtimeNs}`;
  }

  isClosing(name: string): boolean {
    return this.closing.has(name) && this.closing.get(name) === this.identity(name);
  }

  /** Says why what has this name (with spaces: no file) cannot be used, once. */
  refuse(name: string, why: string): void {
    const { folder, refused } = this.options;
    if (!this.refused.has(name)) refused(name.includes(' ') ? name : path.join(folder, name), why);
    this.refused.add(name);
  }

  /** It can be used after all. */
  accept(name: string): void {
    this.refused.delete(name);
  }

  remove(name: string): void {
    try {
      fs.rmSync(path.join(this.options.folder, name), { force: true });
    } catch (error) {
      this.refuse(name, `cannot be removed: ${reason(error)}`);
    }
  }

  /** Files that have taken the place of these meanwhile stay: they are of another run. */
  removeAfter(work: Promise<void>, ...files: readonly HookFile[]): void {
    for (const [name, identity] of files) if (name !== undefined) this.closing.set(name, identity);
    void work.finally(() => {
      for (const [name, identity] of files) {
        if (name === undefined) continue;
        if (this.identity(name) === identity) this.remove(name);
        if (this.closing.get(name) === identity) this.closing.delete(name);
      }
    });
  }
}
