import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { COLOURS } from '../../../src/charts/option.ts';
import { latest, type ProcessData, useAnswer } from '../ask.ts';
import type { Range } from '../charts/chart.tsx';
import { useTheme } from '../theme.ts';
import { bytes, count, duration, sinceStart } from '../words.ts';

interface Props {
  job: string;
  start: number;
  end: number;
  range: Range | undefined;
  again: number;
  onRange(range: Range): void;
}

const ROW = 15;
const SEEN_ROWS = 24;
const LEFT = 230;

/** Every process of the job as a bar from its start to its end, in the order of the tree. */
export function Processes({ job, start, end, range, again, onRange }: Props) {
  const asked = useAnswer<ProcessData>(`/api/jobs/${job}/processes`, again);
  const data = latest(asked);
  const [text, setText] = useState('');
  const rows = useMemo(
    () => (data === undefined ? [] : inOrder(data, text, range)),
    [data, text, range?.from, range?.to],
  );
  if (data === undefined || data.length === 0) return null;
  return (
    <section class="processes" aria-label="Processes">
      <header>
        <h2>
          Processes{' '}
          <small>
            {rows.length === data.length
              ? count(data.length, 'process', 'processes')
              : `${count(rows.length, 'process', 'processes')} of ${data.length.toLocaleString('en-US')}`}
          </small>
        </h2>
        <input
          type="search"
          placeholder="Filter by command, pid or node"
          aria-label="Filter processes"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </header>
      <Gantt {...{ data, rows, start, end, range, onRange }} />
    </section>
  );
}

/** Parents before their children, by start; those that match and lived in the time looked at. */
function inOrder(data: ProcessData, text: string, range: Range | undefined): { row: number; depth: number }[] {
  const children = new Map<number, number[]>();
  for (let i = 0; i < data.length; i++) {
    const parent = data.parent[i]!;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [i]);
    else list.push(i);
  }
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
      String(data.pid[i]) === wanted ||
      data.nodes[data.node[i]!] === wanted
    );
  };
  const rows: { row: number; depth: number }[] = [];
  const stack = (children.get(-1) ?? []).map((row) => ({ row, depth: 0 })).reverse();
  while (stack.length > 0) {
    const next = stack.pop()!;
    if (isWanted(next.row)) rows.push(next);
    const below = children.get(next.row) ?? [];
    for (let i = below.length - 1; i >= 0; i--) stack.push({ row: below[i]!, depth: next.depth + 1 });
  }
  return rows;
}

interface GanttProps extends Omit<Props, 'job' | 'again'> {
  data: ProcessData;
  rows: readonly { row: number; depth: number }[];
}

function Gantt({ data, rows, start, end, range, onRange }: GanttProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [width, setWidth] = useState(800);
  const [over, setOver] = useState<number>();
  const theme = useTheme();
  const [from, to] = range === undefined ? [start, end] : [range.from, range.to];
  const height = Math.min(rows.length, SEEN_ROWS) * ROW + 20;

  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 800));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const [element, scale] = [canvas.current!, devicePixelRatio];
    element.width = width * scale;
    element.height = height * scale;
    const pen = element.getContext('2d')!;
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    pen.font = '11px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    const across = width - LEFT - 8;
    const at = (time: number): number => LEFT + (Math.min(Math.max(time, from), to) - from) * (across / (to - from));
    pen.fillStyle = theme.faint;
    for (let i = 0; i <= 5; i++) {
      const time = from + ((to - from) * i) / 5;
      pen.textAlign = i === 5 ? 'right' : i === 0 ? 'left' : 'center';
      pen.fillText(sinceStart(time - start), at(time), height - 8);
    }
    pen.textAlign = 'left';
    const first = Math.floor(top / ROW);
    for (const [i, { row, depth }] of rows.slice(first, first + SEEN_ROWS + 1).entries()) {
      const y = i * ROW - (top % ROW);
      if (y + ROW > height - 16) break;
      if (first + i === over) {
        pen.fillStyle = theme.line;
        pen.fillRect(0, y, width, ROW);
      }
      const [begun, ended] = [data.start[row] ?? from, data.end[row] ?? to];
      const [x, right] = [at(begun), at(ended)];
      const life = Math.max(1e-3, (ended - begun) / 1e6);
      const busy = (data.cpu[row] ?? 0) / life;
      pen.globalAlpha = 0.25 + 0.75 * Math.min(1, busy);
      pen.fillStyle = COLOURS[data.operation[row]! % COLOURS.length]!;
      pen.fillRect(x, y + 2, Math.max(1, right - x), ROW - 4);
      pen.globalAlpha = 1;
      if ((data.exit[row] ?? 0) !== 0) {
        pen.fillStyle = '#D55E00';
        pen.fillRect(Math.max(x, right - 3), y + 2, 3, ROW - 4);
      }
      pen.save();
      pen.beginPath();
      pen.rect(0, y, LEFT - 6, ROW);
      pen.clip();
      pen.fillStyle = theme.text;
      pen.fillText(data.names[data.name[row]!]!, 4 + Math.min(depth, 12) * 9, y + ROW / 2);
      pen.restore();
    }
  }, [data, rows, top, width, height, from, to, theme, over]);

  const hovered = over === undefined ? undefined : rows[over]?.row;
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
          const row = Math.floor((event.clientY - edge + top) / ROW);
          setOver(row < rows.length ? row : undefined);
        }}
        onPointerLeave={() => setOver(undefined)}
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
        <div style={{ height: `${Math.max(0, rows.length * ROW + 20 - height)}px` }} />
      </div>
      <p class="under" aria-live="polite">
        {hovered === undefined
          ? 'Point at a process for its figures; a double click shows its time.'
          : about(data, hovered)}
      </p>
    </div>
  );
}

function about(data: ProcessData, i: number): string {
  const [begun, ended] = [data.start[i], data.end[i]];
  const facts = [
    `${data.nodes[data.node[i]!]} pid ${data.pid[i]}`,
    begun === null || ended === null || begun === undefined || ended === undefined
      ? 'not ended'
      : duration((ended - begun) / 1e6),
    data.cpu[i] === null ? undefined : `${duration(data.cpu[i]!)} CPU`,
    data.memory[i] === null ? undefined : bytes(data.memory[i]!),
    data.threads[i] === null ? undefined : count(data.threads[i]!, 'thread'),
    (data.exit[i] ?? 0) === 0 ? undefined : `exit code ${data.exit[i]}`,
  ];
  return `${facts.filter((fact) => fact !== undefined).join(' · ')} · ${data.names[data.name[i]!]}`;
}
