import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ChartTheme, COLOURS, heatColours, LIGHT } from '../../../src/charts/option.ts';
import { timeTicks } from '../../../src/charts/ticks.ts';
import { setQuery } from '../address.ts';
import { latest, type ProcessData, useAnswer } from '../ask.ts';
import type { Range } from '../charts/chart.tsx';
import { usePaper } from '../charts/paper.ts';
import { useTheme } from '../theme.ts';
import { bytes, count, duration, percent, tickText } from '../value-text.ts';
import { Threads } from './threads.tsx';

interface Props {
  job: string;
  start: number;
  end: number;
  range: Range | undefined;
  again: number;
  query: URLSearchParams;
  onRange(range: Range): void;
}

const ROW = 18;
const SEEN_ROWS = 24;
/** Room for the times below the bars, or for the titles above figures. */
const HEAD = 20;
/** Phones. */
const NARROW = 600;
/** Times nearer to an edge than this do not stand around their place: they would be cut. */
const EDGE = 24;

/** How bars are coloured. */
const COLOURINGS = [
  ['operation', 'by operation'],
  ['cpu', 'by CPU use'],
] as const;
type Colouring = (typeof COLOURINGS)[number][0];

/** What stands beside the names: bars over time, or figures. */
const VIEWS = [
  ['time', 'time line'],
  ['tree', 'tree with figures'],
] as const;
type View = (typeof VIEWS)[number][0];

/** Every process of the job as a bar from its start to its end, in the order of the tree; branches can be closed. */
export function Processes({ job, start, end, range, again, query, onRange }: Props) {
  const asked = useAnswer<ProcessData>(`/api/jobs/${job}/processes`, again);
  const data = latest(asked);
  // all of it in the address: a link shows the same
  const text = query.get('process-filter') ?? '';
  const colouring: Colouring = query.get('process-colour') === 'operation' ? 'operation' : 'cpu';
  const view: View = query.get('process-view') === 'tree' ? 'tree' : 'time';
  const threadsOf = query.get('threads') ?? '';
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const tree = useMemo(() => (data === undefined ? undefined : treeOf(data)), [data]);
  const rows = useMemo(
    () => (tree === undefined ? [] : inOrder(data!, tree, text, range, closed)),
    [data, text, range?.from, range?.to, closed],
  );
  if (asked.state === 'failed' && data === undefined) return <p class="missing">{asked.why}</p>;
  if (data === undefined || data.length === 0) return null;
  const all = tree!.parents;
  return (
    <section class="processes" aria-label="Processes">
      <header>
        <h2>
          Processes{' '}
          <small>
            {rows.length === data.length
              ? count(data.length, 'process', 'processes')
              : `${count(rows.length, 'process', 'processes')} of ${data.length.toLocaleString('en-US')}`}
            {data.left_out !== undefined &&
              `; ${data.left_out.toLocaleString('en-US')} that used less CPU time are not in this file`}
          </small>
        </h2>
        <div class="choice" role="group" aria-label="How processes are shown">
          {VIEWS.map(([value, name]) => (
            <button
              key={value}
              type="button"
              aria-pressed={view === value}
              onClick={() => setQuery({ 'process-view': value === 'time' ? undefined : value })}
            >
              {name}
            </button>
          ))}
        </div>
        {data.names.length > 1 && (
          <div class="choice" role="group" aria-label="How processes are coloured">
            {COLOURINGS.map(([value, name]) => (
              <button
                key={value}
                type="button"
                aria-pressed={colouring === value}
                onClick={() => setQuery({ 'process-colour': value })}
              >
                {name}
              </button>
            ))}
          </div>
        )}
        <button type="button" onClick={() => setClosed(closed.size === 0 ? new Set(all) : new Set())}>
          {closed.size === 0 ? 'Close all branches' : 'Open all branches'}
        </button>
        <button type="button" onClick={() => setQuery({ threads: 'all' })}>
          Busiest threads
        </button>
        <input
          type="search"
          placeholder="Filter by command, pid, node"
          aria-label="Filter processes"
          value={text}
          onInput={({ currentTarget }) => setQuery({ 'process-filter': currentTarget.value })}
        />
      </header>
      <Gantt
        {...{ data, rows, start, end, range, onRange, colouring, view }}
        onToggle={(row) => setClosed((now) => toggled(now, row))}
        onThreads={(row) => setQuery({ threads: String(row) })}
      />
      {(threadsOf === 'all' || Number(threadsOf) < data.length) && threadsOf !== '' && (
        <Threads
          {...{ job, start, data }}
          process={threadsOf === 'all' ? undefined : Number(threadsOf)}
          onClose={() => setQuery({ threads: undefined })}
        />
      )}
    </section>
  );
}

function toggled(set: ReadonlySet<number>, row: number): Set<number> {
  const next = new Set(set);
  if (!next.delete(row)) next.add(row);
  return next;
}

interface Tree {
  children: ReadonlyMap<number, readonly number[]>;
  /** Processes that have children. */
  parents: readonly number[];
  /** CPU seconds of each with all below it. */
  total: Float64Array;
}

function treeOf(data: ProcessData): Tree {
  const children = new Map<number, number[]>();
  for (let i = 0; i < data.length; i++) {
    const parent = data.parent[i]!;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [i]);
    else list.push(i);
  }
  // by start, each family
  for (const list of children.values()) list.sort((a, b) => (data.start[a] ?? 0) - (data.start[b] ?? 0));
  const total = new Float64Array(data.length);
  const order: number[] = [];
  const stack = [...(children.get(-1) ?? [])];
  while (stack.length > 0) {
    const next = stack.pop()!;
    order.push(next);
    stack.push(...(children.get(next) ?? []));
  }
  for (const row of order.reverse()) {
    total[row]! += data.cpu[row] ?? 0;
    const parent = data.parent[row]!;
    if (parent >= 0) total[parent]! += total[row]!;
  }
  return { children, parents: [...children.keys()].filter((row) => row >= 0), total };
}

interface Row {
  row: number;
  depth: number;
  /** Its branch: closed, open, or there is none. */
  branch: 'closed' | 'open' | 'none';
  /** CPU seconds of all of the branch. */
  total: number;
}

/** Parents before their children, by start; those that match and lived in the time looked at. */
function inOrder(
  data: ProcessData,
  { children, total }: Tree,
  text: string,
  range: Range | undefined,
  closed: ReadonlySet<number>,
): Row[] {
  const wanted = text.trim().toLowerCase();
  const isWanted = (i: number): boolean => {
    if (
      range !== undefined &&
      ((data.start[i] ?? 0) > range.to || (data.end[i] ?? Number.POSITIVE_INFINITY) < range.from)
    )
      return false;
    if (wanted === '') return true;
    return (
      data.names[data.name[i]!]!.toLowerCase().includes(wanted) ||
      data.names[data.operation[i]!]!.toLowerCase().includes(wanted) ||
      String(data.pid[i]) === wanted ||
      data.nodes[data.node[i]!] === wanted
    );
  };
  const rows: Row[] = [];
  const stack = (children.get(-1) ?? []).map((row) => ({ row, depth: 0 })).reverse();
  while (stack.length > 0) {
    const { row, depth } = stack.pop()!;
    const below = children.get(row) ?? [];
    const isClosed = closed.has(row) && wanted === '';
    const branch = below.length === 0 ? 'none' : isClosed ? 'closed' : 'open';
    if (isWanted(row)) rows.push({ row, depth, branch, total: total[row]! });
    if (isClosed) continue;
    for (let i = below.length - 1; i >= 0; i--) stack.push({ row: below[i]!, depth: depth + 1 });
  }
  return rows;
}

interface GanttProps extends Omit<Props, 'job' | 'again' | 'query'> {
  data: ProcessData;
  rows: readonly Row[];
  colouring: Colouring;
  view: View;
  onToggle(row: number): void;
  /** Asks for the threads of a process. */
  onThreads(row: number): void;
}

/** The colour for a process that used so much of a CPU. */
const heatOf = (scale: readonly string[], share: number): string =>
  scale[Math.min(scale.length - 1, Math.floor(share * scale.length))]!;

function useWidth(box: RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 800));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return width;
}

function CpuLegend() {
  const theme = useTheme();
  return (
    <p class="legend">
      no CPU
      <span class="scale" style={{ background: `linear-gradient(90deg, ${heatColours(theme).join(',')})` }} />
      one CPU or more
      <Failed colour={failedColour('cpu', theme)} />
    </p>
  );
}

function Gantt({ data, rows, start, end, range, colouring, view, onRange, onToggle, onThreads }: GanttProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const width = useWidth(box);
  const [over, setOver] = useState<number>();
  const colours = useMemo(() => operationColours(data), [data]);
  const theme = useTheme();
  const [from, to] = range === undefined ? [start, end] : [range.from, range.to];
  const height = Math.min(rows.length, SEEN_ROWS) * ROW + HEAD;

  const drawing = { data, rows, start, from, to, height, top, colouring, colours, view };
  useEffect(() => {
    drawGantt(canvas.current!, { ...drawing, width, theme, over }, devicePixelRatio);
    performance.mark('processes drawn');
  }, [data, rows, top, width, height, from, to, theme, over, colouring, view]);
  const paper = usePaper((wide) => {
    const sheet = document.createElement('canvas');
    drawGantt(sheet, { ...drawing, width: wide, theme: LIGHT, over: undefined }, PAPER_RATIO);
    return sheet.toDataURL();
  });

  const pointed = over === undefined ? undefined : rows[over];
  const hovered = pointed?.row;
  const move = (by: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, (over ?? -1) + by));
    setOver(next);
    const element = box.current!;
    const y = next * ROW;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + height - HEAD) element.scrollTop = y + ROW - height + HEAD;
  };
  return (
    <div class="gantt">
      <div
        ref={box}
        class="scroll"
        style={{ height: `${height}px` }}
        role="img"
        tabIndex={0}
        aria-label={`${rows.length} processes over time`}
        onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
        onPointerMove={(event) => {
          const { top: edge } = box.current!.getBoundingClientRect();
          const down = event.clientY - edge - firstRowAt(view);
          const row = Math.floor((down + top) / ROW);
          setOver(down >= 0 && row < rows.length ? row : undefined);
        }}
        onPointerLeave={() => setOver(undefined)}
        onClick={(event) => {
          if (pointed === undefined) return;
          const { left: edge } = box.current!.getBoundingClientRect();
          // the sign of a branch stands before its name
          const sign = 22 + Math.min(pointed.depth, DEEPEST) * 10;
          if (pointed.branch !== 'none' && event.clientX - edge < sign) onToggle(pointed.row);
          else onThreads(pointed.row);
        }}
        onKeyDown={(event) => {
          const by = { ArrowDown: 1, ArrowUp: -1, PageDown: SEEN_ROWS, PageUp: -SEEN_ROWS }[event.key];
          if (by !== undefined) {
            event.preventDefault();
            move(by);
          } else if (event.key === 't' && pointed !== undefined) onThreads(pointed.row);
          else if (event.key === 'Enter' && pointed !== undefined && pointed.branch !== 'none') onToggle(pointed.row);
        }}
        onDblClick={() => {
          if (hovered === undefined) return;
          const [a, b] = [data.start[hovered] ?? from, data.end[hovered] ?? to];
          if (b > a) onRange({ from: a, to: b });
        }}
      >
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${height}px`, position: 'sticky', top: '0', display: 'block' }}
        />
        <div style={{ height: `${Math.max(0, rows.length * ROW + HEAD - height)}px` }} />
      </div>
      <img ref={paper} class="paper" alt="" />
      {colouring === 'cpu' && <CpuLegend />}
      {colouring === 'operation' && <Operations {...{ data, colours }} failed={failedColour(colouring, theme)} />}
      <p class="under" aria-live="polite">
        {hovered === undefined
          ? 'Point at a process (or use the arrow keys) for its figures. A click (or T) shows its threads, one on ▾ (or Enter) closes its branch, a double click shows its time.'
          : about(data, pointed!)}
      </p>
    </div>
  );
}

interface Drawing extends Pick<GanttProps, 'data' | 'rows' | 'start' | 'colouring' | 'view'> {
  from: number;
  to: number;
  width: number;
  height: number;
  /** Pixels of rows above those that are seen. */
  top: number;
  /** The row that is pointed at. */
  over: number | undefined;
  colours: ReturnType<typeof operationColours>;
  theme: ChartTheme;
}

/** Titles stand above figures, times below bars. */
const firstRowAt = (view: View): number => (view === 'tree' ? HEAD : 0);

/** Room for the names beside figures. */
const LEAST_NAMES = 200;
/** Pixels of paper for one of the page. */
const PAPER_RATIO = 2;

function drawGantt(element: HTMLCanvasElement, drawing: Drawing, ratio: number): void {
  const { data, rows, start, from, to, width, height, top, over, colouring, colours, view, theme } = drawing;
  const isNarrow = width < NARROW;
  const figures = FIGURES.slice(0, Math.max(2, Math.floor((width - LEAST_NAMES) / FIGURE_WIDTH)));
  const left =
    view === 'tree' ? width - figures.length * FIGURE_WIDTH - 8 : isNarrow ? 150 : Math.min(300, 0.35 * width);
  const scale = heatColours(theme);
  element.width = width * ratio;
  element.height = height * ratio;
  const pen = element.getContext('2d')!;
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  const across = width - left - 8;
  const at = (time: number): number => left + (Math.min(Math.max(time, from), to) - from) * (across / (to - from));
  pen.fillStyle = theme.faint;
  for (const time of view === 'time' ? timeTicks(from, to, start, isNarrow ? 3 : 6) : []) {
    const x = at(time);
    pen.textAlign = x < left + EDGE ? 'left' : x > width - EDGE ? 'right' : 'center';
    pen.fillText(tickText(time - start), x, height - 8);
  }
  if (view === 'tree') {
    pen.textAlign = 'right';
    for (const [i, { title }] of figures.entries()) pen.fillText(title, left + (i + 1) * FIGURE_WIDTH, HEAD / 2);
  }
  pen.textAlign = 'left';
  const first = Math.floor(top / ROW);
  const above = firstRowAt(view);
  pen.beginPath();
  pen.rect(0, above, width, height - HEAD);
  pen.clip();
  for (const [i, { row, depth, branch }] of rows.slice(first, first + SEEN_ROWS + 1).entries()) {
    const y = above + i * ROW - (top % ROW);
    if (first + i === over) {
      pen.fillStyle = theme.line;
      pen.fillRect(0, y, width, ROW);
    }
    const [begun, ended] = [data.start[row] ?? from, data.end[row] ?? to];
    const [x, right] = [at(begun), at(ended)];
    const life = Math.max(1e-3, (ended - begun) / 1e6);
    const busy = (data.cpu[row] ?? 0) / life;
    const colour = colouring === 'cpu' ? heatOf(scale, busy) : colours.get(data.operation[row]!)!.colour;
    if (view === 'time') {
      pen.fillStyle = colour;
      pen.fillRect(x, y + 3, Math.max(1, right - x), ROW - 6);
      if ((data.exit[row] ?? 0) !== 0) {
        pen.fillStyle = failedColour(colouring, theme);
        pen.fillRect(Math.max(x, right - 4), y + 1, 4, ROW - 2);
      }
    } else {
      pen.textAlign = 'right';
      pen.fillStyle = theme.text;
      for (const [k, { text }] of figures.entries())
        pen.fillText(text(data, rows[first + i]!), left + (k + 1) * FIGURE_WIDTH, y + ROW / 2);
      pen.textAlign = 'left';
      pen.fillStyle = colour;
      pen.fillRect(0, y + 3, 3, ROW - 6);
    }
    pen.fillStyle = theme.text;
    const sign = branch === 'none' ? '  ' : branch === 'open' ? '▾ ' : '▸ ';
    const x0 = 6 + Math.min(depth, DEEPEST) * 10;
    pen.fillText(fitting(pen, sign + data.names[data.name[row]!]!, left - 8 - x0), x0, y + ROW / 2);
  }
}

/** As much of a text as there is room for. */
function fitting(pen: CanvasRenderingContext2D, text: string, room: number): string {
  // a command may have a million characters
  const all = text.slice(0, 200);
  const width = pen.measureText(all).width;
  if (width <= room && all === text) return text;
  let length = Math.floor((all.length * room) / Math.max(width, room));
  while (length > 0 && pen.measureText(`${all.slice(0, length)}…`).width > room) length--;
  return `${all.slice(0, length)}…`;
}

/** Deeper branches are not moved further to the right. */
const DEEPEST = 12;
const FIGURE_WIDTH = 84;

/** Figures of the tree. */
const FIGURES: readonly { title: string; text(data: ProcessData, row: Row): string }[] = [
  { title: 'CPU total', text: (_, { total }) => duration(total) },
  { title: 'CPU self', text: (data, { row }) => (data.cpu[row] === null ? '' : duration(data.cpu[row]!)) },
  { title: 'duration', text: (data, { row }) => (lifeOf(data, row) === undefined ? '' : duration(lifeOf(data, row))) },
  {
    title: 'of a CPU',
    text: (data, { row }) => {
      const life = lifeOf(data, row);
      return life === undefined || data.cpu[row] === null ? '' : percent(data.cpu[row]! / Math.max(1e-3, life));
    },
  },
  { title: 'memory', text: (data, { row }) => (data.memory[row] === null ? '' : bytes(data.memory[row]!)) },
  { title: 'threads', text: (data, { row }) => (data.threads[row] === null ? '' : String(data.threads[row])) },
  { title: 'exit code', text: (data, { row }) => (data.exit[row] === null ? '' : String(data.exit[row])) },
];

/** Seconds. */
function lifeOf({ start, end }: ProcessData, row: number): number | undefined {
  const [begun, ended] = [start[row] ?? null, end[row] ?? null];
  return begun === null || ended === null ? undefined : (ended - begun) / 1e6;
}

/** The operations of a job, the largest first, each with its colour; processes without one are grey. */
function operationColours({ operation, names }: ProcessData): Map<number, { colour: string; members: number }> {
  const counts = new Map<number, number>();
  for (const each of operation) counts.set(each, (counts.get(each) ?? 0) + 1);
  let next = 0;
  return new Map(
    [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([each, members]) => {
        const colour = names[each] === '' ? COLOURS.at(-1)! : COLOURS[next++ % (COLOURS.length - 1)]!;
        return [each, { colour, members }];
      }),
  );
}

const MOST_NAMED = 10;

/** The end of a process that failed, in a colour that no bar has. */
const failedColour = (colouring: GanttProps['colouring'], theme: ChartTheme): string =>
  colouring === 'cpu' ? '#D55E00' : theme.text;

const Failed = ({ colour }: { colour: string }) => (
  <span>
    <i style={{ background: colour }} />
    ended with an error
  </span>
);

interface OperationsProps {
  data: ProcessData;
  colours: ReturnType<typeof operationColours>;
  failed: string;
}

/** Which colour is which operation, the largest first. */
function Operations({ data, colours, failed }: OperationsProps) {
  const counts = [...colours];
  return (
    <p class="legend">
      {counts.slice(0, MOST_NAMED).map(([operation, { colour, members }]) => (
        <span key={operation}>
          <i style={{ background: colour }} />
          {data.names[operation] || 'no operation'} ({members.toLocaleString('en-US')})
        </span>
      ))}
      {counts.length > MOST_NAMED && <span>and {counts.length - MOST_NAMED} more</span>}
      {data.exit.some((code) => (code ?? 0) !== 0) && <Failed colour={failed} />}
    </p>
  );
}

function about(data: ProcessData, { row: i, total, branch }: Row): string {
  const [begun, ended] = [data.start[i], data.end[i]];
  const facts = [
    `${data.nodes[data.node[i]!]} pid ${data.pid[i]}`,
    begun === null || ended === null || begun === undefined || ended === undefined
      ? 'not ended'
      : duration((ended - begun) / 1e6),
    data.cpu[i] === null ? undefined : `${duration(data.cpu[i]!)} CPU self`,
    branch === 'none' ? undefined : `${duration(total)} CPU total`,
    data.rank.length === 0 || data.rank[i] === '' ? undefined : `rank ${data.rank[i]}`,
    data.names[data.operation[i]!] === '' ? undefined : data.names[data.operation[i]!],
    data.memory[i] === null ? undefined : bytes(data.memory[i]!),
    data.threads[i] === null ? undefined : count(data.threads[i]!, 'thread'),
    (data.exit[i] ?? 0) === 0 ? undefined : `exit code ${data.exit[i]}`,
  ];
  return `${facts.filter((fact) => fact !== undefined).join(' · ')} · ${data.names[data.name[i]!]}`;
}
