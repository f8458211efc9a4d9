import * as fs from 'node:fs';
import { code } from '../base/fault.ts';
import { sampling } from '../base/sampling.ts';

const GONE = new Set(['ESRCH', 'ENODEV', 'EIO', 'ENOENT', 'ENXIO', 'ESTALE']);

/** Something that could not be measured, said once. */
export interface Note {
  readonly table: string;
  /** What is missing: a table, a column, a device. */
  readonly what: string;
  readonly why: string;
  readonly hint?: string;
}

/** A small file that is read again and again through one descriptor, always into the same buffer. */
export interface KeptFile {
  readonly path: string;
  readonly fd: number;
  /** Reads the file from its beginning into `bytes`; returns the length, or −1 when it can no longer be read. */
  read(): number;
  /** The bytes of the last read of any kept file of this host: use them before the next read. */
  readonly bytes: Buffer;
  close(): void;
}

/**
 * The machine as sources see it. `root` is '' on a live machine and a folder under test/fixtures in tests:
 * every path that a source opens goes through here.
 */
export class Host {
  readonly root: string;
  readonly notes: Note[] = [];
  private readonly native = sampling();
  /** One buffer for all kept files; it grows when a file does not fit. */
  bytes: Buffer = Buffer.allocUnsafeSlow(1 << 16);

  constructor(root = '') {
    this.root = root;
  }

  /** Says once that something could not be measured. */
  note(note: Note): void {
    if (!this.notes.some((n) => n.table === note.table && n.what === note.what && n.why === note.why))
      this.notes.push(note);
  }

  path(path: string): string {
    return this.root + path;
  }

  exists(path: string): boolean {
    return fs.existsSync(this.root + path);
  }

  /** Names in a folder, sorted; empty when it is not there. */
  list(path: string): string[] {
    try {
      return fs.readdirSync(this.root + path).sort();
    } catch {
      return [];
    }
  }

  /** A whole small file as text without its last newline; undefined when it cannot be read. */
  text(path: string): string | undefined {
    try {
      return fs.readFileSync(this.root + path, 'latin1').trimEnd();
    } catch {
      return undefined;
    }
  }

  /** Where a symbolic link leads; undefined when it is none. */
  link(path: string): string | undefined {
    try {
      return fs.readlinkSync(this.root + path);
    } catch {
      return undefined;
    }
  }

  /**
   * Opens a file to be read at every tick. Throws the system's error when it cannot be opened.
   * Long lists (vmstat, interrupts, diskstats…) come a page at a time and are read until the end; `single` saves that last
   * call for files that the kernel gives in one piece (/proc/PID/*, meminfo, loadavg, sysfs).
   */
  keep(path: string, single = false): KeptFile {
    const fd = fs.openSync(this.root + path, 'r');
    const host = this;
    const { native } = this;
    const isSingle = single ? 1 : 0;
    let open = true;
    return {
      path,
      fd,
      get bytes() {
        return host.bytes;
      },
      read(): number {
        const length = native?.readFile(fd, host.bytes, isSingle) ?? -1;
        if (length >= 0 && length < host.bytes.length) return length;
        // a larger file, an error, or no native code
        let n = 0;
        try {
          for (;;) {
            const got = fs.readSync(fd, host.bytes, n, host.bytes.length - n, n);
            n += got;
            if (n === host.bytes.length) {
              const grown = Buffer.allocUnsafeSlow(n * 2);
              host.bytes.copy(grown, 0, 0, n);
              host.bytes = grown;
            } else if (single || got === 0) return n;
          }
        } catch (error) {
          // its process, device or mount has gone
          if (GONE.has(code(error) ?? '')) return -1;
          throw error;
        }
      },
      close(): void {
        if (open) fs.closeSync(fd);
        open = false;
      },
    };
  }

  /** Like `keep`, but undefined when the file cannot be opened. */
  tryKeep(path: string, single = false): KeptFile | undefined {
    try {
      return this.keep(path, single);
    } catch {
      return undefined;
    }
  }
}
