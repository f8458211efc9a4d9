import { type ChartBand, COLOURS } from '../../../src/charts/option.ts';
import type { Range } from '../charts/chart.tsx';
import { duration } from '../words.ts';

interface Props {
  bands: readonly ChartBand[];
  start: number;
  end: number;
  range: Range | undefined;
  onRange(range: Range): void;
}

/** The phases of a job in a row; a click shows one of them. */
export function Phases({ bands, start, end, range, onRange }: Props) {
  const [from, to] = range === undefined ? [start, end] : [range.from, range.to];
  const at = (time: number): number => (Math.min(Math.max(time, from), to) - from) / (to - from);
  const names = [...new Set(bands.map(({ name }) => name))];
  return (
    <div class="phases" role="group" aria-label="Phases">
      {bands.map((band) => {
        const [left, right] = [at(band.from), at(band.to)];
        if (right <= left) return null;
        return (
          <button
            key={`${band.name} ${band.from}`}
            type="button"
            style={{
              left: `${left * 100}%`,
              width: `${(right - left) * 100}%`,
              '--colour': COLOURS[names.indexOf(band.name) % COLOURS.length],
            }}
            title={`${band.name}: ${duration((band.to - band.from) / 1e6)}`}
            onClick={() => onRange(band)}
          >
            {band.name}
          </button>
        );
      })}
    </div>
  );
}
