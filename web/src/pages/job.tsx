import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { commandLine } from '../../../src/base/quote.ts';
import { requestText } from '../../../src/show/report/request-text.ts';
import { verdict } from '../../../src/show/report/verdict.ts';
import { here, link, setQuery } from '../address.ts';
import { type ChartFacts, type JobSpans, latest, type Report, type TableColumns, useAnswer } from '../ask.ts';
import { Cursor, type Range } from '../charts/chart.tsx';
import { loadECharts } from '../charts/load.ts';
import { Panel, type Shown } from '../charts/panel.tsx';
import { filedRange, filedStep, isJobFile } from '../filed-job.ts';
import { useLive } from '../live.ts';
import { CopyLink } from '../parts/copy-link.tsx';
import { Dask } from '../parts/dask.tsx';
import { type Evidence, Findings } from '../parts/findings.tsx';
import { MemoryFigures } from '../parts/memory.tsx';
import { Meter } from '../parts/meter.tsx';
import { Neighbours } from '../parts/neighbours.tsx';
import { Nodes } from '../parts/nodes.tsx';
import { Notes } from '../parts/notes.tsx';
import { PrintPage } from '../parts/print-page.tsx';
import { Processes } from '../parts/processes.tsx';
import { Ranks } from '../parts/ranks.tsx';
import { RecordingFacts } from '../parts/recording.tsx';
import { Share } from '../parts/share.tsx';
import { Spans } from '../parts/spans.tsx';
import { bytes, count, digits, duration, moment, zone } from '../value-text.ts';

/** A chart that was asked for by a finding, and what it is to show. */
interface Asked extends Shown {
  chart: string;
}

/** Milliseconds after which a job that could not be read is asked for again. */
const TRY_AGAIN = 3000;

/** No part of the time. */
const WHOLE = { from: undefined, to: undefined };

/** What the server says of a job; it is asked again while the job runs, and when it could not be read. */
function useJob(id: string) {
  const [isLive, setLive] = useState(false);
  const [tries, setTries] = useState(0);
  const { again: samples, silent, isHeard } = useLive(id, isLive);
  const again = samples + tries;
  const asked = useAnswer<Report>(`/api/jobs/${id}`, again);
  useEffect(() => {
    // a folder that is away may come back; a file stays as it is
    if (asked.state !== 'failed' || isJobFile) return undefined;
    const timer = setTimeout(() => setTries((n) => n + 1), TRY_AGAIN);
    return () => clearTimeout(timer);
  }, [asked]);
  const report = latest(asked);
  useEffect(() => {
    document.title = report === undefined ? 'Tacho' : `${titleOf(report)} · Tacho`;
    // a file stays as it is; a job that fell silent may go on
    setLive(!isJobFile && (report?.job.state === 'running' || report?.job.state === 'unknown'));
  }, [report]);
  return {
    asked,
    report,
    again,
    silent,
    isHeard,
    charts: latest(useAnswer<ChartFacts[]>(`/api/jobs/${id}/charts`, again)),
    spans: latest(useAnswer<JobSpans>(`/api/jobs/${id}/spans`, again)),
    columns: latest(useAnswer<TableColumns[]>(`/api/jobs/${id}/columns`, tries)) ?? [],
  };
}

/** Escape shows the whole job again. */
function useEscape(): void {
  useEffect(() => {
    const undo = (event: KeyboardEvent): void => {
      // in a field Escape empties it, in a menu it closes that
      const isBusy = event.target instanceof Element && event.target.closest('input, select, textarea, .menu') !== null;
      if (event.key === 'Escape' && !isBusy && here().query.has('from')) setQuery(WHOLE, true);
    };
    addEventListener('keydown', undo);
    return () => removeEventListener('keydown', undo);
  }, []);
}

const setRange = ({ from, to }: Range): void =>
  setQuery({ from: String(Math.round(from)), to: String(Math.round(to)) }, true);

export function JobPage({ id, query }: { id: string; query: URLSearchParams }) {
  // while the server makes its answers
  useEffect(() => void loadECharts(), []);
  const { asked, report, again, silent, isHeard, charts: thereCharts, spans, columns } = useJob(id);
  useEscape();
  const charts = thereCharts ?? [];
  const cursor = useMemo(() => new Cursor(), []);
  const shown = useMemo(() => shownIn(query), [query.get('show'), query.get('limit'), query.get('shown')]);
  const bands = useMemo(() => (spans?.spans ?? []).filter(({ kind }) => kind === 'phase'), [spans]);

  if (report === undefined) return <Unreadable why={asked.state === 'here' ? undefined : asked.why} />;
  const { job } = report;
  const end = job.end ?? Math.max(job.start + 1e6, ...report.nodes.map(({ last_sample: last }) => last ?? 0));
  const range = rangeIn(query) ?? filedRange();
  const drawn = new Set(columns.flatMap((t) => t.columns.filter((c) => c.drawn).map((c) => `${t.table}.${c.name}`)));
  const show = (evidence: Evidence): void => {
    const chart = chartFor(evidence, charts, drawn);
    if (chart !== undefined) showEvidence(evidence, chart, charts, query);
  };
  const panel = (facts: ChartFacts) => (
    <Panel
      key={facts.id}
      job={id}
      name={job.id}
      start={job.start}
      {...(job.end === undefined ? {} : { end: job.end })}
      onRange={setRange}
      shown={shown?.chart === facts.id ? shown : undefined}
      {...{ facts, range, bands, again, cursor }}
    />
  );
  return (
    <article class="job">
      <Head report={report} />
      <Troubles why={asked.state === 'failed' ? asked.why : undefined} {...{ isHeard, silent, query }} />
      <div class="columns">
        <section class="asked" aria-label={requestText(report)}>
          <h2>{requestText(report)}</h2>
          <Meters report={report} />
        </section>
        <Findings
          report={report}
          canShow={(evidence) => chartFor(evidence, charts, drawn) !== undefined}
          onShow={show}
        />
      </div>
      <div class="where">
        {spans !== undefined && <Spans spans={spans} start={job.start} end={end} range={range} onRange={setRange} />}
        <Dask job={id} start={job.start} {...{ end, range, again, cursor }} onRange={setRange} />
        {range !== undefined && <Zoomed range={range} isChosen={query.has('from')} />}
      </div>
      <OwnColumns job={id} columns={query.getAll('column')} panel={panel} />
      {thereCharts?.length === 0 && job.end !== undefined && (
        <p class="missing">There are no charts: no samples of this job are kept here.</p>
      )}
      {groups(charts).map(([group, all]) => (
        <div key={group} class="group">
          <h2>{group}</h2>
          <div class="panels">{all.map(panel)}</div>
        </div>
      ))}
      <ColumnChoice columns={columns} />
      <Nodes report={report} />
      <MemoryFigures report={report} />
      <Ranks report={report} />
      <Processes job={id} start={job.start} end={end} range={range} onRange={setRange} again={again} query={query} />
      {!isJobFile && <Neighbours job={id} />}
      <Notes job={id} report={report} />
      {!isJobFile && <Share job={id} />}
      <RecordingFacts report={report} />
    </article>
  );
}

/** `why`: undefined while it is read. */
function Unreadable({ why }: { why: string | undefined }) {
  if (why === undefined)
    return (
      <div class="empty" aria-busy="true">
        Reading …
      </div>
    );
  return (
    <div class="empty">
      <h1>This job cannot be shown</h1>
      <p>{why}</p>
      <p>The page shows it as soon as it can be read.</p>
      <p>
        <a {...link('/')}>All jobs</a>
      </p>
    </div>
  );
}

interface TroublesProps extends Pick<ReturnType<typeof useLive>, 'silent' | 'isHeard'> {
  /** The server cannot read the job just now. */
  why: string | undefined;
  query: URLSearchParams;
}

function Troubles({ why, isHeard, silent, query }: TroublesProps) {
  return (
    <>
      {(why !== undefined || !isHeard) && (
        <p class="trouble" role="alert">
          {isHeard ? why : 'The server does not answer. The page goes on when it does.'}
        </p>
      )}
      {silent.length > 0 && (
        <p class="silent" role="status">
          {silent.map(({ node, since }) => `${node}: no samples since ${moment(since)}`).join('; ')}
        </p>
      )}
      {query.has('from') && rangeIn(query) === undefined && (
        <p class="trouble" role="status">
          The time in the address is empty or cannot be read. The whole job is shown.
        </p>
      )}
    </>
  );
}

/** Which part of the job is shown. */
function Zoomed({ range, isChosen }: { range: Range; isChosen: boolean }) {
  return (
    <p class="zoomed" role="status">
      {moment(range.from)} to {moment(range.to)} ({duration((range.to - range.from) / 1e6)})
      {isChosen && (
        <button type="button" title="Esc" onClick={() => setQuery(WHOLE, true)}>
          {filedRange() === undefined ? 'Show the whole job' : 'Show all of this part'}
        </button>
      )}
      {isJobFile && (
        <span class="faint"> This file has a value every {duration(filedStep())}: tacho serve shows them all.</span>
      )}
    </p>
  );
}

interface OwnColumnsProps {
  job: string;
  columns: readonly string[];
  panel: (facts: ChartFacts) => VNode;
}

function OwnColumns({ job, columns, panel }: OwnColumnsProps) {
  if (columns.length === 0) return null;
  return (
    <div class="group">
      <h2>Chosen columns</h2>
      <div class="panels">
        {columns.map((column) => (
          <OwnColumn key={column} job={job} column={column} panel={panel} />
        ))}
      </div>
    </div>
  );
}

/** Brings the chart of a finding's evidence into view. */
function showEvidence(evidence: Evidence, chart: string, charts: readonly ChartFacts[], query: URLSearchParams): void {
  const facts = charts.find((each) => each.id === chart);
  setQuery({
    show: [chart, evidence.node ?? '', evidence.gpu ?? ''].join('~'),
    limit: thresholdOf(evidence, facts),
    // the same evidence may be asked for again after a look elsewhere
    shown: String((Number(query.get('shown') ?? 0) + 1) % 1000),
    ...(facts === undefined ? { column: chart } : {}),
  });
}

/** What a link asks to be shown on a chart. */
function shownIn(query: URLSearchParams): Asked | undefined {
  const [chart, node, key] = (query.get('show') ?? '').split('~');
  if (!chart) return undefined;
  const limit = query.get('limit');
  return {
    chart,
    ...(node ? { node } : {}),
    ...(key ? { key } : {}),
    ...(limit === null ? {} : { threshold: Number(limit) }),
  };
}

/** The chart that shows where evidence comes from: one that draws its column or the effect of it, else one of the column alone. */
function chartFor({ from }: Evidence, charts: readonly ChartFacts[], drawn: ReadonlySet<string>): string | undefined {
  const names = from.split(', ');
  const first = charts.find(({ shows }) => names.some((name) => shows.includes(name)));
  return first?.id ?? names.find((name) => drawn.has(name));
}

/** The threshold in the chart's unit, where both are known to be the same: shares are percent. */
function thresholdOf({ from, threshold }: Evidence, chart: ChartFacts | undefined): string | undefined {
  if (threshold === undefined) return undefined;
  if (chart?.unit === 'bytes' && from.endsWith('_bytes')) return String(threshold);
  if (chart?.unit === '%' && from.endsWith('_percent')) return String(threshold <= 1 ? threshold * 100 : threshold);
  return undefined;
}

/** The chart of a column that somebody chose. */
function OwnColumn({ job, column, panel }: { job: string; column: string; panel(facts: ChartFacts): VNode }) {
  const asked = useAnswer<ChartFacts>(`/api/jobs/${job}/charts/${encodeURIComponent(column)}/facts`);
  const facts = latest(asked);
  if (asked.state === 'failed') return <p class="missing">{asked.why}</p>;
  return facts === undefined ? null : panel(facts);
}

/** Any column that was recorded can be drawn. */
function ColumnChoice({ columns }: { columns: readonly TableColumns[] }) {
  if (columns.length === 0) return null;
  return (
    <p class="column-choice">
      <label>
        Draw another column{' '}
        <select
          value=""
          onChange={({ currentTarget }) => {
            const { value } = currentTarget;
            if (value !== '') {
              setQuery({ column: value, show: `${value}~~`, limit: undefined }, true);
              currentTarget.value = '';
            }
          }}
        >
          <option value="">choose …</option>
          {columns.map(({ table, columns: own }) => (
            <optgroup key={table} label={table}>
              {own
                .filter(({ drawn }) => drawn)
                .map(({ name, help }) => (
                  <option key={name} value={`${table}.${name}`} title={help}>
                    {name}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
    </p>
  );
}

function rangeIn(query: URLSearchParams): Range | undefined {
  const [from, to] = [Number(query.get('from') ?? Number.NaN), Number(query.get('to') ?? Number.NaN)];
  return from >= 0 && from < to && to <= Number.MAX_SAFE_INTEGER ? { from, to } : undefined;
}

const groups = (charts: readonly ChartFacts[]): [string, ChartFacts[]][] => [
  ...Map.groupBy(charts, ({ group }) => group),
];

const titleOf = ({ job }: Report): string => job.name || (job.command && commandLine(job.command)) || job.id;

function Head({ report }: { report: Report }) {
  const { job, summary } = report;
  const facts = [
    job.user,
    job.account && `account ${job.account}`,
    job.partition && `partition ${job.partition}`,
    count(summary.nodes, 'node'),
    summary.cpus && count(summary.cpus, 'CPU'),
    summary.gpus && count(summary.gpus, 'GPU'),
    report.gpus[0]?.model,
    // of what other programs recorded nobody may know
    (job.interval_seconds ?? 0) > 0 && `sampled every ${job.interval_seconds} s`,
  ].filter(Boolean);
  return (
    <header class="head">
      <h1 title={titleOf(report)}>
        {titleOf(report)} {titleOf(report) !== job.id && <small>{job.id}</small>}
      </h1>
      <span>
        {!isJobFile && <CopyLink />} <PrintPage />{' '}
        <span class={`state ${job.state}`}>{job.state.replaceAll('_', ' ')}</span>
      </span>
      {job.command && (
        <code class="command" tabIndex={0} role="region" aria-label="Command">
          {commandLine(job.command)}
        </code>
      )}
      <p>
        {moment(job.start)} {job.end === undefined ? '' : `to ${moment(job.end)}`} {zone()} ·{' '}
        {duration(summary.wall_seconds)} · {facts.join(' · ')}
      </p>
      <p class={`verdict ${report.findings[0]?.severity ?? 'fine'}`}>{report.findings[0]?.text ?? verdict(report)}</p>
    </header>
  );
}

function Meters({ report }: { report: Report }) {
  const { summary: s } = report;
  const limit = s.time_limit_seconds;
  return (
    <>
      <Meter
        name="time"
        share={s.time_used}
        text={limit === undefined ? duration(s.wall_seconds) : `${duration(s.wall_seconds)} of ${duration(limit)}`}
      />
      <Meter name="CPU" share={s.cpu_utilization} text={cpuText(report)} />
      <Meter
        name="memory"
        share={
          s.memory_limit_bytes === undefined || s.memory_peak_bytes === undefined
            ? undefined
            : s.memory_peak_bytes / s.memory_limit_bytes
        }
        text={memoryText(report)}
      />
      {s.gpus !== undefined && s.gpus > 0 && (
        <>
          <Meter
            name="GPU"
            share={s.gpu_utilization}
            text={
              s.gpu_utilization === undefined
                ? 'not measured'
                : `${digits(s.gpu_utilization * s.gpus)} of ${count(s.gpus, 'GPU')} on average`
            }
          />
          <Meter
            name="GPU memory"
            share={
              s.gpu_memory_total_bytes === undefined || s.gpu_memory_peak_bytes === undefined
                ? undefined
                : s.gpu_memory_peak_bytes / s.gpu_memory_total_bytes
            }
            text={
              s.gpu_memory_peak_bytes === undefined
                ? 'not measured'
                : `${bytes(s.gpu_memory_peak_bytes)}${s.gpu_memory_total_bytes === undefined ? '' : ` of ${bytes(s.gpu_memory_total_bytes)}`} on the fullest card`
            }
          />
        </>
      )}
      <Meter
        name="energy"
        text={s.energy_joules === undefined ? 'not measurable here' : `${(s.energy_joules / 3.6e6).toFixed(2)} kWh`}
      />
    </>
  );
}

function cpuText({ summary: s }: Report): string {
  if (s.cpus_busy !== undefined && s.cpus !== undefined) return `${digits(s.cpus_busy)} of ${count(s.cpus, 'CPU')}`;
  return s.cpu_seconds === undefined ? 'not measured' : `${duration(s.cpu_seconds)} of CPU time`;
}

function memoryText({ summary: s }: Report): string {
  if (s.memory_peak_bytes === undefined) return 'not measured';
  const of = s.memory_limit_bytes === undefined ? '' : ` of ${bytes(s.memory_limit_bytes)}`;
  return `${bytes(s.memory_peak_bytes)}${of}${s.nodes > 1 ? ` on ${s.memory_peak_node}` : ''}`;
}
