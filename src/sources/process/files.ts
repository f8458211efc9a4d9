import { code } from '../../base/fault.ts';
import type { Host, KeptFile } from '../host.ts';
import { processTable } from './table.ts';

/** What a read returns instead of a length. */
export const GONE = -1;
export const DENIED = -2;

/** One file of one process. */
export interface ProcessFile {
  /** Reads it into the host's bytes; the length, GONE or DENIED. */
  read(): number;
  /** −1: it is not open between reads. */
  readonly fd: number;
  close(): void;
}

export interface ProcessFiles {
  open(pid: number, name: string): ProcessFile;
}

/** Descriptors that are left for everything else that the agent opens. */
const RESERVE = 256;

/**
 * Files of processes, kept open between ticks, which makes reading several times cheaper. When there are more processes
 * than descriptors, the files of the later ones are opened for each read.
 */
export function processFiles(host: Host): ProcessFiles {
  const limit = /Max open files\s+(\d+)/.exec(host.text('/proc/self/limits') ?? '')?.[1];
  let spare = Math.max(0, Number(limit ?? 1024) - RESERVE);

  return {
    open(pid, name): ProcessFile {
      const path = `/proc/${pid}/${name}`;
      let kept: KeptFile | undefined;
      let mayKeep = spare > 0;
      if (mayKeep) spare--;

      function close(): void {
        kept?.close();
        kept = undefined;
        if (mayKeep) spare++;
        mayKeep = false;
      }

      return {
        read(): number {
          let file = kept;
          try {
            file ??= host.keep(path, true);
            const end = file.read();
            if (mayKeep) kept = file;
            return end;
          } catch (error) {
            return failure(host, error);
          } finally {
            if (!mayKeep) file?.close();
          }
        },
        get fd() {
          return kept?.fd ?? -1;
        },
        close,
      };
    },
  };
}

function failure(host: Host, error: unknown): number {
  const what = code(error);
  if (what === 'ENOENT' || what === 'ESRCH') return GONE;
  if (what === 'EMFILE' || what === 'ENFILE') {
    host.note({
      table: processTable.name,
      what: 'some processes',
      why: 'too many open files',
      hint: 'raise the limit of open files (ulimit -n)',
    });
  }
  return DENIED;
}
