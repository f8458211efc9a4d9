import { code } from '../../base/fault.ts';
import { NotPlain, readPlain } from '../../base/plain-file.ts';
import { unpackWhole } from '../sealed/unpack.ts';

/**
 * How large records may be, in bytes of JSON: whoever owns a recording may have put anything there, and `{}` takes twenty
 * times its bytes in memory. A job of a hundred thousand nodes and ten steps has 20 kB, the agent of a node 60 kB.
 */
export const MOST_BYTES = { job: 1 << 20, agent: 1 << 20, tables: 1 << 20, received: 512 << 10, statistics: 16 << 20 };

let read = 0;

/** How many bytes of JSON this process has read: what that costs can be limited. */
export const bytesRead = (): number => read;

export function countJson(bytes: number): void {
  read += bytes;
}

/**
 * What a JSON file holds, which is compressed if its name says so. Throws a SyntaxError when it is damaged, NotPlain when
 * it is no ordinary file or too large, and what the system says otherwise. `as`: its name, where it has a temporary one.
 */
export function readJson(file: string, most: number, as = file): unknown {
  return JSON.parse(readJsonText(file, most, as));
}

/** The same as it stands there. */
export function readJsonText(file: string, most: number, as = file): string {
  const bytes = readPlain(file, most);
  const text = as.endsWith('.zst') ? unpacked(bytes, most) : bytes;
  countJson(text.length);
  return text.toString();
}

function unpacked(bytes: Buffer, most: number): Buffer {
  try {
    return unpackWhole(bytes, most);
  } catch (error) {
    if (code(error) === 'ERR_BUFFER_TOO_LARGE') {
      throw new NotPlain(`it unpacks to more than ${most} bytes, which are not read`, { cause: error });
    }
    throw new SyntaxError('it cannot be decompressed', { cause: error });
  }
}
