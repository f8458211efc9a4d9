import { z } from 'zod';
import * as tables from '../../sources/tables.ts';
import { prometheusName } from '../../table/names.ts';
import type { Table } from '../../table/table.ts';
import { metricTable } from '../api.ts';
import type { Server } from '../server.ts';

/** What every column means, its unit and where it comes from: the definitions themselves. */
export function metricRoutes({ app }: Server): void {
  app.get(
    '/api/metrics',
    { schema: { response: { 200: z.array(metricTable) }, summary: 'Every table and column that can be recorded' } },
    () =>
      Object.values(tables as Readonly<Record<string, Table>>).map((table) => ({
        table: table.name,
        help: table.help,
        scope: table.scope,
        keys: table.keys.map(({ name, help }) => ({ name, help })),
        columns: table.columns.map((column) => ({
          name: column.name,
          unit: column.unit === 'none' ? 'text' : column.unit,
          kind: column.kind,
          help: column.help,
          prometheus: prometheusName(table, column),
        })),
      })),
  );
}
