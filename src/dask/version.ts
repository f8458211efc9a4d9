import { Fault } from '../base/fault.ts';
import type { Comm } from './comm.ts';
import type { Packed } from './msgpack.ts';

/** Older ones name what is asked and run there differently. */
const OLDEST = [2022, 12] as const;

/** The version of Dask at the other end; one that is too old is refused. Empty: it does not say. */
export async function versionOf(comm: Comm, address: string): Promise<string> {
  const fields = (value: Packed | undefined): { [name: string]: Packed } =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array) ? value : {};
  const { distributed } = fields(fields(await comm.ask('versions')).packages);
  const version = typeof distributed === 'string' ? distributed : '';
  const [year = 0, month = 0] = version.split('.').map(Number);
  const [oldestYear, oldestMonth] = OLDEST;
  if (version !== '' && (year < oldestYear || (year === oldestYear && month < oldestMonth)))
    throw new Fault(`${address} runs Dask ${version}: it is too old`, {
      hint: `Tacho records Dask ${OLDEST.join('.')} and newer`,
    });
  return version;
}
