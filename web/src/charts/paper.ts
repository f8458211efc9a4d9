import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type ChartTheme, LIGHT } from '../../../src/charts/option.ts';
import type { Drawn, Init } from './load.ts';

/** CSS pixels of A4 between margins of 1 cm, without the border of a card. */
export const PAPER_WIDTH = 714;
/** CSS pixels that a card has inside on A4 or Letter paper with margins of 1 cm; on other paper pictures keep their shape. */
const WHOLE = 690;
/** Two panels beside each other. */
const HALF = 330;

const pngOf = (chart: Drawn, { background }: ChartTheme): string =>
  chart.getDataURL({ type: 'png', pixelRatio: 2, backgroundColor: background });

/** The picture of a chart that is nowhere on the page. */
export function pictureOf(
  init: Init,
  size: { width: number; height: number },
  draw: (chart: Drawn) => void,
  theme: ChartTheme = LIGHT,
): string {
  const chart = init(document.createElement('div'), null, { renderer: 'canvas', ...size });
  draw(chart);
  const picture = pngOf(chart, theme);
  chart.dispose();
  return picture;
}

/**
 * A picture that stands on paper instead of what is on the screen, which has another width and maybe dark colours. It is made
 * when the page is printed: nothing is drawn again then.
 */
export function usePaper(picture: (width: number) => string | undefined): RefObject<HTMLImageElement | null> {
  const image = useRef<HTMLImageElement>(null);
  const latest = useRef(picture);
  latest.current = picture;
  useEffect(() => {
    const print = (): void => {
      const isHalf = image.current!.closest('.panels > .panel:not(.wide)') !== null;
      const source = latest.current(isHalf ? HALF : WHOLE);
      if (source !== undefined) image.current!.src = source;
    };
    addEventListener('beforeprint', print);
    return () => removeEventListener('beforeprint', print);
  }, []);
  return image;
}
