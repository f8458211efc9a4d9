import { useEffect, useMemo, useState } from 'preact/hooks';
import { link, setQuery } from '../address.ts';
import { type ChartFacts, latest, type Report, useAnswer } from '../ask.ts';
import { Cursor, type Range } from '../charts/chart.tsx';
import { Panel } from '../charts/panel.tsx';
import { Findings } from '../parts/findings.tsx';
import { Meter } from '../parts/meter.tsx';
import { Phases } from '../parts/phases.tsx';
import { Processes } from '../parts/processes.tsx';
import { bytes, count, duration, moment, percent, zone } from '../words.ts';

/** How often a job that runs is asked about again. */
const LIVE_MS = 2000;

export function JobPage({ id, query }: { id: string; query: URLSearchParams }) {
  const [again, setAgain] = useState(0);
  const asked = useAnswer<Report>(`/api/jobs/${id}`, again);
  const report = latest(asked);
  const charts = latest(useAnswer<ChartFacts[]>(`/api/jobs/${id}/charts`));
  const isLive = report?.job.state === 'running';
  useEffect(() => {
    if (!isLive) return undefined;
    const timer = setInterval(() => setAgain((n) => n + 1), LIVE_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  const cursor = useMemo(() => new Cursor(), []);
  useEffect(() => {
    document.title = report === undefined ? 'Tacho' : `${titleOf(report)} · Tacho`;
  }, [report]);

  if (report === undefined) {
    if (asked.state !== 'failed')
      return (
        <div class="empty" aria-busy="true">
          Reading …
        </div>
      );
    return (
      <div class="empty">
        <h1>This job cannot be shown</h1>
        <p>{asked.why}</p>
        <p>
          <a {...link('/')}>All jobs</a>
        </p>
      </div>
    );
  }
  const { job } = report;
  const end = job.end ?? Date.now() * 1000;
  const range = rangeIn(query);
  const bands = report.phases.map(({ name, start, end: over }) => ({ name, from: start, to: over ?? end }));
  const zoom = ({ from, to }: Range): void =>
    setQuery({ from: String(Math.round(from)), to: String(Math.round(to)) }, true);
  return (
    <article class="job">
      <Head report={report} />
      {asked.state === 'failed' && <p class="trouble">{asked.why}</p>}
      <div class="columns">
        <section class="asked" aria-label="Asked for and used">
          <h2>Asked for and used</h2>
          <Meters report={report} />
        </section>
        <Findings report={report} />
      </div>
      {bands.length > 0 && <Phases bands={bands} start={job.start} end={end} range={range} onRange={zoom} />}
      {range !== undefined && (
        <p class="zoomed" role="status">
          {moment(range.from)} to {moment(range.to)} ({duration((range.to - range.from) / 1e6)})
          <button type="button" onClick={() => setQuery({ from: undefined, to: undefined }, true)}>
            Show the whole job
          </button>
        </p>
      )}
      {groups(charts ?? []).map(([group, all]) => (
        <div key={group} class="group">
          <h2>{group}</h2>
          <div class="panels">
            {all.map((facts) => (
              <Panel
                key={facts.id}
                job={id}
                start={job.start}
                onRange={zoom}
                {...{ facts, range, bands, again, cursor }}
              />
            ))}
          </div>
        </div>
      ))}
      <Processes job={id} start={job.start} end={end} range={range} onRange={zoom} again={isLive ? again : 0} />
      <Quality report={report} />
    </article>
  );
}

function rangeIn(query: URLSearchParams): Range | undefined {
  const [from, to] = [Number(query.get('from') ?? Number.NaN), Number(query.get('to') ?? Number.NaN)];
  return from < to ? { from, to } : undefined;
}

const groups = (charts: readonly ChartFacts[]): [string, ChartFacts[]][] => [
  ...Map.groupBy(charts, ({ group }) => group),
];

const titleOf = ({ job }: Report): string => job.name || job.command?.join(' ') || job.id;

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
    `sampled every ${job.interval_seconds} s`,
  ].filter(Boolean);
  return (
    <header class="head">
      <h1 title={titleOf(report)}>
        {titleOf(report)} <small>{job.id}</small>
      </h1>
      <span class={`state ${job.state}`}>{job.state.replaceAll('_', ' ')}</span>
      {job.command && <code class="command">{job.command.join(' ')}</code>}
      <p>
        {moment(job.start)} {job.end === undefined ? '' : `to ${moment(job.end)}`} {zone()} ·{' '}
        {duration(summary.wall_seconds)} · {facts.join(' · ')}
      </p>
      <p class={`verdict ${report.findings[0]?.severity ?? 'fine'}`}>
        {report.findings[0]?.text ?? 'Nothing wrong was found.'}
      </p>
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
      <Meter
        name="CPU"
        share={s.cpu_utilization}
        text={s.cpus_busy === undefined ? 'not measured' : `${s.cpus_busy.toFixed(1)} of ${s.cpus} CPUs`}
      />
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
                : `${(s.gpu_utilization * s.gpus).toFixed(1)} of ${s.gpus} GPUs on average`
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
                : `${bytes(s.gpu_memory_peak_bytes)} of ${bytes(s.gpu_memory_total_bytes ?? Number.NaN)} on the fullest card`
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

function memoryText({ summary: s }: Report): string {
  if (s.memory_peak_bytes === undefined) return 'not measured';
  const of = s.memory_limit_bytes === undefined ? '' : ` of ${bytes(s.memory_limit_bytes)}`;
  return `${bytes(s.memory_peak_bytes)}${of}${s.nodes > 1 ? ` on ${s.memory_peak_node}` : ''}`;
}

function Quality({ report: { quality, cost, unmeasured, recording } }: { report: Report }) {
  return (
    <section class="quality" aria-label="How good the recording is">
      <h2>Recording</h2>
      <p>
        Quality {quality.grade}: {count(quality.ticks, 'tick')} of {quality.expected_ticks.toLocaleString('en-US')}{' '}
        expected
        {quality.missed_ticks > 0 && `, ${quality.missed_ticks} missed`}
        {quality.late_ticks > 0 && `, ${quality.late_ticks} late`}
        {quality.nodes_missing.length > 0 && `; nothing from ${quality.nodes_missing.join(', ')}`}.{' '}
        {cost.cpu_seconds !== undefined &&
          `Recording took ${duration(cost.cpu_seconds)} of CPU time${cost.core_share === undefined ? '' : ` (${percent(cost.core_share)} of a core)`}.`}
      </p>
      {quality.reasons.length > 0 && (
        <ul>
          {quality.reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
      {unmeasured.length > 0 && (
        <details>
          <summary>{count(unmeasured.length, 'thing')} not measured</summary>
          <ul>
            {unmeasured.map(({ what, why }) => (
              <li key={what}>
                {what}: {why}
              </li>
            ))}
          </ul>
        </details>
      )}
      <p class="faint">{recording}</p>
    </section>
  );
}
