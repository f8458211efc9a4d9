import { createRequire } from 'node:module';
import { forRoot } from '../base/for-root.ts';
import { Unavailable } from './source.ts';

/** A C function that returns a status: 0 is success in every library that Tacho reads. */
export type Call = (...args: (number | bigint | string | Uint8Array | null)[]) => number;

export interface Library {
  readonly path: string;
  /** A function that returns an int, or undefined when this version of the library has none of that name. */
  call(name: string, args: readonly string[]): Call | undefined;
  /** The library's own text for a status: returned by the function, or left where its second argument points to. */
  statusText(name: string, by: 'result' | 'argument'): (status: number) => string;
}

type Koffi = typeof import('koffi');

/** Out parameters are passed as buffers, handles as 64-bit numbers: no struct is declared, every offset is in the source's file. */
export const POINTER = 'void *';
export const HANDLE = 'uint64_t';

let koffi: Koffi | undefined;

/** koffi is big: it is loaded only where there is something to call. */
export function loadKoffi(): Koffi {
  koffi ??= createRequire(import.meta.url)('koffi') as Koffi;
  return koffi;
}

/** Opens the first library of the list that there is, or the one `named` by a variable. */
export function loadLibrary(paths: readonly string[], named?: string, hint?: string): Library {
  let failure: unknown;
  for (const path of named === undefined ? paths : [named]) {
    try {
      const k = loadKoffi();
      const lib = k.load(named?.includes('/') ? forRoot(named) : path);
      return {
        path,
        call(name, args) {
          try {
            return lib.func(name, 'int', [...args]) as unknown as Call;
          } catch {
            return undefined;
          }
        },
        statusText(name, by) {
          try {
            if (by === 'result') return lib.func(name, 'str', ['int']) as unknown as (status: number) => string;
            const f = lib.func(name, 'int', ['int', k.out(k.pointer('str'))]);
            const box: (string | null)[] = [null];
            return (status) => (f(status, box) === 0 && box[0]) || `status ${status}`;
          } catch {
            return (status) => `status ${status}`;
          }
        },
      };
    } catch (error) {
      failure ??= error;
    }
  }
  throw new Unavailable('denied', `${named ?? paths[0]} cannot be loaded: ${(failure as Error).message}`, hint);
}

/** The text in a buffer up to its first zero byte. */
export function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}
