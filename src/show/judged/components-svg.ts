import { asMarkup } from '../../base/markup.ts';
import { count } from '../../base/readable.ts';
import type { Components } from '../../judge/outliers/components.ts';
import { scaleOf } from './components-text.ts';

const [WIDTH, HEIGHT, MARGIN] = [640, 480, 56];
/** Jobs that are named, and features that are drawn as arrows: more cannot be read. */
const [NAMED, ARROWS] = [12, 8];
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#8c564b', '#17becf', '#7f7f7f'];

const label = (x: number, y: number, labelText: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${asMarkup(labelText)}</text>`;

/** The first two components as a picture: jobs as dots, coloured by group, and the heaviest features as arrows. */
export function componentsSvg({ scores, features, variance }: Components): string {
  const x = scaleOf(scores.map((one) => one.scores[0] ?? 0));
  const y = scaleOf(scores.map((one) => one.scores[1] ?? 0));
  const across = (value: number): number => MARGIN + x(value) * (WIDTH - 2 * MARGIN);
  const down = (value: number): number => HEIGHT - MARGIN - y(value) * (HEIGHT - 2 * MARGIN);
  const groups = [...new Set(scores.map(({ group }) => group ?? ''))];
  const colour = (group = ''): string => COLOURS[groups.indexOf(group) % COLOURS.length]!;
  const dots = scores.map(({ job, group, scores: at }, rank) => {
    const [cx, cy] = [across(at[0] ?? 0), down(at[1] ?? 0)];
    const dot = `<circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="4" fill="${colour(group)}" fill-opacity="0.7"><title>${asMarkup(job)}</title></circle>`;
    return rank < NAMED ? `${dot}${label(cx + 6, cy - 4, job, 'font-size="10"')}` : dot;
  });
  const [middleX, middleY] = [WIDTH / 2, HEIGHT / 2];
  const arrows = features.slice(0, ARROWS).map(({ feature, loadings }) => {
    const [toX, toY] = [middleX + (loadings[0] ?? 0) * 150, middleY - (loadings[1] ?? 0) * 150];
    return `<line x1="${middleX}" y1="${middleY}" x2="${toX.toFixed(1)}" y2="${toY.toFixed(1)}" stroke="#999"/>${label(toX, toY, feature, 'font-size="10" fill="#666"')}`;
  });
  const legend =
    groups.length < 2
      ? []
      : groups
          .slice(0, 16)
          .map((group, i) => label(WIDTH - 130, 40 + i * 14, group || 'no group', `fill="${colour(group)}"`));
  const axis = (k: number): string => `PC${k + 1} (${((variance[k] ?? 0) * 100).toFixed(0)} % of the variance)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>Principal components of ${count(scores.length, 'job')}</title>
<rect width="100%" height="100%" fill="#fff"/>
<rect x="${MARGIN / 2}" y="${MARGIN / 2}" width="${WIDTH - MARGIN}" height="${HEIGHT - MARGIN}" fill="none" stroke="#ccc"/>
${[...arrows, ...dots, ...legend, label(WIDTH / 2, HEIGHT - 8, axis(0), 'text-anchor="middle"'), label(14, HEIGHT / 2, axis(1), `text-anchor="middle" transform="rotate(-90 14 ${HEIGHT / 2})"`)].join('\n')}
</svg>
`;
}
