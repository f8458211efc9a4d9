import type { EChartsOption } from 'echarts';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type ChartBand,
  type ChartLook,
  type ChartTheme,
  chartOption,
  extentOf,
  LIGHT,
  marginsOf,
} from '../../../src/charts/option.ts';
import type { ChartData } from '../ask.ts';
import { useTheme } from '../theme.ts';
import { type Drawn, type Init, loadECharts } from './load.ts';
import { pictureOf, usePaper } from './paper.ts';
import { namedPng } from './png.ts';
import { type Range, rangeByKey } from './range-by-key.ts';

export type { Range };

interface Props {
  data: ChartData;
  start: number;
  extent?: ChartLook['extent'];
  across?: 'time' | 'progress' | 'date';
  bands?: readonly ChartBand[];
  /** The threshold of a finding that is shown. */
  threshold?: number | undefined;
  height?: number;
  /** The moment under the cursor of any chart. */
  cursor: Cursor;
  /** Somebody has chosen a part of the time, with the mouse or with keys. */
  onRange(range: Range): void;
  /** All of the time: with it keys zoom, too. */
  whole?: Range;
  /** Gets what makes a picture of the chart. */
  picture?: { current: (() => string) | undefined };
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

/** Phones. */
const NARROW = 600;
/** Shorter drags are clicks. */
const LEAST_DRAG = 5;

/** One chart: zoom by drawing over it, the other charts follow. */
export function Chart({
  data,
  start,
  extent,
  bands,
  threshold,
  across,
  height = 150,
  cursor,
  onRange,
  whole,
  picture,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const drag = useRef<HTMLDivElement>(null);
  const chart = useRef<Drawn>(undefined);
  const [init, setInit] = useState<Init>();
  const theme = useTheme();
  const isNarrow = innerWidth < NARROW;
  const { left, right, top, bottom } = marginsOf(data, isNarrow);
  const [from, to] = extentOf(data, extent === undefined ? {} : { extent });

  useEffect(() => {
    let isGone = false;
    const watch = new ResizeObserver(() => chart.current?.resize());
    void loadECharts().then((echarts) => {
      if (isGone) return;
      chart.current = echarts.init(box.current!, null, { renderer: 'canvas' });
      watch.observe(box.current!);
      setInit(() => echarts.init);
    });
    return () => {
      isGone = true;
      watch.disconnect();
      chart.current?.dispose();
    };
  }, []);

  const optionIn = (colours: ChartTheme, width: number, isSmall: boolean): EChartsOption =>
    chartOption(data, {
      theme: colours,
      start,
      isNarrow: isSmall,
      width,
      ...(extent === undefined ? {} : { extent }),
      ...(bands === undefined ? {} : { bands }),
      ...(threshold === undefined ? {} : { threshold }),
      ...(across === undefined ? {} : { across }),
    });
  useEffect(() => {
    if (init === undefined) return;
    chart.current!.setOption(optionIn(theme, box.current!.clientWidth, isNarrow), true);
    performance.mark('chart drawn');
    if (picture !== undefined) picture.current = () => namedPng(chart.current!, data, theme);
  }, [data, theme, bands, threshold, start, extent?.[0], extent?.[1], across, isNarrow, init]);
  const paper = usePaper(
    (width) =>
      init && pictureOf(init, { width, height }, (one) => one.setOption(optionIn(LIGHT, width, width < NARROW))),
  );

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
        if (mark === null || box.current === null) return;
        const isSeen = time !== undefined && time >= from && time <= to;
        mark.hidden = !isSeen;
        if (isSeen) mark.style.transform = `translateX(${at(time)}px)`;
      }),
    [cursor, from, to, left, right],
  );

  const begun = useRef<number>(undefined);
  const show = (a: number, b: number): void => {
    const area = drag.current!;
    area.hidden = false;
    area.style.left = `${at(Math.min(a, b))}px`;
    area.style.width = `${Math.abs(at(a) - at(b))}px`;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const chosen = whole === undefined ? undefined : rangeByKey(event.key, { from, to }, whole);
    if (chosen === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onRange(chosen);
  };
  const keys =
    whole === undefined
      ? {}
      : {
          tabIndex: 0,
          role: 'group' as const,
          'aria-label': `${data.title}: + and - zoom, arrows move, Home shows all`,
          onKeyDown,
        };
  const inside = { top: `${top}px`, bottom: `${bottom}px` };

  return (
    <div
      class="chart"
      style={{ height: `${height}px` }}
      {...keys}
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
        if (a !== undefined && Math.abs(at(a) - at(b)) > LEAST_DRAG)
          onRange({ from: Math.min(a, b), to: Math.max(a, b) });
      }}
      onPointerLeave={() => {
        begun.current = undefined;
        drag.current!.hidden = true;
        cursor.set(undefined);
      }}
    >
      <div ref={box} class="canvas" />
      <img ref={paper} class="paper" alt="" />
      <div ref={line} class="cursor" style={inside} hidden />
      <div ref={drag} class="drag" style={inside} hidden />
    </div>
  );
}
