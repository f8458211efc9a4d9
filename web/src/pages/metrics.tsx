import { useEffect } from 'preact/hooks';
import type { MetricTable } from '../../../src/serve/api.ts';
import { latest, useAnswer } from '../ask.ts';
import { SearchField } from '../parts/query-fields.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { count } from '../value-text.ts';

/** What every column means, its unit and where it comes from. */
export function MetricsPage({ query }: { query: URLSearchParams }) {
  const asked = useAnswer<MetricTable[]>('/api/metrics');
  const tables = latest(asked);
  useEffect(() => {
    document.title = 'Metrics · Tacho';
  }, []);
  if (tables === undefined)
    return asked.state === 'failed' ? <p class="trouble">{asked.why}</p> : <div class="empty" aria-busy="true" />;
  const searchWords = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const shown = tables
    .map((table) => ({
      ...table,
      columns: table.columns.filter(({ name, help, unit, prometheus }) =>
        searchWords.every((word) =>
          `${table.table}.${name} ${help} ${unit} ${prometheus}`.toLowerCase().includes(word),
        ),
      ),
    }))
    .filter(({ columns }) => columns.length > 0);
  const columnCount = shown.reduce((sum, { columns }) => sum + columns.length, 0);
  return (
    <article class="metrics">
      <header class="page">
        <h1>
          Metrics <small>{count(columnCount, 'column')}</small>
        </h1>
        <SearchField query={query} label="Search metrics" hint="Search" />
      </header>
      {shown.map(({ table, help, scope, keys, columns }) => (
        <section key={table} class="card" aria-label={table}>
          <h2>
            {table} <small>{scope === 'job' ? "the job's part of the node" : 'the whole node'}</small>
          </h2>
          <p>
            {withCode(help)}
            {keys.map(({ name, help: meaning }) => (
              <span key={name}>
                {' '}
                <code>{name}</code>: {withCode(meaning)}
              </span>
            ))}
          </p>
          <ScrollTable label={`Columns of ${table}`}>
            <thead>
              <tr>
                {['Column', 'Meaning', 'Unit', 'Kind', 'Prometheus'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {columns.map(({ name, unit, kind, prometheus, help: meaning }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td class="words">{withCode(meaning)}</td>
                  <td>{unit}</td>
                  <td>{kind}</td>
                  <td>
                    <code>{prometheus}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </ScrollTable>
        </section>
      ))}
    </article>
  );
}

/** Definitions put names between backticks. */
const withCode = (text: string) =>
  text.split('`').map((fragment, i) => (i % 2 === 0 ? fragment : <code>{fragment}</code>));
