import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { ChartData } from '../ask.ts';
import { Chart, Cursor } from './chart.tsx';
import { HeatLegend } from './panel.tsx';
import { SaveData } from './save-menu.tsx';

interface Props {
  label: string;
  /** What the heading says. */
  children: ComponentChildren;
  data: ChartData;
  /** When the time on the axis begins, epoch microseconds. */
  start: number;
  height: number;
  /** What it is called when it is saved. */
  file(kind: string): string;
}

/** A card with one heat map over days: rows that go with no other chart. */
export function HeatCard({ label, children, data, start, height, file }: Props) {
  const cursor = useMemo(() => new Cursor(), []);
  const picture = useRef<() => string>(undefined);
  return (
    <section class="card" aria-label={label}>
      <h2>
        {children}
        <SaveData {...{ data, picture, height, file }} look={{ start, across: 'date' }} />
      </h2>
      {data.series.some(({ mean }) => mean.some((value) => value !== null)) ? (
        <>
          <Chart {...{ data, start, height, picture, cursor }} across="date" onRange={() => {}} />
          <HeatLegend data={data} />
        </>
      ) : (
        <p class="missing">Nothing was measured in this time.</p>
      )}
    </section>
  );
}
