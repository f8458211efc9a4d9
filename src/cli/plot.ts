import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { Fault, reason, usage } from '../base/fault.ts';
import { pageWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { didYouMean } from '../base/suggest.ts';
import type { Drawing } from '../charts/draw.ts';
import type { ChartTheme } from '../charts/option.ts';
import type { Lane } from '../charts/plot/option.ts';
import type { Material } from '../query/material.ts';
import type { Recording } from '../recording/folder/open.ts';
import type { Graphics } from '../show/terminal/graphics.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { nothingToShow, type SeriesOptions, seriesFilter, seriesOptions } from './series-options.ts';
import { type SpanOptions, spanOptions, spanQuery } from './span-options.ts';

const KINDS = ['lines', 'boxes', 'heatmap', 'gantt', 'bars', 'scaling'] as const;
type Kind = (typeof KINDS)[number];

interface Options extends SpanOptions, SeriesOptions {
  table?: string;
  metric?: string[];
  job?: string;
  width: number;
  height?: number;
  freq: number;
  save?: string;
  ascii?: boolean;
  blocks?: boolean;
  format: 'text' | 'json';
}

/** Pixels of SVG, and points of PDF, in an inch. */
const SVG_INCH = 96;
const PDF_INCH = 72;
/** Dots of PNG in an inch: enough for print. */
const PNG_INCH = 192;
const FORMATS = ['.svg', '.png', '.pdf'] as const;
/** Pixels of the charts' own letters in a line of the terminal: where its letters are larger, so is the chart. */
const LINE_PIXELS = 18;
/** Longer ones are given by --freq or a shorter time. */
const MOST_STEPS = 200_000;
const LINE_STEPS = 1500;
const MOST_LANES = 40;

const inches = (text: string): number => {
  const value = Number(text);
  if (!(value >= 1 && value <= 200)) throw usage(`"${text}" is no size in inches`, 'write a number from 1 to 200');
  return value;
};

const records = (text: string): number => {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw usage(`"${text}" is no number of records`, 'write it like --freq 15');
  return Number(text);
};

export function define(command: Command): void {
  seriesOptions(spanOptions(command))
    .usage('KIND [RECORDING…] [options]')
    // checked by plot itself, which can say more
    .addArgument(
      command
        .createArgument('<kind>', 'what is drawn')
        .choices(KINDS)
        .argParser((text) => text),
    )
    .argument('[recordings...]', JOBS_ARGUMENT)
    .option('--table <name>', 'the table, e.g. gpu (lines, boxes, heatmap, bars)')
    .option('--metric <names>', 'its columns, separated by commas; a unique beginning is enough', (text) =>
      text.split(','),
    )
    .option('-j, --job <id>', 'only the job with this id')
    .option('--width <inches>', 'width of the file', inches, 20)
    .option('--height <inches>', 'height of the file (default: as the chart needs)', inches)
    .option('--freq <n>', 'samples in each box', records, 15)
    .option('--save <file>', 'write it to this file: .svg, .png or .pdf')
    .option('--blocks', 'in the terminal: block characters, also where it shows pictures')
    .option('--ascii', 'in the terminal: ASCII instead of block characters')
    .addOption(
      new Option('-f, --format <format>', 'text: the chart; json: its values')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
lines    a line for each node, GPU or other key
boxes    quartiles of all of them, --freq samples in each box
heatmap  time from left to right, a row for each
bars     the mean of each
gantt    when processes ran
scaling  speed-up of several runs against their size (see tacho scale)

Without --save the chart is drawn in the terminal: as a picture where the terminal says that
it shows them (kitty's graphics or sixel), else as block characters.

Examples:
  tacho plot lines 4711 --table gpu --metric power,memory_used --save gpu.svg
  tacho plot boxes 4711 --table gpu --metric power --freq 60
  tacho plot heatmap tacho-4711 --table cpu --metric busy --save cores.png
  tacho plot scaling run-1 run-2 run-4 --save scaling.svg
`,
    )
    .action(plot);
}

async function plot(kind: string, paths: string[], options: Options): Promise<void> {
  if (!isKind(kind)) throw await notKind(kind, options);
  const { save } = options;
  const extension = save === undefined ? undefined : path.extname(save).toLowerCase();
  if (extension !== undefined && !(FORMATS as readonly string[]).includes(extension))
    throw usage(`a chart cannot be saved as "${save}"`, 'name it .svg, .png or .pdf');
  if (kind === 'scaling') return plotScaling(paths, options);
  const { findRecordings } = await import('./find-recordings.ts');
  const { isOfJob } = await import('../jobs/on-node/of-job.ts');
  const all = await findRecordings(paths);
  const recordings = options.job === undefined ? all : all.filter(({ job }) => isOfJob(job.id, options.job!));
  if (recordings.length === 0) throw usage(`no recording of job ${options.job} here`, 'tacho list shows what there is');
  if (kind === 'gantt') return plotProcesses(paths, recordings, options);
  if (options.table === undefined) throw usage(`tacho plot ${kind} needs --table`, await tableHint(recordings[0]!));
  const { gather } = await import('../judge/facts/gather.ts');
  const shown: Shown[] = [];
  for (const recording of recordings) {
    const material = gather(recording, spanQuery(options));
    const title = recordings.length > 1 ? `${material.job.id}: ` : '';
    for (const drawing of await drawingsOf(kind, material, options)) shown.push({ drawing, material, title });
  }
  await writeDrawings(kind, shown, options);
}

const isKind = (text: string): text is Kind => (KINDS as readonly string[]).includes(text);

/** The first word may be a recording: then its kind is missing. */
async function notKind(word: string, options: Options): Promise<Fault> {
  const { findRecordings } = await import('./find-recordings.ts');
  const [recording] = await findRecordings([word]).catch((): Recording[] => []);
  if (recording === undefined)
    return usage(
      `kind: "${word}" is none of ${KINDS.join(', ')}${didYouMean(word, KINDS)}`,
      'tacho plot --help explains the use',
    );
  const table = options.table === undefined ? '--table NAME' : `--table ${options.table}`;
  const kinds = `tacho plot needs the kind of chart: tacho plot lines ${word} ${table}, or one of ${KINDS.join(', ')}`;
  return usage(kinds, options.table === undefined ? await tableHint(recording) : undefined);
}

async function tableHint(recording: Recording): Promise<string> {
  const { drawableTables } = await import('../charts/metric-charts.ts');
  return `tables of job ${recording.job.id}: ${drawableTables(recording).join(', ')}`;
}

interface Shown {
  drawing: Drawing;
  material: Material;
  /** Before the chart's own. */
  title: string;
}

/** Which part of the job was asked for. */
const partOf = ({ range }: Material): { from?: number; to?: number } => stated({ from: range?.from, to: range?.to });

async function drawingsOf(kind: Kind, material: Material, options: Options): Promise<Drawing[]> {
  const [{ draw, extentOf }, { filtered, metricCharts }] = await Promise.all([
    import('../charts/draw.ts'),
    import('../charts/metric-charts.ts'),
  ]);
  const [from, to] = extentOf(material, partOf(material));
  const interval = (material.job.interval_seconds || 1) * 1e6;
  const isEach = kind === 'boxes';
  if (isEach && (to - from) / interval > MOST_STEPS)
    throw usage('this is too long for boxes of samples', 'choose a part of it with --from and --to, or --marker');
  return metricCharts(material, options.table!, options.metric).map((chart) => {
    const steps = isEach ? { step: interval } : { points: kind === 'heatmap' ? 400 : LINE_STEPS };
    const drawing = draw(material, chart, { from, to, ...steps });
    const wanted = drawing === undefined ? undefined : filtered(drawing, seriesFilter(options));
    if (wanted === undefined || wanted.series.length === 0)
      throw nothingToShow(`nothing of ${chart.id} was recorded for this`, options);
    return wanted;
  });
}

async function writeDrawings(kind: Kind, shown: readonly Shown[], options: Options): Promise<void> {
  const { barsOf, barsOption, boxesOf, boxesOption } = await import('../charts/plot/option.ts');
  const titled = ({ drawing, title }: Shown): string => `${title}${drawing.chart.title}`;
  if (options.format === 'json') {
    const { short } = await import('../charts/numbers.ts');
    const values = shown.map(({ drawing, material }) => ({
      job: material.job.id,
      metric: drawing.chart.id,
      unit: drawing.chart.unit,
      ...(kind === 'boxes'
        ? { boxes: boxesOf(drawing, options.freq) }
        : kind === 'bars'
          ? { bars: barsOf(drawing) }
          : {
              from: drawing.from,
              step: drawing.step,
              series: drawing.series.map(({ node, key, mean }) => ({
                node,
                ...(key === undefined ? {} : { key }),
                mean: Array.from(mean, short),
              })),
            }),
    }));
    process.stdout.write(`${JSON.stringify(values, null, 2)}\n`);
    return;
  }
  await put(options, {
    async text() {
      const text = await import('../show/plot-text.ts');
      const texts = shown.map((each) => {
        const { drawing, material } = each;
        const page = { width: pageWidth(), isUnicode: options.ascii !== true && isUtf8(), start: material.job.start };
        const { unit } = drawing.chart;
        if (kind === 'boxes') {
          const records = text.recordsThatFit(drawing, options.freq, page);
          return text.boxesText(`${titled(each)}, ${records} samples a box`, unit, boxesOf(drawing, records), page);
        }
        if (kind === 'bars') return text.barsText(`${titled(each)}, mean`, unit, barsOf(drawing), page);
        return kind === 'heatmap' ? text.heatText(drawing, page) : text.linesText(drawing, page);
      });
      return texts.join('\n');
    },
    async picture(width, theme) {
      const [{ chartSvg, optionSvg, stacked }, { extentOf }, { makeChartData }, { heatHeight }] = await Promise.all([
        import('../charts/plot/start.ts'),
        import('../charts/draw.ts'),
        import('../charts/make-chart-data.ts'),
        import('../charts/heat-height.ts'),
      ]);
      const rowsHigh = (rows: number): number => Math.max(200, rows * 18 + 80);
      const heights = shown.map(({ drawing }) =>
        options.height !== undefined
          ? (options.height * SVG_INCH) / shown.length
          : kind === 'heatmap'
            ? heatHeight(drawing.series.length) + 30
            : kind === 'bars'
              ? rowsHigh(drawing.series.length)
              : 380,
      );
      const pictures = shown.map((each, i) => {
        const { drawing, material } = each;
        const look = { theme, start: material.job.start, title: titled(each), unit: drawing.chart.unit };
        if (kind === 'boxes')
          return optionSvg(boxesOption(boxesOf(drawing, options.freq), look), { width, height: heights[i]! });
        if (kind === 'bars')
          return optionSvg(barsOption(barsOf(drawing), { ...look, title: `${look.title}, mean` }), {
            width,
            height: heights[i]!,
          });
        const data = { ...makeChartData(drawing, kind === 'heatmap' ? 'heat' : 'lines'), title: titled(each) };
        return chartSvg(
          data,
          { ...look, extent: extentOf(material, partOf(material)) },
          { width, height: heights[i]! },
        );
      });
      return {
        svg: stacked(pictures, width, heights),
        width,
        height: heights.reduce((sum, each) => sum + each, 0),
      };
    },
  });
}

/** Sizes in pixels of SVG. */
interface Picture {
  svg: string;
  width: number;
  height: number;
}

/** A chart in its two forms; only the one that is wanted is made. */
interface Plotted {
  text(): Promise<string>;
  picture(width: number, theme: ChartTheme): Promise<Picture>;
}

/** In the file, as a picture where the terminal shows them, else as text. */
async function put(options: Options, chart: Plotted): Promise<void> {
  const { LIGHT, DARK } = await import('../charts/option.ts');
  if (options.save !== undefined)
    return savePicture(options.save, await chart.picture(options.width * SVG_INCH, LIGHT));
  const graphics = await graphicsFor(options);
  if (graphics === undefined) {
    process.stdout.write(await chart.text());
    return;
  }
  const [{ pixelsOf }, { kittyText, sixelText }] = await Promise.all([
    import('../charts/plot/start.ts'),
    import('../show/terminal/graphics.ts'),
  ]);
  const { cell, kind, isDark } = graphics;
  const wide = cell.width * (process.stdout.columns || 80);
  const { svg } = await chart.picture(wide / Math.max(1, cell.height / LINE_PIXELS), isDark ? DARK : LIGHT);
  const pixels = await pixelsOf(svg, wide);
  process.stdout.write(`${kind === 'kitty' ? kittyText(pixels.png) : sixelText(pixels)}\n`);
}

async function graphicsFor({ ascii, blocks }: Options): Promise<Graphics | undefined> {
  if (ascii === true || blocks === true) return undefined;
  const { askGraphics } = await import('../show/terminal/graphics.ts');
  return askGraphics(process.stdin, process.stdout);
}

/** Whether this terminal shows more than ASCII. */
const isUtf8 = (): boolean => /utf-?8/i.test(process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG || '');

async function savePicture(file: string, { svg, width, height }: Picture): Promise<void> {
  const bytes = await fileBytes(path.extname(file).toLowerCase(), { svg, width, height });
  try {
    fs.writeFileSync(file, bytes);
  } catch (error) {
    throw new Fault(`cannot write ${file}: ${reason(error)}`);
  }
  process.stderr.write(
    `${file}: ${Number((width / SVG_INCH).toFixed(1))} × ${Number((height / SVG_INCH).toFixed(1))} inches\n`,
  );
}

async function fileBytes(extension: string, { svg, width, height }: Picture): Promise<string | Uint8Array> {
  if (extension === '.png') {
    const { pixelsOf } = await import('../charts/plot/start.ts');
    return (await pixelsOf(svg, (width / SVG_INCH) * PNG_INCH)).png;
  }
  if (extension !== '.pdf') return svg;
  const { pdfOf } = await import('../charts/pdf.ts');
  const points = PDF_INCH / SVG_INCH;
  return pdfOf([{ svg, width: width * points, height: height * points }]);
}

async function plotProcesses(paths: string[], recordings: readonly Recording[], options: Options): Promise<void> {
  const [{ openProcesses }, { timelineOf }, { filterProcesses }] = await Promise.all([
    import('./process-source.ts'),
    import('../query/processes/timeline.ts'),
    import('../query/processes/filter.ts'),
  ]);
  const { set } = await openProcesses(paths, options);
  const nodes = options.node;
  const members = filterProcesses(set, []).filter((i) => nodes?.includes(set.node[i]!) !== false);
  const rows = timelineOf(set, members, 'process').slice(0, MOST_LANES);
  if (rows.length === 0) throw new Fault('no process ran there', { hint: 'tacho processes lists what was recorded' });
  const lanes: Lane[] = rows
    .map(({ name, runs, members: [i] }) => ({ name, program: set.tags[i!] || set.exename[i!] || name, runs }))
    .sort((a, b) => a.runs[0]![0] - b.runs[0]![0]);
  if (options.format === 'json') {
    process.stdout.write(`${JSON.stringify(lanes, null, 2)}\n`);
    return;
  }
  await put(options, {
    async text() {
      const { timelineText } = await import('../show/process/timeline.ts');
      const hidden = members.length - rows.length;
      const all = 'tacho timeline --limit 0';
      return timelineText(set, rows, { by: 'process', width: pageWidth(), stream: process.stdout, hidden, all });
    },
    async picture(width, theme) {
      const [{ optionSvg }, { ganttOption, laneColours }, { legendOf, withLegend }] = await Promise.all([
        import('../charts/plot/start.ts'),
        import('../charts/plot/option.ts'),
        import('../charts/legend.ts'),
      ]);
      const { job } = recordings[0]!;
      const from = Math.min(job.start, ...lanes.map(({ runs }) => runs[0]![0]));
      const to = Math.max(job.end ?? 0, ...lanes.map(({ runs }) => runs.at(-1)![1]));
      const height = (options.height ?? Math.max(2, (lanes.length * 20 + 80) / SVG_INCH)) * SVG_INCH;
      const some = lanes.length < members.length ? `: the ${lanes.length} longest of ${members.length}` : '';
      const look = { theme, start: job.start, title: `Processes of ${job.id}${some}`, unit: '' };
      const legend = legendOf(laneColours(lanes, theme), theme, 26, width);
      const svg = optionSvg(ganttOption(lanes, from, to, look, legend.height), { width, height });
      return { svg: withLegend(svg, legend), width, height };
    },
  });
}

async function plotScaling(paths: string[], options: Options): Promise<void> {
  const { scaleOf } = await import('./scale-runs.ts');
  const made = await scaleOf(paths, { efficiency: 0.7 });
  if (!('study' in made)) throw usage('a scaling chart needs runs of several sizes', 'name several recordings');
  if (options.format === 'json') {
    const { predict: _, ...study } = made.study;
    process.stdout.write(`${JSON.stringify(study, null, 2)}\n`);
    return;
  }
  await put(options, {
    async text() {
      const { studyText } = await import('../show/scale/study-text.ts');
      return studyText(made.study, { stream: process.stdout });
    },
    async picture(width, theme) {
      const [{ scalingHeight, scalingSvg }, { lawCurve }] = await Promise.all([
        import('../charts/plot/start.ts'),
        import('../judge/scale/curve.ts'),
      ]);
      const height = options.height === undefined ? scalingHeight(width) : options.height * SVG_INCH;
      const study = { ...made.study, curve: lawCurve(made.study) };
      return { svg: scalingSvg(study, { width, height }, theme), width, height };
    },
  });
}
