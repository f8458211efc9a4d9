import { type Call, HANDLE, type Library, POINTER } from '../ffi.ts';
import { Unavailable } from '../source.ts';

/** NVML itself: its statuses and its functions. Names, numbers and struct layouts are those of NVIDIA's nvml.h. */

export const NOT_SUPPORTED = 3;
export const NOT_FOUND = 6;
export const INSUFFICIENT_SIZE = 7;
/** GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND: the card will not answer again in this run. */
export const LOST = new Set([15, 16, 28]);
/** UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND: asking again gives the same answer. */
export const FINAL = new Set([1, 2, 3, 4, 13]);

export interface Nvml {
  count: Call;
  handle: Call;
  driver: Call | undefined;
  library: Library;
  /** One function of the form (device, …numbers, out buffer). */
  device(name: string, ...extra: string[]): Call | undefined;
}

export function bind(library: Library): Nvml {
  const need = (names: string[], args: string[]): Call => {
    for (const name of names) {
      const call = library.call(name, args);
      if (call !== undefined) return call;
    }
    throw new Unavailable('denied', `${library.path} has no ${names[0]}`);
  };
  return {
    library,
    count: need(['nvmlDeviceGetCount_v2', 'nvmlDeviceGetCount'], [POINTER]),
    handle: need(['nvmlDeviceGetHandleByIndex_v2', 'nvmlDeviceGetHandleByIndex'], ['uint32_t', POINTER]),
    driver: library.call('nvmlSystemGetDriverVersion', [POINTER, 'uint32_t']),
    device: (name, ...extra) => library.call(name, [HANDLE, ...extra]),
  };
}

export const MISSING_HINT =
  "the driver's library is missing here; in a container start it with the NVIDIA runtime (--gpus all, --nv)";

export function hintFor(status: number): string | undefined {
  if (status === 4) return 'no permission for /dev/nvidia*: ask for a GPU in the job, or for access to the devices';
  if (status === 9) return 'the NVIDIA driver is not loaded';
  if (status === 18) return 'library and kernel driver differ: the node needs a restart after a driver update';
  return undefined;
}

export function hintNote(status: number): { hint?: string } {
  const hint = hintFor(status);
  return hint === undefined ? {} : { hint };
}
