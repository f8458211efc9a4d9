import { CustomChart } from 'echarts/charts';
import { use } from '../use-echarts.ts';

use([CustomChart]);

/** Pictures of the same width below each other as one. */
export function stacked(pictures: readonly string[], width: number, heights: readonly number[]): string {
  if (pictures.length === 1) return pictures[0]!;
  let top = 0;
  const groups = pictures.map((svg, i) => {
    const inner = svg.replace(/^[\s\S]*?<svg[^>]*>/, '').replace(/<\/svg>\s*$/, '');
    const group = `<g transform="translate(0 ${top})">${inner}</g>`;
    top += heights[i]!;
    return group;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}">${groups.join('')}</svg>`;
}

export { pixelsOf } from '../png.ts';
export { scalingHeight, scalingSvg } from '../scaling-svg.ts';
export { chartSvg, optionSvg } from '../svg.ts';
