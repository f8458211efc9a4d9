import { asMarkup } from '../../base/markup.ts';
import type { ChartPicture } from '../../charts/chart-pictures.ts';
import { pdfOf } from '../../charts/pdf.ts';

/** A4, in points. */
const [WIDTH, HEIGHT] = [595, 842];
const [LEFT, TOP, SIZE, LINE] = [52, 56, 10, 12];
const LINES = Math.floor((HEIGHT - 2 * TOP) / LINE);

/** Heads of parts stand at the left edge, behind a blank line. */
const isHead = (lines: readonly string[], i: number): boolean =>
  i === 0 || (lines[i - 1] === '' && lines[i] !== '' && !lines[i]!.startsWith(' '));

/** Where pages end: a head has two lines of what it is the head of below it. */
function pagesOf(lines: readonly string[]): [from: number, to: number][] {
  const pages: [number, number][] = [];
  for (let from = 0; from < lines.length; ) {
    let to = Math.min(lines.length, from + LINES);
    if (to < lines.length) {
      const head = [to - 1, to - 2].find((i) => isHead(lines, i));
      if (head !== undefined && head > from) to = head;
    }
    pages.push([from, to]);
    from = to;
    // blank lines between parts do not begin a page
    while (lines[from] === '') from++;
  }
  return pages;
}

/** A report card as text, 80 columns wide, on pages, and charts on pages behind them. */
export function reportPdf(text: string, charts: readonly ChartPicture[] = []): Buffer {
  const lines = text.trimEnd().split('\n');
  const pages = pagesOf(lines).map(([from, to]) => {
    const rows = lines.slice(from, to).map((line, i) => {
      const weight = isHead(lines, from + i) ? ' font-weight="bold"' : '';
      // blanks at the left are a place
      const indent = line.length - line.trimStart().length;
      const x = LEFT + indent * SIZE * 0.6;
      return `<text x="${x}" y="${TOP + i * LINE}" font-family="monospace" font-size="${SIZE}"${weight}>${asMarkup(line.trimStart())}</text>`;
    });
    return { svg: `<svg width="${WIDTH}" height="${HEIGHT}">${rows.join('')}</svg>`, width: WIDTH, height: HEIGHT };
  });
  return pdfOf([...pages, ...chartPages(charts)]);
}

const MARGIN = 36;

/** Charts as wide as the paper below each other, none of them cut by the end of a page. */
function chartPages(charts: readonly ChartPicture[]): { svg: string; width: number; height: number }[] {
  const pages: string[][] = [];
  let bottom = HEIGHT;
  for (const { svg, width, height } of charts) {
    const scale = Math.min((WIDTH - 2 * MARGIN) / width, (HEIGHT - 2 * MARGIN) / height);
    if (bottom + height * scale > HEIGHT - MARGIN) {
      pages.push([]);
      bottom = MARGIN;
    }
    const inner = svg.replace(/^[\s\S]*?<svg[^>]*>/, '').replace(/<\/svg>\s*$/, '');
    pages.at(-1)!.push(`<g transform="translate(${MARGIN} ${bottom}) scale(${scale})">${inner}</g>`);
    bottom += height * scale;
  }
  return pages.map((svgTexts) => ({
    svg: `<svg width="${WIDTH}" height="${HEIGHT}">${svgTexts.join('')}</svg>`,
    width: WIDTH,
    height: HEIGHT,
  }));
}
