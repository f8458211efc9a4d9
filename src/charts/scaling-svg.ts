import { CustomChart } from 'echarts/charts';
import { asMarkup } from '../base/markup.ts';
import { LIGHT } from './option.ts';
import { type DrawnStudy, scalingPicture, scalingTitle } from './scaling-option.ts';
import { optionSvg, type SvgSize } from './svg.ts';
import { use } from './use-echarts.ts';

use([CustomChart]);

const WIDTH = 720;
const HEIGHT = 440;

/** So high is the chart of a study that is so wide. */
export const scalingHeight = (width: number): number => (width * HEIGHT) / WIDTH;

/** A study as a picture of its own for a paper or a page. Its letters are larger where it is larger. */
export function scalingSvg(
  study: DrawnStudy,
  { width, height }: SvgSize = { width: WIDTH, height: HEIGHT },
  theme = LIGHT,
): string {
  const factor = width / WIDTH;
  const drawn = optionSvg(scalingPicture(study, theme), { width: WIDTH, height: height / factor });
  const inner = drawn.replace(/^[\s\S]*?<svg[^>]*>/, '').replace(/<\/svg>\s*$/, '');
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${asMarkup(scalingTitle(study))}"><g transform="scale(${factor})">${inner}</g></svg>\n`;
}
