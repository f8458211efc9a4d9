import { useEffect, useRef, useState } from 'preact/hooks';
import { type ChartTheme, colourOf, LIGHT, MARGINS } from '../../../src/charts/option.ts';
import { timeTicks } from '../../../src/charts/ticks.ts';
import { type DaskStreamData, latest, useAnswer } from '../ask.ts';
import type { Cursor, Range } from '../charts/chart.tsx';
import { usePaper } from '../charts/paper.ts';
import { useTheme } from '../theme.ts';
import { count, duration, tickText } from '../value-text.ts';

interface Props {
  job: string;
  start: number;
  end: number;
  range: Range | undefined;
  again: unknown;
  cursor: Cursor;
  onRange(range: Range): void;
}

type Stream = NonNullable<DaskStreamData['stream']>;
type Task = Stream['tasks'][number];

/** Of a lane; of many lanes each is lower. */
const LANE = 12;
const LOWEST_LANE = 3;
const LANES_HEIGHT = 768;
const MOST_LANES = 256;
/** Of the times below the lanes. */
const AXIS = 16;
/** Times closer to an end would be cut. */
const EDGE = 20;
const MOST_NAMES = 8;

/** The tasks of a Dask cluster above the charts: a lane for each thread of each worker, one cursor with all charts. */
export function Dask({ job, start, end, range, again, cursor, onRange }: Props) {
  const theme = useTheme();
  const rangeQuery = range === undefined ? '' : `?from=${Math.round(range.from)}&to=${Math.round(range.to)}`;
  const stream = latest(useAnswer<DaskStreamData>(`/api/jobs/${job}/dask${rangeQuery}`, again))?.stream;
  if (stream === undefined || stream === null) return null;
  const { prefixes, graph_count, failed, together_below: below } = stream;
  return (
    <section class="card dask" aria-label="Tasks of the Dask cluster">
      <h2>
        Dask tasks{' '}
        <small>
          {count(
            prefixes.reduce((sum, each) => sum + each.tasks, 0),
            'task',
          )}
          {graph_count > 0 && ` in ${count(graph_count, 'graph')}`}
          {failed > 0 && `, ${failed.toLocaleString('en-US')} failed or lost`}
        </small>
      </h2>
      <Lanes {...{ stream, start, cursor, onRange }} from={range?.from ?? start} to={range?.to ?? end} />
      <ul class="keys">
        {prefixes.slice(0, MOST_NAMES).map(({ prefix, tasks, seconds }, i) => (
          <li key={prefix}>
            <i style={{ background: colourOf(theme, i) }} /> {prefix}{' '}
            <small>
              {tasks.toLocaleString('en-US')} · {duration(seconds)}
            </small>
          </li>
        ))}
        {prefixes.length > MOST_NAMES && (
          <li class="faint">{count(prefixes.length - MOST_NAMES, 'more prefix', 'more prefixes')}</li>
        )}
        {failed > 0 && (
          <li>
            <i style={{ background: theme.text }} /> failed or lost
          </li>
        )}
      </ul>
      {below > 0 && <p class="faint">Tasks shorter than {duration(below)} are drawn together: zoom in.</p>}
      <Graphs stream={stream} />
    </section>
  );
}

function Lanes({
  stream,
  start,
  from,
  to,
  cursor,
  onRange,
}: {
  stream: Stream;
  start: number;
  from: number;
  to: number;
  cursor: Cursor;
  onRange(range: Range): void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const [over, setOver] = useState<Task>();
  const theme = useTheme();
  const lanes = stream.lanes.slice(0, MOST_LANES);
  const { left, right } = MARGINS.lines;
  const lane = laneHeight(stream);
  const height = Math.max(1, lanes.length) * lane;
  const [width, setWidth] = useState(0);

  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    watch.observe(canvas.current!);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current!;
    drawLanes(element, element.clientWidth, devicePixelRatio, { stream, start, from, to, theme });
  }, [stream, start, from, to, width, theme, lane, height]);
  const paper = usePaper((wide) => {
    const sheet = document.createElement('canvas');
    drawLanes(sheet, wide - left - right, PAPER_RATIO, { stream, start, from, to, theme: LIGHT });
    return sheet.toDataURL();
  });

  useEffect(
    () =>
      cursor.listen((time) => {
        const mark = line.current;
        if (mark === null || canvas.current === null) return;
        const isSeen = time !== undefined && time >= from && time <= to;
        mark.hidden = !isSeen;
        if (isSeen) mark.style.left = `${left + ((time - from) / (to - from)) * canvas.current.clientWidth}px`;
      }),
    [cursor, from, to],
  );

  const timeAt = (event: PointerEvent): number => {
    const { left: edge, width: wide } = canvas.current!.getBoundingClientRect();
    return from + Math.min(1, Math.max(0, (event.clientX - edge) / wide)) * (to - from);
  };
  const taskAt = (event: PointerEvent): Task | undefined => {
    const at = Math.floor((event.clientY - canvas.current!.getBoundingClientRect().top) / lane);
    const time = timeAt(event);
    const near = ((to - from) / Math.max(1, width)) * 2;
    return stream.tasks.find((task) => task.lane === at && task.from - near <= time && task.to + near >= time);
  };
  return (
    <div class="lanes" style={{ paddingLeft: `${left}px`, paddingRight: `${right}px` }}>
      {labelled(lanes, lane).map(({ worker, name, at }) => (
        <span key={worker} class="worker" title={worker} style={{ top: `${at * lane}px`, width: `${left - 6}px` }}>
          {workerLabel(name, worker)}
        </span>
      ))}
      <canvas
        ref={canvas}
        style={{ display: 'block', width: '100%', height: `${height + AXIS}px` }}
        role="img"
        aria-label={`${count(
          stream.tasks.reduce((sum, each) => sum + each.count, 0),
          'task',
        )} on ${count(stream.lanes.length, 'thread')} of workers`}
        onPointerMove={(event) => {
          cursor.set(timeAt(event));
          setOver(taskAt(event));
        }}
        onPointerLeave={() => {
          cursor.set(undefined);
          setOver(undefined);
        }}
        onClick={(event) => {
          const task = taskAt(event as unknown as PointerEvent);
          if (task !== undefined && task.to > task.from) onRange({ from: task.from, to: task.to });
        }}
      />
      <img ref={paper} class="paper" alt="" />
      <div ref={line} class="cursor" style={{ top: 0, height: `${height}px` }} hidden />
      <p class="under" role="status">
        {over === undefined
          ? `${count(stream.lanes.length, 'thread')} of workers${stream.lanes.length > MOST_LANES ? `, the first ${MOST_LANES} are drawn` : ''}`
          : `${taskName(stream, over)}: ${duration((over.to - over.from) / 1e6)} on ${laneName(stream, over)}${over.outcome === 'ok' ? '' : ` (${over.outcome})`}`}
      </p>
    </div>
  );
}

/** The first lane of each worker, as far as there is room for their names. */
function labelled(lanes: Stream['lanes'], height: number): (Stream['lanes'][number] & { at: number })[] {
  let free = 0;
  return lanes.flatMap((lane, at) => {
    if (lanes[at - 1]?.worker === lane.worker || at * height < free) return [];
    free = at * height + LANE;
    return [{ ...lane, at }];
  });
}

interface Drawing {
  stream: Stream;
  start: number;
  from: number;
  to: number;
  theme: ChartTheme;
}

/** Pixels of paper for one of the page. */
const PAPER_RATIO = 2;

function drawLanes(
  element: HTMLCanvasElement,
  width: number,
  ratio: number,
  { stream, start, from, to, theme }: Drawing,
): void {
  const lane = laneHeight(stream);
  const height = Math.max(1, Math.min(stream.lanes.length, MOST_LANES)) * lane;
  const apart = lane > LOWEST_LANE + 2 ? 2 : 1;
  element.width = width * ratio;
  element.height = (height + AXIS) * ratio;
  const pen = element.getContext('2d')!;
  pen.scale(ratio, ratio);
  const at = (time: number): number => ((time - from) / (to - from)) * width;
  pen.font = '11px sans-serif';
  pen.fillStyle = theme.faint;
  for (const time of timeTicks(from, to, start, width < 500 ? 3 : 6)) {
    const x = at(time);
    pen.textAlign = x < EDGE ? 'left' : x > width - EDGE ? 'right' : 'center';
    pen.fillText(tickText(time - start), x, height + AXIS - 4);
  }
  for (const { from: begin, to: stop, lane: row, prefix, outcome } of stream.tasks) {
    if (row >= MOST_LANES) continue;
    pen.fillStyle = outcome === 'ok' ? colourOf(theme, prefix) : theme.text;
    pen.fillRect(at(begin), row * lane + apart / 2, Math.max(1, at(stop) - at(begin)), lane - apart);
  }
}

const laneHeight = ({ lanes }: Stream): number =>
  Math.max(LOWEST_LANE, Math.min(LANE, Math.floor(LANES_HEIGHT / Math.max(1, Math.min(lanes.length, MOST_LANES)))));

function taskName({ prefixes }: Stream, { key, prefix, count: tasks }: Task): string {
  return tasks === 1 ? key : `${count(tasks, 'task')}, most of them ${prefixes[prefix]!.prefix}`;
}

/** What tells workers apart, where there is little room: of an address its end. */
const workerLabel = (name: string, worker: string): string =>
  name === '' || name === worker ? `…${worker.slice(-9)}` : name;

function laneName({ lanes }: Stream, { lane }: Task): string {
  const { worker, name } = lanes[lane]!;
  return name === '' ? worker : `worker ${name}`;
}

/** How far each graph came. */
function Graphs({ stream: { graphs, graph_count } }: { stream: Stream }) {
  if (graphs.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Graphs">
      <table class="figures">
        <thead>
          <tr>
            {['Job', 'Graph', 'Name', 'Tasks', 'Done', 'Duration'].map((title) => (
              <th key={title} scope="col" class={title === 'Tasks' || title === 'Duration' ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {graphs.map(({ time, job, dag, name, tasks, done, failed, end }) => (
            <tr key={`${job} ${dag} ${time}`}>
              <td>{job}</td>
              <td>{dag}</td>
              <td>{name}</td>
              <td class="number">{tasks.toLocaleString('en-US')}</td>
              <td>
                {tasks === 0 ? '' : `${Math.floor((100 * done) / tasks)} %`}
                {failed > 0 && `, ${failed.toLocaleString('en-US')} failed`}
              </td>
              <td class="number">{end === null ? 'not finished' : duration((end - time) / 1e6)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {graph_count > graphs.length && (
        <p class="faint">{count(graph_count - graphs.length, 'later graph')}: zoom in.</p>
      )}
    </div>
  );
}
