import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ListedJob } from '../../../src/serve/api.ts';
import { link, setQuery } from '../address.ts';
import { type JobList, latest, useAnswer } from '../ask.ts';
import { bytes, count, duration, moment } from '../words.ts';

/** How often the list is asked for again. */
const AGAIN_MS = 5000;
const ROW = 30;

interface Column {
  name: string;
  title: string;
  width: number;
  value(job: ListedJob): number | string | undefined;
  text(job: ListedJob): string;
  /** 0 to 1: how good or bad a value is; the cell is coloured by it. */
  heat?(job: ListedJob): number | undefined;
  isNumber?: true;
  /** Its part of the room that is left. */
  grows?: number;
}

const share = (name: string, title: string, of: (job: ListedJob) => number | undefined): Column => ({
  name,
  title,
  width: 76,
  isNumber: true,
  value: of,
  text: (job) => (of(job) === undefined ? '' : `${Math.round(of(job)! * 100)} %`),
  heat: of,
});

const COLUMNS: readonly Column[] = [
  { name: 'job', title: 'Job', width: 90, value: ({ job }) => job, text: ({ job }) => job },
  { name: 'name', title: 'Name', width: 200, grows: 2, value: (job) => nameOf(job), text: nameOf },
  { name: 'user', title: 'User', width: 90, value: ({ user }) => user, text: ({ user }) => user },
  {
    name: 'state',
    title: 'Ended',
    width: 110,
    value: ({ state }) => state,
    text: ({ state }) => state.replaceAll('_', ' '),
  },
  {
    name: 'start',
    title: 'Start',
    width: 150,
    isNumber: true,
    value: ({ start }) => start,
    text: ({ start }) => moment(start).slice(0, 16),
  },
  {
    name: 'duration',
    title: 'Duration',
    width: 100,
    isNumber: true,
    value: ({ wall_seconds: s }) => s,
    text: ({ wall_seconds: s }) => (s === undefined ? '' : duration(s)),
  },
  {
    name: 'nodes',
    title: 'Nodes',
    width: 64,
    isNumber: true,
    value: ({ nodes }) => nodes,
    text: ({ nodes }) => String(nodes),
  },
  share('cpu', 'CPU', ({ cpu_use }) => cpu_use),
  {
    ...share('memory', 'Memory', ({ memory_use }) => memory_use),
    text: (job) => (job.memory_peak_bytes === undefined ? '' : bytes(job.memory_peak_bytes)),
    width: 90,
  },
  share('gpu', 'GPU', ({ gpu_use }) => gpu_use),
  {
    name: 'waste',
    title: 'Core-hours wasted',
    width: 130,
    isNumber: true,
    value: ({ core_hours_wasted: w }) => w,
    text: ({ core_hours_wasted: w }) =>
      w === undefined ? '' : w < 10 ? w.toFixed(2) : Math.round(w).toLocaleString('en-US'),
  },
  {
    name: 'findings',
    title: 'Findings',
    width: 200,
    grows: 1.4,
    value: ({ findings }) => findings.length,
    text: ({ findings }) => findings.join(', '),
  },
];

function nameOf({ name, command, path }: ListedJob): string {
  return name || command || path.split('/').at(-1)!;
}

/** All jobs that are open: filter, sort, look. */
export function JobsPage({ query }: { query: URLSearchParams }) {
  const [again, setAgain] = useState(0);
  useEffect(() => {
    document.title = 'Jobs · Tacho';
    const timer = setInterval(() => setAgain((n) => n + 1), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const asked = useAnswer<JobList>('/api/jobs', again);
  const list = latest(asked);
  const jobs = list?.jobs ?? [];
  const sort = query.get('sort') ?? '-start';
  const shown = useMemo(() => sorted(jobs.filter(matching(query)), sort), [list, query.toString()]);
  const columns = COLUMNS.filter((column) => column.name !== 'gpu' || jobs.some((job) => job.gpu_use !== undefined));

  if (list === undefined)
    return asked.state === 'failed' ? (
      <p class="trouble">{asked.why}</p>
    ) : (
      <div class="empty" aria-busy="true">
        Reading …
      </div>
    );
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
        <input
          type="search"
          placeholder="Search"
          aria-label="Search jobs"
          value={query.get('q') ?? ''}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
        />
      </header>
      {asked.state === 'failed' && <p class="trouble">{asked.why}</p>}
      {list.troubles.map((trouble) => (
        <p key={trouble} class="trouble">
          {trouble}
        </p>
      ))}
      {jobs.length === 0 ? (
        <div class="empty">
          <h2>No jobs here yet</h2>
          <p>
            <code>tacho run -- COMMAND</code> records one; it appears here by itself.
          </p>
        </div>
      ) : (
        <Table columns={columns} jobs={shown} query={query} sort={sort} />
      )}
    </section>
  );
}

/** What is asked for in the search box and above the columns. */
function matching(query: URLSearchParams): (job: ListedJob) => boolean {
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const filters = COLUMNS.flatMap((column) => {
    const wanted = query.get(column.name)?.trim().toLowerCase();
    return wanted === undefined || wanted === '' ? [] : [{ column, wanted }];
  });
  return (job) =>
    words.every((word) => allText(job).includes(word)) &&
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

/** "< 20", "> 90", "20..50" of numbers (percent where the cell is), else a part of the text. */
function isWanted({ value, text, heat, isNumber }: Column, job: ListedJob, wanted: string): boolean {
  const bounds = /^(?:([<>]=?)\s*([\d.]+)|([\d.]+)\s*\.\.\s*([\d.]+))$/.exec(wanted);
  if (isNumber === undefined || bounds === null) return text(job).toLowerCase().includes(wanted);
  const own = Number(value(job) ?? Number.NaN) * (heat === undefined ? 1 : 100);
  const [, sign, limit, low, high] = bounds;
  if (sign === undefined) return own >= Number(low) && own <= Number(high);
  return sign.startsWith('<')
    ? own < Number(limit) || (sign === '<=' && own === Number(limit))
    : own > Number(limit) || (sign === '>=' && own === Number(limit));
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
}

/** Only the rows that are seen are drawn. */
function Table({ columns, jobs, query, sort }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [[top, height], setSeen] = useState([0, 800]);
  const look = (): void => {
    if (box.current !== null) setSeen([box.current.scrollTop, box.current.clientHeight]);
  };
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - 8);
  const seen = jobs.slice(first, first + Math.ceil(height / ROW) + 16);
  const least = columns.reduce((sum, { width }) => sum + width, 0);
  const widths = columns
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
      style={{ '--columns': widths, '--least': `${least}px` }}
    >
      <div class="row titles" role="row">
        {columns.map(({ name, title, isNumber }) => {
          const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
          return (
            <div key={name} role="columnheader" aria-sort={order} class={isNumber && 'number'}>
              <button type="button" onClick={() => setQuery({ sort: sort === `-${name}` ? name : `-${name}` })}>
                {title}
                <span aria-hidden="true">{order === 'ascending' ? ' ▲' : order === 'descending' ? ' ▼' : ''}</span>
              </button>
              <input
                aria-label={`Filter by ${title}`}
                placeholder={isNumber ? '> 0' : 'filter'}
                value={query.get(name) ?? ''}
                onInput={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
              />
            </div>
          );
        })}
      </div>
      <div style={{ height: `${jobs.length * ROW}px`, position: 'relative' }} role="rowgroup">
        {seen.map((job, i) => (
          <div
            key={job.id}
            class="row"
            role="row"
            aria-rowindex={first + i + 1}
            style={{ top: `${(first + i) * ROW}px` }}
            onClick={link(`/job/${job.id}`).onClick}
          >
            {columns.map((column) => (
              <Cell key={column.name} column={column} job={job} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function Cell({ column, job }: { column: Column; job: ListedJob }) {
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
      data-heat={heat === undefined ? undefined : ''}
    >
      {column.name === 'name' ? <a {...link(`/job/${job.id}`)}>{text}</a> : text}
    </span>
  );
}
