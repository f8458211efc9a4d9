import { useEffect, useRef } from 'preact/hooks';
import { type ChartBand, type ChartWords, heatOption, linesOption } from '../../../src/charts/option.ts';
import type { ChartData } from '../ask.ts';
import { useTheme } from '../theme.ts';
import { clock, sinceStart, withUnit } from '../words.ts';
import { init } from './echarts.ts';

export interface Range {
  from: number;
  to: number;
}

interface Props {
  data: ChartData;
  start: number;
  bands?: readonly ChartBand[];
  marked?: Range | undefined;
  height?: number;
  /** The moment under the cursor of any chart. */
  cursor: Cursor;
  /** Somebody has drawn a part of the time with the mouse. */
  onRange(range: Range): void;
}

/** One moment for all charts. */
export class Cursor {
  #listeners = new Set<(time: number | undefined) => void>();
  set(time: number | undefined): void {
    for (const listener of this.#listeners) listener(time);
  }
  listen(listener: (time: number | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

const wordsFrom = (start: number): ChartWords => ({
  value: withUnit,
  time: (micros) => `${clock(micros)} (${sinceStart(micros - start)})`,
  tick: (micros) => sinceStart(micros - start),
});

/** One chart: zoom by drawing over it, the other charts follow. */
export function Chart({ data, start, bands, marked, height = 150, cursor, onRange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const drag = useRef<HTMLDivElement>(null);
  const chart = useRef<ReturnType<typeof init>>(undefined);
  const theme = useTheme();
  const isHeat = data.as === 'heat';
  const [left, right] = [isHeat ? 92 : 62, 12];
  const steps = data.band?.mean.length ?? data.series[0]?.mean.length ?? 0;
  const [from, to] = [data.from, data.from + data.step * steps];

  useEffect(() => {
    const made = init(box.current!, null, { renderer: 'canvas' });
    chart.current = made;
    const watch = new ResizeObserver(() => made.resize());
    watch.observe(box.current!);
    return () => {
      watch.disconnect();
      made.dispose();
    };
  }, []);

  useEffect(() => {
    const look = {
      theme,
      words: wordsFrom(start),
      ...(bands === undefined ? {} : { bands }),
      ...(marked === undefined ? {} : { marked }),
    };
    chart.current!.setOption(isHeat ? heatOption(data, look) : linesOption(data, look), true);
  }, [data, theme, bands, marked, start]);

  const at = (time: number): number => {
    const width = box.current!.clientWidth - left - right;
    return left + ((time - from) / (to - from)) * width;
  };
  const timeAt = (event: PointerEvent): number => {
    const { left: edge, width } = box.current!.getBoundingClientRect();
    const share = (event.clientX - edge - left) / (width - left - right);
    return from + Math.min(1, Math.max(0, share)) * (to - from);
  };

  useEffect(
    () =>
      cursor.listen((time) => {
        const mark = line.current;
        if (mark === null) return;
        const isSeen = time !== undefined && time >= from && time <= to;
        mark.hidden = !isSeen;
        if (isSeen) mark.style.transform = `translateX(${at(time)}px)`;
      }),
    [cursor, from, to],
  );

  const begun = useRef<number>(undefined);
  const show = (a: number, b: number): void => {
    const area = drag.current!;
    area.hidden = false;
    area.style.left = `${at(Math.min(a, b))}px`;
    area.style.width = `${Math.abs(at(a) - at(b))}px`;
  };

  return (
    <div
      class="chart"
      style={{ height: `${height}px` }}
      onPointerDown={(event) => {
        if (event.button === 0) begun.current = timeAt(event);
      }}
      onPointerMove={(event) => {
        cursor.set(timeAt(event));
        if (begun.current !== undefined) show(begun.current, timeAt(event));
      }}
      onPointerUp={(event) => {
        const [a, b] = [begun.current, timeAt(event)];
        begun.current = undefined;
        drag.current!.hidden = true;
        if (a !== undefined && Math.abs(at(a) - at(b)) > 5) onRange({ from: Math.min(a, b), to: Math.max(a, b) });
      }}
      onPointerLeave={() => {
        begun.current = undefined;
        drag.current!.hidden = true;
        cursor.set(undefined);
      }}
    >
      <div ref={box} class="canvas" />
      <div ref={line} class="cursor" hidden />
      <div ref={drag} class="drag" hidden />
    </div>
  );
}
