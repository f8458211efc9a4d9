import { number } from '../digits.ts';
import type { Host, KeptFile } from '../host.ts';

/** A file of sysfs that holds one whole number, perhaps with a unit or a time behind it (`812 W 1699999999 us`, `17@1699.5`). */
export interface NumberFile {
  /** NaN when it cannot be read now or holds no number (`N/A (no PMA)`). */
  read(): number;
  close(): void;
}

/** Opens such a file; undefined when it is not there or may not be read. */
export function numberFile(host: Host, path: string): NumberFile | undefined {
  let file: KeptFile;
  try {
    file = host.keep(path, true);
  } catch {
    return undefined;
  }
  return {
    read() {
      let end: number;
      try {
        end = file.read();
      } catch {
        // drivers answer with all kinds of errors while a device sleeps or resets
        return Number.NaN;
      }
      return end <= 0 ? Number.NaN : number(file.bytes, 0, end);
    },
    close: () => file.close(),
  };
}
