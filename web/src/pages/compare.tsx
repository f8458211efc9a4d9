import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { chartFile } from '../../../src/charts/chart-file.ts';
import { colourOf } from '../../../src/charts/option.ts';
import type { Comparison } from '../../../src/judge/compare/compare.ts';
import { link, setQuery } from '../address.ts';
import { ask, type ChartData, type ChartFacts, type JobSpans, latest, useAnswer } from '../ask.ts';
import { Chart, Cursor } from '../charts/chart.tsx';
import { SaveData } from '../charts/save-menu.tsx';
import { CopyLink } from '../parts/copy-link.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { useTheme } from '../theme.ts';
import { bytes, count, duration, moment, percent, withUnit } from '../value-text.ts';

/** Steps of each chart. */
const POINTS = 300;
const MOST_PARTS = 15;

/** From when to when a job is drawn, epoch microseconds. */
interface Drawn {
  from: number;
  to: number;
}

/** Two to six jobs side by side: what they did over time, and what differs. */
export function ComparePage({ query }: { query: URLSearchParams }) {
  const ids = (query.get('jobs') ?? '').split(',').filter(Boolean);
  const asked = useAnswer<Comparison>(
    ids.length < 2 ? undefined : `/api/compare?jobs=${encodeURIComponent(ids.join(','))}`,
  );
  const comparison = latest(asked);
  useEffect(() => {
    document.title = 'Compare · Tacho';
  }, []);
  if (comparison === undefined)
    return asked.state === 'failed' || ids.length < 2 ? (
      <div class="empty">
        <h1>{ids.length < 2 ? 'No jobs to compare' : 'These jobs cannot be compared'}</h1>
        {asked.state === 'failed' && <p>{asked.why}</p>}
        <p>
          Choose two to six of <a {...link('/')}>all jobs</a>.
        </p>
      </div>
    ) : (
      <div class="empty" aria-busy="true">
        Reading …
      </div>
    );
  return (
    <article class="compare">
      <header class="page">
        <h1>Compare</h1>
        <CopyLink />
      </header>
      <Jobs ids={ids} comparison={comparison} />
      {comparison.notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
      <Parts comparison={comparison} />
      <Prefixes comparison={comparison} />
      <Overlays ids={ids} comparison={comparison} align={query.get('align') ?? 'start'} />
      <Figures comparison={comparison} />
    </article>
  );
}

const nameOf = ({ name, id }: Comparison['jobs'][number], i: number): string => `${i + 1}: ${name || id}`;

function Jobs({ ids, comparison: { jobs, differences } }: { ids: readonly string[]; comparison: Comparison }) {
  const theme = useTheme();
  return (
    <section class="card" aria-label="Jobs">
      <ScrollTable label="Table of jobs">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Id</th>
            <th scope="col">State</th>
            <th scope="col">Start</th>
            <th scope="col" class="number">
              Duration
            </th>
            <th scope="col">Against the first</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job, i) => (
            <tr key={ids[i]}>
              <th scope="row">
                <i class="swatch" style={{ background: colourOf(theme, i) }} />
                <a {...link(`/job/${ids[i]}`)}>{nameOf(job, i)}</a>
              </th>
              <td>{job.id}</td>
              <td class={`state ${job.state}`}>{job.state.replaceAll('_', ' ')}</td>
              <td>{moment(job.start)}</td>
              <td class="number">{duration(job.duration / 1e6)}</td>
              <td>{i === 0 ? '' : signed(differences[i]!)}</td>
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </section>
  );
}

const signed = (micros: number): string =>
  micros === 0 ? 'the same' : `${duration(Math.abs(micros) / 1e6)} ${micros > 0 ? 'longer' : 'shorter'}`;

/** Its part of the whole difference. Where others made up for it, it is more than the whole; it may also go the other way. */
function explained(share: number | null | undefined): string {
  if (share === undefined || share === null) return '';
  return share < 0 ? 'the opposite' : share > 1 ? 'more than all' : percent(share);
}

/** What took longer or shorter, the greatest cause first. */
function Parts({ comparison: { parts, by, jobs } }: { comparison: Comparison }) {
  if (parts.length === 0) return null;
  return (
    <section class="card" aria-label="Differences by cause">
      <h2>
        Differences by {by} <small>the greatest first</small>
      </h2>
      <p class="faint">
        Each moment is divided among the processes that ran and did not wait for children.
        {jobs.length > 2 &&
          " Each row has the greatest difference from the first job, and the part of that job's whole difference that it explains."}
      </p>
      <ScrollTable label="Table of differences">
        <thead>
          <tr>
            <th scope="col">{by}</th>
            <th scope="col" class="number">
              Difference
            </th>
            <th scope="col" class="number">
              Explains
            </th>
            <JobHeads jobs={jobs} />
          </tr>
        </thead>
        <tbody>
          {parts.slice(0, MOST_PARTS).map((partRow) => (
            <tr key={partRow.name}>
              <th scope="row">{partRow.name}</th>
              <td class="number">{signed(partRow.difference)}</td>
              <td class="number">{explained(partRow.explains)}</td>
              {partRow.jobs.map((use, i) => (
                <td key={jobs[i]!.recording} class="number">
                  {use ? duration(use.time / 1e6) : ''}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      {parts.length > MOST_PARTS && <p class="faint">{parts.length - MOST_PARTS} more are not listed.</p>}
    </section>
  );
}

/** A column for each job. */
function JobHeads({ jobs }: { jobs: Comparison['jobs'] }) {
  return jobs.map((job, i) => (
    <th key={job.recording} scope="col" class="number">
      {nameOf(job, i)}
    </th>
  ));
}

/** Tasks of Dask: how long those of each prefix took, together. */
function Prefixes({ comparison: { prefixes, jobs } }: { comparison: Comparison }) {
  if (prefixes.length === 0) return null;
  return (
    <section class="card" aria-label="Dask tasks by prefix">
      <h2>
        Dask tasks by prefix <small>time of all tasks together, the greatest difference first</small>
      </h2>
      <ScrollTable label="Table of prefixes">
        <thead>
          <tr>
            <th scope="col">Prefix</th>
            <th scope="col" class="number">
              Difference
            </th>
            <JobHeads jobs={jobs} />
          </tr>
        </thead>
        <tbody>
          {prefixes.slice(0, MOST_PARTS).map(({ prefix, difference, jobs: uses }) => (
            <tr key={prefix}>
              <th scope="row">{prefix}</th>
              <td class="number">{signed(difference)}</td>
              {uses.map((use, i) => (
                <td key={jobs[i]!.recording} class="number">
                  {use ? `${duration(use.seconds)}, ${count(use.tasks, 'task')}` : ''}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      {prefixes.length > MOST_PARTS && <p class="faint">{prefixes.length - MOST_PARTS} more are not listed.</p>}
    </section>
  );
}

/** A chart, and which of the jobs have it. */
interface Shared {
  facts: ChartFacts;
  has: readonly boolean[];
}

/** The charts that two of the jobs have, or more. */
function sharedCharts(all: readonly (readonly ChartFacts[])[]): Shared[] {
  const charts = new Map(all.flat().map((facts) => [facts.id, facts]));
  return [...charts.values()]
    .map((facts) => ({ facts, has: all.map((own) => own.some(({ id }) => id === facts.id)) }))
    .filter(({ has }) => has.filter(Boolean).length > 1);
}

/** The charts of the jobs, over each other. */
function Overlays({
  ids,
  comparison: { jobs },
  align,
}: {
  ids: readonly string[];
  comparison: Comparison;
  align: string;
}) {
  const [charts, setCharts] = useState<readonly Shared[]>();
  const [spans, setSpans] = useState<readonly JobSpans[]>([]);
  const cursor = useMemo(() => new Cursor(), []);
  useEffect(() => {
    const stop = new AbortController();
    const each = <T,>(what: string): Promise<T[]> =>
      Promise.all(ids.map((id) => ask<T>(`/api/jobs/${id}/${what}`, stop.signal)));
    void Promise.all([each<ChartFacts[]>('charts'), each<JobSpans>('spans')])
      .then(([all, own]) => {
        setCharts(sharedCharts(all));
        setSpans(own);
      })
      .catch(() => {});
    return () => stop.abort();
  }, [ids.join()]);
  const phases = spans.map(({ spans: own }) => own.filter(({ kind }) => kind === 'phase'));
  const common = [...new Set((phases[0] ?? []).map(({ name }) => name))].filter((name) =>
    phases.every((own) => own.some((phase) => phase.name === name)),
  );
  const name = align.startsWith('phase:') ? align.slice('phase:'.length) : undefined;
  const begins = jobs.map(({ start }, i) => phases[i]?.find((phase) => phase.name === name)?.from ?? start);
  const longest = Math.max(...jobs.map(({ duration: length, start }, i) => start + length - begins[i]!));
  const isProgress = align === 'progress';
  const drawn = jobs.map(
    ({ start, duration: length }, i): Drawn =>
      isProgress ? { from: start, to: start + length } : { from: begins[i]!, to: begins[i]! + longest },
  );
  if (charts?.length === 0)
    return <p class="missing">There are no charts: no two of these jobs have samples of the same.</p>;
  return (
    <section aria-label="Over time">
      <p class="align">
        <label>
          Aligned by{' '}
          <select value={align} onChange={({ currentTarget }) => setQuery({ align: currentTarget.value })}>
            <option value="start">start of the job</option>
            <option value="progress">progress (part of the job's time)</option>
            {common.map((each) => (
              <option key={each} value={`phase:${each}`}>
                start of the phase {each}
              </option>
            ))}
          </select>
        </label>
      </p>
      <div class="panels">
        {(charts ?? []).map((chart) => (
          <Overlay key={chart.facts.id} {...{ ids, ...chart, drawn, cursor, isProgress }} names={jobs.map(nameOf)} />
        ))}
      </div>
    </section>
  );
}

interface OverlayProps extends Shared {
  ids: readonly string[];
  names: readonly string[];
  drawn: readonly Drawn[];
  cursor: Cursor;
  isProgress: boolean;
}

function Overlay({ ids, names, facts, has, drawn, cursor, isProgress }: OverlayProps) {
  const [data, set] = useState<ChartData>();
  const picture = useRef<() => string>(undefined);
  const look = { start: 0, across: isProgress ? 'progress' : 'time' } as const;
  const spans = drawn.map(({ from, to }) => `${Math.round(from)} ${Math.round(to)}`).join();
  useEffect(() => {
    const stop = new AbortController();
    const one = (id: string, { from, to }: Drawn): Promise<ChartData | undefined> =>
      ask<ChartData>(
        `/api/jobs/${id}/charts/${facts.id}?as=band&empty=allowed&points=${POINTS}&from=${Math.round(from)}&to=${Math.round(to)}`,
        stop.signal,
      ).catch(() => undefined);
    void Promise.all(ids.map((id, i) => (has[i] ? one(id, drawn[i]!) : undefined))).then((all) => {
      if (!stop.signal.aborted) set(overlaid(facts, all, drawn, names, isProgress));
    });
    return () => stop.abort();
  }, [ids.join(), spans, isProgress]);
  const without = ids.flatMap((_, i) => (has[i] ? [] : [i + 1]));
  return (
    <section class="panel" aria-label={facts.title} data-chart={facts.id}>
      <header>
        <h3 title={facts.help}>
          {facts.title}{' '}
          <small>
            {facts.adds === true ? 'all nodes together' : 'mean of all series'}
            {without.length > 0 && `; not recorded of ${without.join(', ')}`}
          </small>
        </h3>
        {data !== undefined && (
          <SaveData
            {...{ data, look, picture, height: 150 }}
            file={(kind) => chartFile(names.join('-'), facts.id, kind)}
          />
        )}
      </header>
      {data === undefined ? (
        <div class="chart waiting" style={{ height: '150px' }} aria-busy="true" />
      ) : (
        <Chart {...{ data, cursor, picture, ...look }} onRange={() => {}} />
      )}
    </section>
  );
}

/** One line for each job, on the steps of the first. */
function overlaid(
  facts: ChartFacts,
  all: readonly (ChartData | undefined)[],
  drawn: readonly Drawn[],
  names: readonly string[],
  isProgress: boolean,
): ChartData {
  const steps = Math.max(1, ...all.map((data) => data?.band?.mean.length ?? 0));
  const whole = isProgress ? 100e6 : drawn[0]!.to - drawn[0]!.from;
  const step = whole / steps;
  const series = all.map((data, i) => {
    const values = (facts.adds === true ? data?.band?.sum : data?.band?.mean) ?? [];
    const { from, to } = drawn[i]!;
    // each job has steps of its own: the value at the middle of a step of the chart is taken
    const mean = Array.from({ length: steps }, (_, j) => {
      if (data === undefined) return null;
      const time = from + ((j + 0.5) / steps) * (to - from);
      return values[Math.floor((time - data.from) / data.step)] ?? null;
    });
    return { node: names[i]!, mean };
  });
  const most = Array.from({ length: steps }, (_, j) => {
    const means = series.flatMap(({ mean }) => mean[j] ?? []);
    return means.length === 0 ? null : Math.max(...means);
  });
  const { id, title, unit } = facts;
  const band = { min: most, mean: most, max: most, sum: most };
  return { id, title, unit, scope: 'job', source: '', from: 0, step, as: 'lines', count: series.length, series, band };
}

/** Every figure that can be compared, and the facts that are not the same. */
function Figures({ comparison: { metrics, facts, jobs } }: { comparison: Comparison }) {
  return (
    <section class="card" aria-label="Figures">
      <h2>Figures</h2>
      <ScrollTable label="Table of figures">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <JobHeads jobs={jobs} />
          </tr>
        </thead>
        <tbody>
          {facts.map(({ name, values }) => (
            <tr key={`fact ${name}`}>
              <th scope="row">{name}</th>
              {jobs.map(({ recording }, i) => (
                <td key={recording} class="fact">
                  {name === 'state' ? values[i]?.replaceAll('_', ' ') : values[i]}
                </td>
              ))}
            </tr>
          ))}
          {metrics.map(({ name, kind, values }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {jobs.map(({ recording }, i) => (
                <td key={recording} class="number">
                  {figureText(values[i], kind)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </section>
  );
}

function figureText(value: number | null | undefined, kind: string): string {
  if (value === undefined || value === null) return '';
  if (kind === 'microseconds') return duration(value / 1e6);
  if (kind === 'bytes') return bytes(value);
  if (kind === 'share') return percent(value);
  if (kind === 'joules') return `${(value / 3.6e6).toLocaleString('en-US', { maximumFractionDigits: 3 })} kWh`;
  if (kind === 'watts') return withUnit(value, 'W');
  if (kind === 'celsius') return withUnit(value, '°C');
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}
