import { figure, percent } from '../../base/readable.ts';
import { COLOURS } from '../../charts/option.ts';
import { sizeText } from '../../judge/scale/size-text.ts';
import type { Study } from '../../judge/scale/study.ts';
import { doublings, shownSizes } from './chart.ts';

const WIDTH = 720;
const HEIGHT = 440;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 24, 48, 56];
const CURVE_POINTS = 120;
/** As on the page. */
const [MEASURED, LAW] = COLOURS;

const safe = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

/** The study as a picture for a paper or a page: speed-up against size, both by doublings. */
export function studySvg(study: Study): string {
  const [from, to] = shownSizes(study);
  const speedups = study.sizes.map((row) => row.speedup);
  const [least, most] = [Math.min(1, ...speedups), Math.max(to / from, ...speedups)];
  const x = (size: number): number => LEFT + (Math.log(size / from) / Math.log(to / from)) * (WIDTH - LEFT - RIGHT);
  const y = (speedup: number): number => {
    const share = Math.log(Math.max(least, speedup) / least) / Math.log(most / least);
    return HEIGHT - BOTTOM - Math.min(1, share) * (HEIGHT - TOP - BOTTOM);
  };
  const point = (size: number, speedup: number): string => `${x(size).toFixed(1)},${y(speedup).toFixed(1)}`;
  const parts: string[] = [];
  for (const value of doublings(least, most))
    parts.push(
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}"/>`,
      `<text x="${LEFT - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${figure(value)}</text>`,
    );
  for (const { size } of study.sizes)
    parts.push(
      `<text x="${x(size).toFixed(1)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${figure(size)}</text>`,
    );
  parts.push(`<polyline class="ideal" points="${point(from, 1)} ${point(to, to / from)}"/>`);
  const { predict } = study;
  if (predict !== undefined) {
    const sizes = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => from * (to / from) ** (i / CURVE_POINTS));
    const curve = sizes.map((size) => ({ size, ...predict(size) }));
    if (curve.every(({ low, high }) => low !== undefined && high !== undefined)) {
      const upper = curve.map(({ size, high }) => point(size, high!));
      const lower = curve.map(({ size, low }) => point(size, low!)).reverse();
      parts.push(`<polygon class="band" points="${[...upper, ...lower].join(' ')}"/>`);
    }
    parts.push(`<polyline class="law" points="${curve.map(({ size, value }) => point(size, value)).join(' ')}"/>`);
  }
  const first = study.sizes[0]!;
  for (const row of study.sizes) {
    const words = `${sizeText(row.size, study.by)}: speed-up ${figure(row.speedup)}, efficiency ${percent(row.efficiency)}`;
    // runs of one size differ: from the slowest to the fastest
    const factor = (wall: number): number => (row.speedup * row.wall_seconds) / wall;
    if (row.runs > 1 && study.metric === 'time')
      parts.push(
        `<line class="spread" x1="${x(row.size).toFixed(1)}" x2="${x(row.size).toFixed(1)}" y1="${y(factor(row.wall_seconds_max)).toFixed(1)}" y2="${y(factor(row.wall_seconds_min)).toFixed(1)}"/>`,
      );
    parts.push(
      `<circle cx="${x(row.size).toFixed(1)}" cy="${y(row.speedup).toFixed(1)}" r="4.5"><title>${safe(words)}</title></circle>`,
    );
  }
  const law = study.laws.find(({ best }) => best);
  const title = `${study.program}: ${study.kind} scaling, ${figure(first.size)} to ${sizeText(study.largest, study.by)}`;
  const legend = [
    study.metric === 'time' && study.sizes.some(({ runs }) => runs > 1)
      ? 'dots: measured, from the slowest to the fastest run'
      : 'dots: measured',
    ...(law === undefined ? [] : [`line: ${law.law}${law.estimates[0]!.low === undefined ? '' : ', 95 % interval'}`]),
    'dotted: ideal',
  ].join(' · ');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${safe(title)}">
<style>
text { font: 13px system-ui, sans-serif; fill: #333 }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #ddd }
.ideal { fill: none; stroke: #888; stroke-width: 1.5; stroke-dasharray: 1.5 3 }
.law { fill: none; stroke: ${LAW}; stroke-width: 2 }
.band { fill: ${LAW}; fill-opacity: .18 }
.spread { stroke: ${MEASURED}; stroke-width: 2 }
circle { fill: ${MEASURED} }
</style>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text class="title" x="${LEFT}" y="26">${safe(title)}</text>
${parts.join('\n')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${safe(study.by.replace('tag:', ''))} (${safe(legend)})</text>
<text x="18" y="${(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" transform="rotate(-90 18 ${(TOP + HEIGHT - BOTTOM) / 2})">speed-up</text>
</svg>
`;
}
