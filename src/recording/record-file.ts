import { zstdDecompressSync } from 'node:zlib';
import { code } from '../base/fault.ts';
import { NotPlain, readPlain } from '../base/plain-file.ts';
import { contentSize } from './unpack.ts';

/**
 * How large records may be, in bytes of JSON: whoever owns a recording may have put anything there, and `{}` takes twenty
 * times its bytes in memory. The largest jobs name ten thousand nodes twice.
 */
export const MOST_BYTES = { job: 4 << 20, agent: 2 << 20, tables: 2 << 20, received: 2 << 20, statistics: 16 << 20 };

/**
 * What a JSON file holds, which is compressed if its name says so. Throws a SyntaxError when it is damaged, NotPlain when
 * it is no ordinary file or too large, and what the system says otherwise. `as`: its name, where it has a temporary one.
 */
export function readJson(file: string, most: number, as = file): unknown {
  const bytes = readPlain(file, most);
  const text = as.endsWith('.zst') ? unpacked(bytes, most) : bytes;
  return JSON.parse(text.toString());
}

function unpacked(bytes: Buffer, most: number): Buffer {
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: most, chunkSize: Math.min(most, contentSize(bytes)) });
  } catch (error) {
    if (code(error) === 'ERR_BUFFER_TOO_LARGE') {
      throw new NotPlain(`it unpacks to more than ${most} bytes, which are not read`, { cause: error });
    }
    throw new SyntaxError('it cannot be decompressed', { cause: error });
  }
}
