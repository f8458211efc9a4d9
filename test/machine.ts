import * as os from 'node:os';

/** In general words: nobody needs to know which machine it was. */
export function machineInWords(): string {
  const memory = Math.round(os.totalmem() / 2 ** 30);
  return `${os.cpus().length} CPUs, ${memory} GiB of memory, Linux ${os.release().split('.').slice(0, 2).join('.')}`;
}

/** The least and the greatest of some loads. */
export function loadRange(loads: readonly number[]): string {
  return loads.length === 0 ? 'unknown' : `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`;
}
