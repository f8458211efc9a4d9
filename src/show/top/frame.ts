import { formatDuration } from '../../base/duration.ts';
import { count } from '../../base/readable.ts';
import { blockLine } from '../../charts/blocks.ts';
import { withUnit } from '../../charts/value-text.ts';
import type { NodeNow } from '../../query/now/node-now.ts';
import type { Paint } from '../terminal/paint.ts';
import { cut, pad, printable, right, type TextColumn, textTable } from '../terminal/text-table.ts';

/** What is known of a job that runs. */
export interface TopState {
  job: { id: string; name: string; user: string; start: number; state: string };
  /** Epoch microseconds. */
  now: number;
  nodes: readonly NodeNow[];
  /** One entry for each look. */
  history: readonly Totals[];
  findings: readonly { severity: string; text: string }[];
}

export interface Totals {
  cpu: number | null;
  memory: number | null;
  gpu: number | null;
  io: number | null;
}

export const VIEWS = ['nodes', 'gpus', 'processes', 'findings'] as const;
export type TopView = (typeof VIEWS)[number];

/** What somebody looks at. */
export interface TopLook {
  view: TopView;
  /** Only of this node. */
  node?: string;
  filter: string;
  /** Whether the filter is being typed. */
  isTyping: boolean;
  /** A place among the columns of the view. */
  sort: number;
  selected: number;
}

export interface TopPage {
  width: number;
  height: number;
  pen: Paint;
  isUnicode: boolean;
}

/** Samples that are older are no longer what is going on now; microseconds. */
const SILENT = 30e6;
const CURVE = 40;

/** Whether what is known of a node is too old. */
export const isSilent = ({ last }: NodeNow, now: number): boolean => last === undefined || now - last > SILENT;

/** All of them together; null: not measured. */
export function totalsOf(nodes: readonly NodeNow[]): Totals {
  const sum = (values: readonly (number | undefined)[]): number | null => {
    const numbers = values.filter((value) => value !== undefined);
    return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0);
  };
  const cards = nodes.flatMap(({ gpus }) => gpus.map((gpu) => gpu.utilization_percent)).filter((v) => v !== undefined);
  const used = sum(cards);
  return {
    cpu: sum(nodes.map(({ cpu }) => cpu)),
    memory: sum(nodes.map(({ memory_bytes }) => memory_bytes)),
    gpu: used === null ? null : used / cards.length,
    io: sum(nodes.map(({ io_bytes_per_second }) => io_bytes_per_second)),
  };
}

interface Cell {
  text: string;
  /** What is sorted by; more comes first, of texts less. */
  value: number | string;
}

interface TopTable {
  heads: TextColumn[];
  rows: { id: string; cells: Cell[]; isSilent: boolean }[];
}

const quantity = (value: number | undefined, unit: string): Cell => ({
  text: value === undefined ? '-' : withUnit(value, unit),
  value: value ?? -1,
});
const word = (text: string): Cell => ({ text: printable(text), value: text });

function tableOf(state: TopState, { view, node }: TopLook): TopTable {
  const nodes = state.nodes.filter((each) => node === undefined || each.node === node);
  const silent = (each: NodeNow): boolean => isSilent(each, state.now);
  if (view === 'gpus')
    return {
      heads: [{ head: 'node' }, { head: 'GPU' }, right('busy'), right('memory'), right('power')],
      rows: nodes.flatMap((each) =>
        each.gpus.map((gpu) => ({
          id: each.node,
          isSilent: silent(each),
          cells: [
            word(each.node),
            word(gpu.gpu),
            quantity(gpu.utilization_percent, '%'),
            quantity(gpu.memory_used_bytes, 'bytes'),
            quantity(gpu.power_watts, 'W'),
          ],
        })),
      ),
    };
  if (view === 'processes')
    return {
      heads: [
        { head: 'node' },
        right('pid'),
        { head: 'user' },
        { head: 'S' },
        right('CPUs'),
        right('memory'),
        { head: 'program' },
      ],
      rows: nodes.flatMap((each) =>
        each.processes.map((one) => ({
          id: each.node,
          isSilent: silent(each),
          cells: [
            word(each.node),
            { text: String(one.pid), value: one.pid },
            word(one.user),
            word(one.state),
            quantity(one.cpu, ''),
            quantity(one.memory_bytes, 'bytes'),
            word(one.name),
          ],
        })),
      ),
    };
  return {
    heads: [
      { head: 'node' },
      right('CPUs'),
      right('memory'),
      right('GPU'),
      right('I/O'),
      right('processes'),
      { head: 'last sample' },
    ],
    rows: nodes.map((each) => {
      const { gpu } = totalsOf([each]);
      const age = each.last === undefined ? undefined : Math.max(0, (state.now - each.last) / 1e6);
      const lastSeenText =
        age === undefined
          ? 'none'
          : age * 1e6 > SILENT
            ? `silent for ${formatDuration(Math.round(age))}`
            : `${Math.round(age)} s ago`;
      return {
        id: each.node,
        isSilent: silent(each),
        cells: [
          word(each.node),
          quantity(each.cpu, ''),
          quantity(each.memory_bytes, 'bytes'),
          quantity(gpu ?? undefined, '%'),
          quantity(each.io_bytes_per_second, 'bytes/s'),
          { text: String(each.processes.length), value: each.processes.length },
          { text: lastSeenText, value: -(age ?? Number.POSITIVE_INFINITY) },
        ],
      };
    }),
  };
}

/** How many columns a view can be sorted by. */
export const sortsOf = (state: TopState, look: TopLook): number => tableOf(state, look).heads.length;

/** The rows that a view shows, sorted and filtered: whose they are. */
export function shownRows(state: TopState, look: TopLook): TopTable['rows'] {
  const { rows } = tableOf(state, look);
  const wanted = look.filter.toLowerCase();
  const by = look.sort;
  return rows
    .filter(({ cells }) => wanted === '' || cells.some(({ text }) => text.toLowerCase().includes(wanted)))
    .sort((a, b) => {
      const [left, right] = [a.cells[by]?.value ?? 0, b.cells[by]?.value ?? 0];
      if (typeof left === 'number' && typeof right === 'number') return right - left;
      return String(left).localeCompare(String(right), 'en', { numeric: true });
    });
}

/** The lines of a page, as many as it has at most. */
export function topFrame(state: TopState, look: TopLook, { width, height, pen, isUnicode }: TopPage): string[] {
  const { job, now, nodes, findings } = state;
  const cards = nodes.reduce((sum, each) => sum + each.gpus.length, 0);
  const ran = formatDuration(Math.max(0, Math.round((now - job.start) / 1e6)));
  const what = `${job.id} ${job.name}`;
  const facts = `${job.state} ${ran}, ${count(nodes.length, 'node')}${cards > 0 ? `, ${count(cards, 'GPU')}` : ''}`;
  const head = cut(printable(what), Math.max(8, width - facts.length - 2));
  const lines = [`${pen.bold(pad(head, Math.max(9, width - facts.length)))}${cut(facts, Math.max(0, width - 9))}`];
  lines.push(...curves(state, { width, pen, isUnicode }));
  const [worst] = findings;
  const more = findings.length > 1 ? `, and ${findings.length - 1} more (f)` : '';
  const findingText = worst === undefined ? 'No findings so far.' : `${worst.text}${more}`;
  lines.push(
    (worst?.severity === 'critical' ? pen.red : worst === undefined ? pen.dim : pen.yellow)(
      cut(printable(findingText), width),
    ),
    '',
  );
  const room = Math.max(1, height - lines.length - 2);
  if (look.view === 'findings') {
    const texts = findings.map(({ severity, text }) =>
      cut(printable(`${severity.toUpperCase().padEnd(9)} ${text}`), width),
    );
    lines.push(...(texts.length === 0 ? ['No findings so far.'] : texts).slice(0, room + 1));
  } else lines.push(...body(state, look, { width, pen, room }));
  while (lines.length < height - 1) lines.push('');
  return [...lines.slice(0, height - 1), foot(look, width, pen)];
}

function curves({ history }: TopState, { width, pen, isUnicode }: Omit<TopPage, 'height'>): string[] {
  const room = Math.min(CURVE, width - 34);
  const lines = (['cpu', 'memory', 'gpu', 'io'] as const).flatMap((key) => {
    const values = history.slice(-room).map((each) => each[key]);
    const latest = values.at(-1);
    if (values.every((value) => value === null)) return [];
    const unit = { cpu: 'CPUs', memory: 'bytes', gpu: '%', io: 'bytes/s' }[key];
    const most = Math.max(...values.map((value) => value ?? 0));
    const line = blockLine(values, values.length, most, isUnicode).padStart(room);
    const name = { cpu: 'CPU', memory: 'memory', gpu: 'GPU', io: 'I/O' }[key];
    return [
      `${pad(name, 8)}${pen.cyan(line)}  ${cut(`${withUnit(latest, unit)}, max ${withUnit(most, unit)}`, width - room - 10)}`,
    ];
  });
  return lines;
}

function body(
  state: TopState,
  look: TopLook,
  { width, pen, room }: { width: number; pen: Paint; room: number },
): string[] {
  const { heads } = tableOf(state, look);
  const rows = shownRows(state, look);
  const selected = Math.min(look.selected, Math.max(0, rows.length - 1));
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), rows.length - room));
  const shown = rows.slice(first, first + room);
  const [head = '', ...lines] = textTable(
    heads.map((each, i) => ({
      ...each,
      head: i === look.sort ? `${each.head}*` : each.head,
      ...(i < 2 ? {} : { spare: heads.length - i }),
    })),
    shown.map(({ cells }) => cells.map(({ text }) => text)),
    width - 2,
  );
  const marked = lines.map((line, i) => {
    const isSelected = first + i === selected;
    const text = `${isSelected ? '>' : ' '} ${line}`;
    return isSelected ? pen.bold(text) : shown[i]!.isSilent ? pen.dim(text) : text;
  });
  if (rows.length === 0)
    return [pen.dim(look.filter === '' ? noRows(state, look) : `Nothing has "${printable(look.filter)}".`)];
  return [pen.dim(`  ${head}`), ...marked];
}

function noRows({ nodes }: TopState, { view, node }: TopLook): string {
  const own = nodes.filter((each) => node === undefined || each.node === node);
  const isSampled = own.some(({ last }) => last !== undefined);
  if (isSampled && view === 'gpus') return `No GPU is recorded${node === undefined ? '' : ` on ${printable(node)}`}.`;
  if (isSampled && view === 'processes') return 'No process of the job is known now.';
  return 'Nothing was sampled yet.';
}

const GAP = '   ';
/** The line of keys, and shorter ones for where there is less room. */
const KEYS = [
  'n g p f: views  s: sort  /: filter  Enter: node  Esc: back  q: quit',
  'n g p f: views  s: sort  /: filter  Esc: back  q: quit',
  's: sort  /: filter  Esc: back  q: quit',
  '/: filter  Esc: back  q: quit',
];

function foot({ view, node, filter, isTyping }: TopLook, width: number, pen: Paint): string {
  if (isTyping) return cut(`/${printable(filter)}_  Enter: keep, Esc: none`, width);
  const where = `${view === 'gpus' ? 'GPUs' : view}${node === undefined ? '' : ` of ${node}`}${filter === '' ? '' : ` with "${filter}"`}`;
  const whereText = printable(where);
  const fitting = KEYS.find((keys) => whereText.length + GAP.length + keys.length <= width) ?? KEYS.at(-1)!;
  // a long filter is cut rather than the keys
  return pen.dim(
    cut(`${cut(whereText, Math.max(GAP.length, width - fitting.length - GAP.length))}${GAP}${fitting}`, width),
  );
}
