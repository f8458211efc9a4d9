import { useState } from 'preact/hooks';
import type { ChartBand } from '../../../src/charts/option.ts';
import { type ChartData, type ChartFacts, latest, useAnswer } from '../ask.ts';
import { withUnit } from '../words.ts';
import { Chart, type Cursor, type Range } from './chart.tsx';

interface Props {
  job: string;
  facts: ChartFacts;
  start: number;
  range?: Range | undefined;
  bands: readonly ChartBand[];
  marked?: Range | undefined;
  again: number;
  cursor: Cursor;
  onRange(range: Range): void;
}

const WAYS = [
  ['', 'lines'],
  ['heat', 'heat map'],
] as const;

/** A chart of a job with its title, the way it is drawn, and the data behind it. */
export function Panel({ job, facts, start, range, bands, marked, again, cursor, onRange }: Props) {
  const [way, setWay] = useState<'' | 'heat'>('');
  const query = new URLSearchParams({ points: '400' });
  if (way !== '') query.set('as', way);
  if (range !== undefined) {
    query.set('from', String(Math.round(range.from)));
    query.set('to', String(Math.round(range.to)));
  }
  const path = `/api/jobs/${job}/charts/${facts.id}?${query}`;
  const asked = useAnswer<ChartData>(path, again);
  const data = latest(asked);
  const many = (data?.count ?? 0) > 1;
  const height = data?.as === 'heat' ? Math.min(640, Math.max(150, data.count * (data.count > 24 ? 7 : 16) + 40)) : 150;
  return (
    <section class={data?.as === 'heat' ? 'panel wide' : 'panel'} aria-label={facts.title}>
      <header>
        <h3>
          {facts.title} <small>{data === undefined ? '' : summary(data, facts)}</small>
        </h3>
        {many && (
          <div class="choice" role="group" aria-label={`How ${facts.title} is drawn`}>
            {WAYS.map(([value, name]) => (
              <button key={value} type="button" aria-pressed={way === value} onClick={() => setWay(value)}>
                {name}
              </button>
            ))}
          </div>
        )}
        <a
          class="download"
          href={`${path}&download=csv`}
          download
          title={`${facts.title} as CSV`}
          aria-label={`${facts.title} as CSV`}
        >
          CSV
        </a>
      </header>
      {asked.state === 'failed' ? (
        <p class="missing">{asked.why}</p>
      ) : data === undefined ? (
        <div class="chart waiting" style={{ height: `${height}px` }} aria-busy="true" />
      ) : (
        <Chart {...{ data, start, bands, marked, height, cursor, onRange }} />
      )}
    </section>
  );
}

function summary({ band, unit, count, scope, as }: ChartData, { adds, key }: ChartFacts): string {
  const known = (band?.max ?? []).filter((value) => value !== null);
  if (known.length === 0) return '';
  const most = Math.max(...known);
  const what = key === undefined ? (count === 1 ? '' : `${count} nodes, `) : `${count} series, `;
  const whose = scope === 'node' ? ' (all on the node)' : '';
  const sums = (band?.sum ?? []).filter((value) => value !== null);
  const mean = sums.length === 0 ? 0 : sums.reduce((a, b) => a + b, 0) / sums.length / (adds === true ? 1 : count);
  return `${as === 'band' ? '' : ''}${what}mean ${withUnit(mean, unit)}, peak ${withUnit(most, unit)}${whose}`;
}
