import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { line } from '../../../src/base/csv.ts';
import { parseDuration } from '../../../src/base/duration.ts';
import { parseBytes } from '../../../src/base/size.ts';
import type { ListedJob } from '../../../src/serve/api.ts';
import { go, link, setQuery } from '../address.ts';
import { type ChartFacts, type JobList, latest, useAnswer } from '../ask.ts';
import { Cursor, type Range } from '../charts/chart.tsx';
import { Panel } from '../charts/panel.tsx';
import { PAPER_WIDTH } from '../charts/paper.ts';
import { CopyLink } from '../parts/copy-link.tsx';
import { SearchField } from '../parts/query-fields.tsx';
import { Reading } from '../parts/reading.tsx';
import { usePrinting } from '../printing.ts';
import { bytes, count, duration, moment } from '../value-text.ts';

/** How often the list is asked for again. */
const AGAIN_MS = 5000;
/** While rows are still being worked out. */
const SOON_MS = 700;
const ROW = 30;
const FEWEST_COMPARED = 2;
const MOST_COMPARED = 6;

/** Jobs that are to be compared. */
const chosenIn = (query: URLSearchParams): string[] => (query.get('chosen') ?? '').split(',').filter(Boolean);

interface Column {
  name: string;
  title: string;
  width: number;
  value(job: ListedJob): number | string | undefined;
  text(job: ListedJob): string;
  /** 0 to 1: how good or bad a value is; the cell is coloured by it. */
  heat?(job: ListedJob): number | undefined;
  isNumber?: true;
  /** What a filter of numbers may look like. */
  hint?: string;
  /** A job's value and a bound that somebody typed, in the same unit; NaN if it is none. */
  against?(job: ListedJob, bound: string): [own: number | undefined, bound: number];
  /** Not shown where no job has a value. */
  isSparse?: true;
  /** Colours by amount: much is worth a look, it is neither good nor bad. */
  isAmount?: true;
  /** Its part of the room that is left. */
  grows?: number;
}

const share = (name: string, title: string, of: (job: ListedJob) => number | undefined): Column => ({
  name,
  title,
  width: 68,
  isNumber: true,
  value: of,
  text: (job) => (of(job) === undefined ? '' : `${Math.round(of(job)! * 100)} %`),
  heat: of,
  hint: '> 50 %',
  against: (job, bound) => [of(job), Number(bound.replace('%', '')) / 100],
});

/** A bound as people write it, or NaN. */
function read(parse: (text: string) => number, text: string): number {
  try {
    return parse(text);
  } catch {
    return Number.NaN;
  }
}

/** Microseconds of "2026-03-02" or "2026-03-02 08:00", local time as in the table. */
function parseMoment(text: string): number {
  const [, day, time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[t\s]+([\d:]+))?$/.exec(text) ?? [];
  return day === undefined ? Number(text) : Date.parse(`${day}T${time}`) * 1000;
}

/** A column of words; it is not there where no job has any. */
const word = (name: string, title: string, of: (job: ListedJob) => string | undefined): Column => ({
  name,
  title,
  width: 110,
  value: of,
  text: (job) => of(job) ?? '',
  isSparse: true,
});

/** Heat of an amount, on a scale of its own: each factor of ten is a step. */
const amount = (value: number | undefined, least: number, most: number): number | undefined =>
  value === undefined ? undefined : Math.max(0, Math.log10(Math.max(value, least) / least) / Math.log10(most / least));

/** Those that say most come first: what is further to the right is not seen on small screens. */
const COLUMNS: readonly Column[] = [
  { name: 'job', title: 'Job', width: 96, value: ({ job }) => job, text: ({ job }) => job },
  { name: 'name', title: 'Name', width: 140, grows: 2, value: (job) => nameOf(job), text: nameOf },
  { name: 'user', title: 'User', width: 76, value: ({ user }) => user, text: ({ user }) => user },
  {
    name: 'state',
    title: 'State',
    width: 104,
    value: ({ state }) => state,
    text: ({ state }) => state.replaceAll('_', ' '),
  },
  {
    name: 'duration',
    title: 'Duration',
    width: 124,
    isNumber: true,
    value: ({ wall_seconds: s }) => s,
    text: ({ wall_seconds: s }) => (s === undefined ? '' : duration(s)),
    heat: ({ wall_seconds: s }) => amount(s, 1, 172_800),
    hint: '> 10 min',
    against: ({ wall_seconds: s }, bound) => [s, read(parseDuration, bound)],
    isAmount: true,
  },
  share('cpu', 'CPU', ({ cpu_use }) => cpu_use),
  {
    ...share('memory', 'Memory', ({ memory_use }) => memory_use),
    text: (job) => (job.memory_peak_bytes === undefined ? '' : bytes(job.memory_peak_bytes)),
    width: 86,
    hint: '> 4 GiB',
    // the cell says bytes, its colour the share of what was asked for
    against: ({ memory_peak_bytes: peak, memory_use: use }, bound) =>
      /[a-z]/.test(bound) ? [peak, read(parseBytes, bound)] : [use, Number(bound.replace('%', '')) / 100],
  },
  { ...share('gpu', 'GPU', ({ gpu_use }) => gpu_use), isSparse: true },
  {
    name: 'waste',
    title: 'Core-h wasted',
    width: 106,
    isNumber: true,
    value: ({ core_hours_wasted: w }) => w,
    text: ({ core_hours_wasted: w }) =>
      w === undefined ? '' : w < 10 ? w.toFixed(2) : Math.round(w).toLocaleString('en-US'),
    heat: ({ core_hours_wasted: w }) => amount(w, 0.1, 10_000),
    isAmount: true,
  },
  {
    name: 'findings',
    title: 'Findings',
    width: 150,
    grows: 1.4,
    value: ({ findings }) => findings.length,
    text: ({ findings }) => findings.map((id) => id.replaceAll('-', ' ')).join(', '),
  },
  {
    name: 'start',
    title: 'Start',
    width: 142,
    isNumber: true,
    value: ({ start }) => start,
    text: ({ start }) => moment(start).slice(0, 16),
    hint: '> 2026-03-01',
    against: ({ start }, bound) => [start, parseMoment(bound)],
  },
  {
    name: 'nodes',
    title: 'Nodes',
    width: 64,
    isNumber: true,
    value: ({ nodes }) => nodes,
    text: ({ nodes }) => String(nodes),
  },
  {
    name: 'io',
    title: 'I/O',
    width: 84,
    isNumber: true,
    isSparse: true,
    isAmount: true,
    value: ({ io_bytes }) => io_bytes,
    text: ({ io_bytes }) => (io_bytes === undefined ? '' : bytes(io_bytes)),
    heat: ({ io_bytes }) => amount(io_bytes, 1e6, 1e13),
    hint: '> 1 GiB',
    against: ({ io_bytes }, bound) => [io_bytes, read(parseBytes, bound)],
  },
  word('account', 'Account', ({ account }) => account),
  word('partition', 'Partition', ({ partition }) => partition),
  word(
    'tags',
    'Tags',
    ({ tags }) =>
      Object.entries(tags)
        .map((tag) => tag.join(':'))
        .join(', ') || undefined,
  ),
];

function nameOf({ name, command, path }: ListedJob): string {
  return name || command || path.split('/').at(-1)!;
}

/** All jobs that are open: filter, sort, look. */
export function JobsPage({ query }: { query: URLSearchParams }) {
  const [again, setAgain] = useState(0);
  useEffect(() => {
    document.title = 'Jobs · Tacho';
  }, []);
  const asked = useAnswer<JobList>('/api/jobs', again);
  const list = latest(asked);
  useEffect(() => {
    if (asked.state === 'waiting') return undefined;
    const timer = setTimeout(() => setAgain((n) => n + 1), (list?.pending ?? 0) > 0 ? SOON_MS : AGAIN_MS);
    return () => clearTimeout(timer);
  }, [asked]);
  const jobs = list?.jobs ?? [];
  const sort = query.get('sort') ?? '-start';
  const shown = useMemo(() => sorted(jobs.filter(matching(query)), sort), [list, query.toString()]);
  const columns = useMemo(
    () =>
      COLUMNS.filter(
        ({ isSparse, value, name }) => !isSparse || query.has(name) || jobs.some((job) => value(job) !== undefined),
      ),
    [list],
  );
  const chosen = chosenIn(query);
  const selected = jobs.find(({ id }) => id === query.get('job-id'));

  if (list === undefined) return <Reading asked={asked} />;
  return (
    <section class="jobs" aria-label="Jobs">
      <header>
        <h1>
          Jobs{' '}
          <small>
            {shown.length === jobs.length
              ? count(jobs.length, 'job')
              : `${shown.length.toLocaleString('en-US')} of ${count(jobs.length, 'job')}`}
          </small>
        </h1>
        {list.pending > 0 && <span role="status">Reading {count(list.pending, 'more recording')} …</span>}
        <span class="rest" />
        {chosen.length > 0 && (
          <button
            type="button"
            disabled={chosen.length < FEWEST_COMPARED || chosen.length > MOST_COMPARED}
            title="Two to six jobs can be compared"
            onClick={() => go(`/compare?jobs=${chosen.join(',')}`)}
          >
            Compare {count(chosen.length, 'job')}
          </button>
        )}
        <CopyLink />
        <button type="button" disabled={shown.length === 0} onClick={() => exportCsv(columns, shown)}>
          Export {count(shown.length, 'job')} (CSV)
        </button>
        <SearchField query={query} label="Search jobs" hint="Search" />
      </header>
      {asked.state === 'failed' && <p class="trouble">{asked.why}</p>}
      {list.troubles.map((trouble) => (
        <p key={trouble} class="trouble">
          {trouble}
        </p>
      ))}
      {list.lacks !== undefined && jobs.length > 0 && <p class="faint">{list.lacks}</p>}
      {jobs.length > 0 && shown.length === 0 && (
        <p role="status">
          No job matches. {unreadable(query).join(' ')}{' '}
          <button type="button" onClick={() => setQuery(NO_FILTERS, true)}>
            Remove the filters
          </button>
        </p>
      )}
      {jobs.length === 0 && list.pending === 0 ? (
        <div class="empty">
          <h2>No jobs here yet</h2>
          <p>
            <code>tacho run -- COMMAND</code> records one; it appears here by itself.
          </p>
        </div>
      ) : (
        <Table columns={columns} jobs={shown} query={query} sort={sort} selected={selected?.id} />
      )}
      {jobs.length > 0 && <ColourLegend />}
      {selected !== undefined && <Strip key={selected.id} job={selected} />}
    </section>
  );
}

/** What the colours of cells mean. */
const ColourLegend = () => (
  <p class="legend cells">
    use of what was asked for: <span data-heat="">low</span>
    <span data-heat="" style={{ '--heat': '1' }}>
      high
    </span>
    amount:{' '}
    <span data-heat="amount" style={{ '--heat': '.15' }}>
      small
    </span>
    <span data-heat="amount" style={{ '--heat': '1' }}>
      large
    </span>{' '}
    a click on a row, or Space on its name, shows small charts
  </p>
);

/** What is asked for in the search box and above the columns. */
function matching(query: URLSearchParams): (job: ListedJob) => boolean {
  const searchWords = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const filters = COLUMNS.flatMap((column) => {
    const wanted = query.get(column.name)?.trim().toLowerCase();
    return wanted === undefined || wanted === '' ? [] : [{ column, wanted }];
  });
  return (job) =>
    searchWords.every((word) => allText(job).includes(word)) &&
    filters.every(({ column, wanted }) => isWanted(column, job, wanted));
}

const allText = (job: ListedJob): string =>
  [
    job.job,
    job.name,
    job.user,
    job.account,
    job.partition,
    job.command,
    job.state,
    ...job.findings,
    ...Object.entries(job.tags).map((tag) => tag.join(':')),
  ]
    .join(' ')
    .toLowerCase();

/** "< 20", "> 2 h", "20..50". */
const BOUNDS = /^(?:([<>]=?)\s*(.+)|(.+?)\s*\.\.\s*(.+))$/;

/** Filters that begin as a range does, and are none. */
const unreadable = (query: URLSearchParams): string[] =>
  COLUMNS.flatMap(({ name, title, isNumber, hint, against }) => {
    const wanted = query.get(name)?.trim() ?? '';
    const [, , limit, low, high] = BOUNDS.exec(wanted.toLowerCase()) ?? [];
    const bounds = [limit, low, high].filter((bound) => bound !== undefined);
    const isNone = (bound: string): boolean => Number.isNaN(against?.(NOBODY, bound)[1] ?? Number(bound));
    return isNumber && bounds.some(isNone)
      ? [`${title}: “${wanted}” cannot be read; write it as ${hint ?? '> 0'}.`]
      : [];
  });

/** For questions about a bound alone. */
const NOBODY = {} as ListedJob;
const NO_FILTERS = Object.fromEntries(['q', ...COLUMNS.map(({ name }) => name)].map((name) => [name, undefined]));

/** A range in the unit of the cell; else a part of the text. */
function isWanted({ value, text, isNumber, against }: Column, job: ListedJob, wanted: string): boolean {
  const [, sign, limit, low, high] = BOUNDS.exec(wanted) ?? [];
  const asked = (bound: string): [number, number] => {
    const [own, edge] = against?.(job, bound) ?? [Number(value(job) ?? Number.NaN), Number(bound)];
    return [own ?? Number.NaN, edge];
  };
  const first = asked(limit ?? low ?? '-');
  const second = asked(high ?? limit ?? '-');
  if (isNumber === undefined || Number.isNaN(first[1]) || Number.isNaN(second[1])) {
    return text(job).toLowerCase().includes(wanted);
  }
  const [own, edge] = first;
  if (sign === undefined) return own >= edge && second[0] <= second[1];
  return sign.startsWith('<')
    ? own < edge || (sign === '<=' && own === edge)
    : own > edge || (sign === '>=' && own === edge);
}

function sorted(jobs: ListedJob[], sort: string): ListedJob[] {
  const down = sort.startsWith('-');
  const column = COLUMNS.find(({ name }) => name === sort.replace(/^-/, ''));
  if (column === undefined) return jobs;
  return jobs.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    // what was not measured comes last, either way
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  });
}

interface TableProps {
  columns: readonly Column[];
  jobs: readonly ListedJob[];
  query: URLSearchParams;
  sort: string;
  selected?: string | undefined;
}

/** Only the rows that are seen are drawn. */
function Table({ columns, jobs, query, sort, selected }: TableProps) {
  const chosen = chosenIn(query);
  const box = useRef<HTMLDivElement>(null);
  const [[top, height, width], setSeen] = useState([0, 800, innerWidth]);
  const look = (): void => {
    if (box.current !== null) setSeen([box.current.scrollTop, box.current.clientHeight, box.current.clientWidth]);
  };
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => void performance.mark('jobs drawn'), [jobs]);
  const isPrinting = usePrinting();
  const first = isPrinting ? 0 : Math.max(0, Math.floor(top / ROW) - 8);
  const visibleJobs = jobs.slice(first, isPrinting ? MOST_PRINTED : first + Math.ceil(height / ROW) + 16);
  const longest = useMemo(() => jobs.reduce((most, { job }) => Math.max(most, job.length), 0), [jobs]);
  const isNarrow = width < NARROW && !isPrinting;
  const letters = isNarrow ? NARROW_LETTERS : MOST_LETTERS;
  const placed = isPrinting
    ? columns.slice(0, columns.findIndex(({ name }) => name === LAST_PRINTED) + 1)
    : isNarrow
      ? columns.toSorted((a, b) => placeOf(a) - placeOf(b))
      : columns;
  const sized = placed.map((each) => (each.name === 'job' ? { ...each, width: idWidth(longest, letters) } : each));
  const least = sized.reduce((sum, { width }) => sum + width, 0);
  const widths = sized
    .map(({ width, grows }) => (grows === undefined ? `${width}px` : `minmax(${width}px, ${grows}fr)`))
    .join(' ');
  return (
    <div
      ref={box}
      class="table"
      role="table"
      aria-label="Jobs"
      aria-rowcount={jobs.length}
      onScroll={look}
      style={{ '--columns': widths, '--least': `${least}px`, '--on-paper': String(Math.min(1, PAPER_WIDTH / least)) }}
    >
      <div class="row titles" role="row">
        {placed.map(({ name, title, isNumber, hint }) => {
          const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
          return (
            <div key={name} role="columnheader" aria-sort={order} class={isNumber && 'number'}>
              <button type="button" onClick={() => setQuery({ sort: sort === `-${name}` ? name : `-${name}` })}>
                {title}
                <span aria-hidden="true">{order === 'ascending' ? ' ▲' : order === 'descending' ? ' ▼' : ''}</span>
              </button>
              <input
                aria-label={`Filter by ${title}`}
                placeholder={hint ?? (isNumber ? '> 0' : 'filter')}
                value={query.get(name) ?? ''}
                onInput={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
              />
            </div>
          );
        })}
      </div>
      <div style={{ height: `${jobs.length * ROW}px`, position: 'relative' }} role="rowgroup">
        {visibleJobs.map((job, i) => (
          <div
            key={job.id}
            class="row"
            role="row"
            aria-rowindex={first + i + 1}
            style={{ top: `${(first + i) * ROW}px` }}
            aria-selected={job.id === selected}
            onClick={() => setQuery({ 'job-id': job.id === selected ? undefined : job.id })}
            onKeyDown={(event) => {
              // on a box Space chooses the job to compare
              if (event.key !== ' ' || (event.target as HTMLElement).tagName !== 'A') return;
              event.preventDefault();
              setQuery({ 'job-id': job.id === selected ? undefined : job.id });
            }}
          >
            {placed.map((column) => (
              <Cell key={column.name} column={column} job={job} chosen={chosen} letters={letters} />
            ))}
          </div>
        ))}
      </div>
      {isPrinting && jobs.length > MOST_PRINTED && (
        <p class="faint">{count(jobs.length - MOST_PRINTED, 'more job')} not printed.</p>
      )}
    </div>
  );
}

/** Jobs and columns that are printed. */
const MOST_PRINTED = 2000;
const LAST_PRINTED = 'start';
const MOST_LETTERS = 17;
/** Columns that a small screen has first, one narrower than this. */
const NARROW = 600;
const FIRST_COLUMNS = ['job', 'name', 'cpu', 'memory', 'findings', 'state', 'duration'];
const NARROW_LETTERS = 10;

const placeOf = ({ name }: Column): number => {
  const columnIndex = FIRST_COLUMNS.indexOf(name);
  return columnIndex < 0 ? FIRST_COLUMNS.length : columnIndex;
};

/** Ids of local jobs begin alike: as much as is shown of them must tell them apart. */
const idWidth = (letters: number, most: number): number => Math.max(80, Math.min(letters, most) * 8.4 + 40);
const shortId = (id: string, most: number): string =>
  id.length <= most
    ? id
    : `${most > NARROW_LETTERS ? id.slice(0, 4) : ''}…${id.slice(most > NARROW_LETTERS ? 5 - most : 1 - most)}`;

function choose(id: string, chosen: readonly string[]): void {
  const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
  setQuery({ chosen: next.join(',') });
}

interface CellProps {
  column: Column;
  job: ListedJob;
  chosen: readonly string[];
  /** That an id has, at most. */
  letters: number;
}

function Cell({ column, job, chosen, letters }: CellProps) {
  const heat = column.heat?.(job);
  const text = column.text(job);
  const names = [
    column.isNumber && 'number',
    column.name === 'state' && `state ${job.state}`,
    column.name === 'findings' && job.worst,
  ].filter(Boolean);
  return (
    <span
      role="cell"
      class={names.join(' ') || undefined}
      title={text}
      style={heat === undefined ? undefined : { '--heat': String(Math.min(1, heat)) }}
      data-heat={heat === undefined ? undefined : column.isAmount === true ? 'amount' : ''}
    >
      {column.name === 'name' ? (
        <a
          href={link(`/job/${job.id}`).href}
          aria-keyshortcuts="Space"
          onClick={(event) => {
            event.stopPropagation();
            link(`/job/${job.id}`).onClick(event);
          }}
        >
          {text}
        </a>
      ) : column.name === 'job' ? (
        <>
          <input
            type="checkbox"
            aria-label={`Compare ${nameOf(job)} ${job.job}`}
            checked={chosen.includes(job.id)}
            onClick={(event) => event.stopPropagation()}
            onChange={() => choose(job.id, chosen)}
          />{' '}
          {shortId(text, letters)}
        </>
      ) : (
        text
      )}
    </span>
  );
}

/** What is shown, as a file; numbers are those that columns are sorted by. */
function exportCsv(columns: readonly Column[], jobs: readonly ListedJob[]): void {
  const exported = ({ name, value, text }: Column, job: ListedJob): string =>
    String((name === 'findings' ? text(job) : value(job)) ?? '');
  const rows = [columns.map(({ name }) => name), ...jobs.map((job) => columns.map((column) => exported(column, job)))];
  const file = new Blob(rows.map(line), { type: 'text/csv' });
  const download = document.createElement('a');
  download.href = URL.createObjectURL(file);
  download.download = 'jobs.csv';
  download.click();
  URL.revokeObjectURL(download.href);
}

/** The charts that a look at a job begins with. */
const FIRST_CHARTS = ['cpu', 'gpu', 'read', 'written', 'received'];

/** The job of the selected row in small charts. */
function Strip({ job }: { job: ListedJob }) {
  const charts = latest(useAnswer<ChartFacts[]>(`/api/jobs/${job.id}/charts`)) ?? [];
  const cursor = useMemo(() => new Cursor(), []);
  // of a job whose own memory is not known that of its nodes is
  const memory = charts.some(({ id }) => id === 'memory') ? 'memory' : 'memory-node';
  const few = charts.filter(({ id }) => id === memory || FIRST_CHARTS.includes(id)).slice(0, 4);
  const zoom = ({ from, to }: Range): void => go(`/job/${job.id}?from=${Math.round(from)}&to=${Math.round(to)}`);
  return (
    <section class="strip" aria-label={`Charts of ${nameOf(job)}`}>
      <header>
        <h2>
          <a {...link(`/job/${job.id}`)}>{nameOf(job)}</a> <small>{job.job}</small>
        </h2>
        <span class="faint">{job.trouble ?? job.findings.map((id) => id.replaceAll('-', ' ')).join(', ')}</span>
        <button type="button" onClick={() => setQuery({ 'job-id': undefined })}>
          Close
        </button>
      </header>
      <div class="panels small">
        {few.map(({ heat: _, ...facts }) => (
          <Panel
            key={facts.id}
            job={job.id}
            name={job.job}
            start={job.start ?? 0}
            {...(job.wall_seconds === undefined ? {} : { end: (job.start ?? 0) + job.wall_seconds * 1e6 })}
            bands={NO_BANDS}
            again={0}
            onRange={zoom}
            {...{ facts, cursor }}
          />
        ))}
      </div>
    </section>
  );
}

const NO_BANDS: readonly never[] = [];
