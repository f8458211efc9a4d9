import type { Table } from '../../table/table.ts';
import type { Host } from '../host.ts';
import { type IsolatedKind, type Source, Unavailable } from '../source.ts';
import { present } from './present.ts';

type Reader = typeof import('./reader.ts');
let reader: Reader | undefined;

/** A source of the GPUs, whose libraries are loaded where there is one. */
export const gpuKind = (table: Table, open: (reader: Reader, host: Host) => Source): IsolatedKind => ({
  table,
  isolated: true,
  present,
  async load() {
    reader = await import('./reader.ts');
  },
  open(host): Source {
    if (!present(host)) throw new Unavailable('absent', 'there is no GPU that can be seen');
    return open(reader!, host);
  },
});
