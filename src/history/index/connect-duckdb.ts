import * as os from 'node:os';
import * as path from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';

/** What one question may take. */
const MEMORY = '900MB';

/** DuckDB takes a tenth of a second to load: only who asks it does. */
export async function connectDuckDb(): Promise<DuckDBConnection> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY,
    threads: String(os.availableParallelism()),
    temp_directory: path.join(os.tmpdir(), `tacho-duckdb-${process.pid}`),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    preserve_insertion_order: 'false',
  });
  return instance.connect();
}
