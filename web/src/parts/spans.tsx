import { COLOURS, MARGINS } from '../../../src/charts/option.ts';
import type { JobSpans } from '../ask.ts';
import type { Range } from '../charts/chart.tsx';
import { clock, duration } from '../value-text.ts';

interface Props {
  spans: JobSpans;
  start: number;
  end: number;
  range: Range | undefined;
  onRange(range: Range): void;
}

const KINDS = [
  ['step', 'Steps'],
  ['phase', 'Phases'],
  ['operation', 'Operations'],
] as const;
/** Figures of merit that lie closer together than this part of the width are one mark. */
const CLOSE = 0.004;

/** Those that overlap lie below each other, as far as there is room. */
const LANE = 22;
const MOST_LANES = 3;

function lanesOf(spans: readonly { from: number; to: number }[]): number[] {
  const ends: number[] = [];
  return spans.map(({ from, to }) => {
    const free = ends.findIndex((end) => end <= from);
    const lane = free >= 0 ? free : Math.min(ends.length, MOST_LANES - 1);
    ends[lane] = Math.max(ends[lane] ?? 0, to);
    return lane;
  });
}

/** Steps, phases and operations of a job, each kind in a row; a click shows the time of one. Figures of merit are marks. */
export function Spans({ spans: { spans, figures, left_out: left }, start, end, range, onRange }: Props) {
  const [from, to] = range === undefined ? [start, end] : [range.from, range.to];
  const at = (time: number): number => (Math.min(Math.max(time, from), to) - from) / (to - from);
  const marks = figures.filter(({ time }) => time >= from && time <= to);
  const apart = marks.filter(({ time }, i) => i === 0 || at(time) - at(marks[i - 1]!.time) > CLOSE);
  if (spans.length === 0 && figures.length === 0) return null;
  return (
    <div class="spans" style={{ '--left': `${MARGINS.lines.left}px` }}>
      {KINDS.map(([kind, title]) => {
        // processes without a tag are no operation
        const own = spans.filter((span) => span.kind === kind && span.name !== '');
        if (own.length === 0) return null;
        const names = [...new Set(own.map(({ name }) => name))];
        const lanes = lanesOf(own);
        return (
          <div key={kind} class="line" role="group" aria-label={title}>
            <span class="title">{title}</span>
            <div class="room" style={{ height: `${(Math.max(...lanes) + 1) * LANE}px` }}>
              {own.map((span, i) => {
                const [left, right] = [at(span.from), at(span.to)];
                if (right <= left) return null;
                return (
                  <button
                    key={`${span.name} ${span.from} ${span.node ?? ''}`}
                    type="button"
                    style={{
                      top: `${lanes[i]! * LANE}px`,
                      left: `${left * 100}%`,
                      width: `${(right - left) * 100}%`,
                      '--colour': COLOURS[names.indexOf(span.name) % COLOURS.length],
                    }}
                    title={`${span.name}: ${duration((span.to - span.from) / 1e6)}`}
                    aria-label={`${span.name}, ${duration((span.to - span.from) / 1e6)}: show its time`}
                    onClick={() => onRange(span)}
                  >
                    <span>{span.name}</span>
                  </button>
                );
              })}
            </div>
          </div>
        );
      })}
      {figures.length > 0 && (
        <div class="line">
          <span class="title">Figures</span>
          <div class="room marks" role="img" aria-label={`${figures.length} figures of merit were reported`}>
            {apart.map(({ name, time, value, node }) => (
              <i
                key={`${name} ${time} ${node}`}
                style={{ left: `${at(time) * 100}%` }}
                title={`${clock(time)} ${name}${value === undefined ? '' : ` = ${value}`}`}
              />
            ))}
          </div>
        </div>
      )}
      {left > 0 && <p class="faint">The {left.toLocaleString('en-US')} shortest are not shown.</p>}
    </div>
  );
}
