import { useEffect, useRef, useState } from 'preact/hooks';
import { chartFile } from '../../../src/charts/chart-file.ts';
import { heatHeight } from '../../../src/charts/heat-height.ts';
import { entriesOf } from '../../../src/charts/legend.ts';
import {
  type ChartBand,
  heatColours,
  heatScale,
  jobExtent,
  unlikeColour,
  unlikeRows,
} from '../../../src/charts/option.ts';
import { here, setQuery, useAddress } from '../address.ts';
import { type ChartData, type ChartFacts, latest, useAnswer } from '../ask.ts';
import { BASE } from '../base.ts';
import { isJobFile } from '../filed-job.ts';
import { useTheme } from '../theme.ts';
import { withUnit } from '../value-text.ts';
import { Chart, type Cursor, type Range } from './chart.tsx';
import { SaveMenu } from './save-menu.tsx';

/** Series that a finding is about, and its threshold. */
export interface Shown {
  node?: string | undefined;
  key?: string | undefined;
  threshold?: number | undefined;
}

interface Props {
  job: string;
  /** The job's own id, which files are named after. */
  name: string;
  facts: ChartFacts;
  start: number;
  /** When the job ended: then all charts have the same time from left to right. */
  end?: number;
  range?: Range | undefined;
  bands: readonly ChartBand[];
  shown?: Shown | undefined;
  again: number;
  cursor: Cursor;
  onRange(range: Range): void;
}

const WAYS = [
  ['lines', 'lines'],
  ['heat', 'heat map'],
] as const;
type Way = (typeof WAYS)[number][0];

/** How charts are drawn, by their ids: in the address, so that a link shows the same. */
const waysIn = (query: URLSearchParams): Map<string, string> =>
  new Map(
    (query.get('drawn') ?? '')
      .split(',')
      .filter(Boolean)
      .map((text) => text.split('~', 2) as [string, string]),
  );

function setWay(id: string, way: Way): void {
  const ways = waysIn(here().query).set(id, way);
  setQuery({ drawn: [...ways].map((each) => each.join('~')).join(',') });
}

/** A chart of a job with its title, the way it is drawn, and the data behind it. It is asked for when it comes into sight. */
export function Panel({ job, name, facts, start, end, range, bands, shown, again, cursor, onRange }: Props) {
  const chosen = waysIn(useAddress().query).get(facts.id) ?? (facts.heat === true ? 'heat' : 'lines');
  const way: Way = shown === undefined && chosen === 'heat' ? 'heat' : 'lines';
  const section = useRef<HTMLElement>(null);
  const picture = useRef<() => string>(undefined);
  const isSeen = useSeen(section);
  useEffect(() => {
    return shown === undefined ? undefined : keepInView(section.current!);
  }, [shown]);
  const query = new URLSearchParams({ points: '400', empty: 'allowed' });
  if (way === 'heat') query.set('as', way);
  if (shown?.node !== undefined) query.set('focus', shown.node);
  if (shown?.key !== undefined) query.set('focus_key', shown.key);
  if (range !== undefined) {
    query.set('from', String(Math.round(range.from)));
    query.set('to', String(Math.round(range.to)));
  }
  const path = `/api/jobs/${job}/charts/${encodeURIComponent(facts.id)}?${query}`;
  const asked = useAnswer<ChartData>(isSeen || shown !== undefined ? path : undefined, again);
  const data = latest(asked);
  const drawnPath = useRef<string>(undefined);
  if (asked.state === 'here') drawnPath.current = path;
  // what was drawn stays while the server is away; of another time it would be wrong
  const isStale = asked.state === 'failed' && drawnPath.current === path;
  const isHeat = data?.as === 'heat';
  const drawn = jobExtent({ start, end, range }, data);
  const extent = drawn === undefined ? {} : { extent: drawn };
  const height = data?.as === 'heat' ? heatHeight(data.count) : 150;
  const figures = data === undefined ? '' : summary(data, facts);
  const file = (kind: string): string =>
    `${BASE}${path.replace('points=400&empty=allowed', '')}&download=${kind}`.replace('?&', '?');
  return (
    <section
      ref={section}
      class={['panel', isHeat && 'wide', shown !== undefined && 'shown'].filter(Boolean).join(' ')}
      aria-label={facts.title}
      data-chart={facts.id}
    >
      <header>
        <h3 title={facts.help}>
          {facts.title} <small title={figures}>{figures}</small>
        </h3>
        {(data?.count ?? 0) > 1 && (
          <div class="choice" role="group" aria-label={`How ${facts.title} is drawn`}>
            {WAYS.map(([value, title]) => (
              <button key={value} type="button" aria-pressed={way === value} onClick={() => setWay(facts.id, value)}>
                {title}
              </button>
            ))}
          </div>
        )}
        <SaveMenu
          title={facts.title}
          ways={{ ...(isJobFile ? {} : { csv: file('csv'), svg: file('svg') }), png: () => picture.current?.() ?? '' }}
          file={(kind) => chartFile(name, facts.id, kind)}
        />
      </header>
      {asked.state === 'failed' && !isStale ? (
        <p class="missing">{asked.why}</p>
      ) : data?.count === 0 ? (
        <p class="missing">No values in this time.</p>
      ) : data === undefined ? (
        <div class="chart waiting" style={{ height: `${height}px` }} aria-busy="true" />
      ) : (
        <>
          <Chart
            {...{ data, start, bands, height, cursor, onRange, picture, ...extent }}
            {...(end === undefined ? {} : { whole: { from: start, to: end } })}
            threshold={shown?.threshold}
          />
          <Legend data={data} />
        </>
      )}
    </section>
  );
}

/** Charts above it may still grow as their values come; whoever moves the page decides. */
const SETTLED_MS = 5000;
const MOVES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

function keepInView(element: HTMLElement): () => void {
  const show = (): void => element.scrollIntoView({ block: 'center' });
  const watch = new ResizeObserver(show);
  const stop = (): void => {
    watch.disconnect();
    clearTimeout(timer);
    for (const move of MOVES) removeEventListener(move, stop);
  };
  const timer = setTimeout(stop, SETTLED_MS);
  for (const move of MOVES) addEventListener(move, stop, { passive: true });
  show();
  watch.observe(document.body);
  return stop;
}

/** Whether something is near what is seen; it stays so. */
function useSeen(element: { current: HTMLElement | null }): boolean {
  const [isSeen, set] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (all) => {
        if (all.some(({ isIntersecting }) => isIntersecting)) set(true);
      },
      { rootMargin: '900px' },
    );
    watch.observe(element.current!);
    // on paper everything is seen
    const show = (): void => set(true);
    addEventListener('beforeprint', show);
    return () => {
      watch.disconnect();
      removeEventListener('beforeprint', show);
    };
  }, []);
  return isSeen;
}

/** What the colours of a heat map mean. */
export function HeatLegend({ data }: { data: ChartData }) {
  const theme = useTheme();
  const [least, most] = heatScale(data);
  return (
    <p class="legend">
      {withUnit(least, data.unit)}
      <span class="scale" style={{ background: `linear-gradient(90deg, ${heatColours(theme).join(',')})` }} />
      {withUnit(most, data.unit)}
      <span>above: mean of all rows; beside: mean of each row</span>
      {unlikeRows(data).includes(true) && <Name colour={unlikeColour(theme)} text="unlike most rows" />}
    </p>
  );
}

function Legend({ data }: { data: ChartData }) {
  const theme = useTheme();
  if (data.as === 'heat') return <HeatLegend data={data} />;
  // the only line of a chart is what its title says
  if (data.as === 'lines' && data.focus === undefined && data.series.length < 2) return null;
  return (
    <p class="legend">
      {entriesOf(data, theme).map(({ name, colour, isDashed }) => (
        <Name key={name} colour={colour} text={name} isDashed={isDashed === true} />
      ))}
    </p>
  );
}

const Name = ({ colour, text, isDashed = false }: { colour: string; text: string; isDashed?: boolean }) => (
  <span>
    <i style={isDashed ? { borderTop: `3px dashed ${colour}`, height: 0 } : { background: colour }} />
    {text}
  </span>
);

/** What the series are, by what tells those of one node apart. */
const KINDS: Readonly<Record<string, string>> = { gpu: 'GPU', rank: 'rank', worker: 'worker' };

function summary({ band, unit, count, scope, limit }: ChartData, { adds, key }: ChartFacts): string {
  const maxima = (band?.max ?? []).filter((value) => value !== null);
  if (maxima.length === 0) return '';
  const most = Math.max(...maxima);
  const kind = key === undefined ? 'node' : (KINDS[key] ?? 'series');
  const what = count === 1 ? '' : `${count} ${kind === 'series' ? kind : `${kind}s`}, `;
  const whose = scope === 'node' ? ' (whole node)' : '';
  const held = limit === undefined ? '' : `, limit ${withUnit(limit, unit)}${count > 1 ? ' each' : ''}`;
  // of those that were measured: a node that fell silent is no node that did nothing
  const means = (band?.mean ?? []).filter((value) => value !== null);
  const mean = (means.reduce((a, b) => a + b, 0) / means.length) * (adds === true ? count : 1);
  const of = adds === true && count > 1 ? ' together' : '';
  return `${what}mean ${withUnit(mean, unit)}${of}, peak ${withUnit(most, unit)}${count > 1 ? ` of one ${kind}` : ''}${held}${whose}`;
}
