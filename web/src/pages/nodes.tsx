import { useEffect, useMemo, useState } from 'preact/hooks';
import { chartFile } from '../../../src/charts/chart-file.ts';
import { link, setQuery } from '../address.ts';
import { type ChartData, latest, type NodeJob, type NodeList, useAnswer } from '../ask.ts';
import { HeatCard } from '../charts/heat-card.tsx';
import { rowHeat } from '../charts/row-heat.ts';
import { CopyLink } from '../parts/copy-link.tsx';
import { PeriodChoice } from '../parts/period-choice.tsx';
import { Choice, SearchField } from '../parts/query-fields.tsx';
import { Reading } from '../parts/reading.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { ShareCell } from '../parts/share-cell.tsx';
import { periodOf, stepOf } from '../periods.ts';
import { bytes, count, duration, moment } from '../value-text.ts';

const AGAIN_MS = 5000;
const STEPS = 170;
const MOST_ROWS = 300;
/** Seconds from which nobody asks for the minutes. */
const LONG_S = 10 * 86_400;

const SHOWN = [
  ['cpus', 'CPUs busy with jobs', 'CPUs'],
  ['jobs', 'jobs', ''],
  ['gpu', 'GPU use', '%'],
] as const;
type Shown = (typeof SHOWN)[number][0];

/** Every node that jobs ran on: who runs there now, what it did over time, what is idle. */
export function NodesPage({ query }: { query: URLSearchParams }) {
  const [again, setAgain] = useState(0);
  useEffect(() => {
    document.title = 'Nodes · Tacho';
    const timer = setInterval(() => setAgain((n) => n + 1), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const asked = useAnswer<NodeList>('/api/nodes', again);
  const list = latest(asked);
  const wanted = (query.get('q') ?? '').trim().toLowerCase();
  const shown: Shown = SHOWN.find(([id]) => id === query.get('shown'))?.[0] ?? 'cpus';
  const period = useMemo(
    () => (list === undefined ? undefined : periodOf(query.get('period'), list.jobs, list.time)),
    [list, query.get('period')],
  );
  const nodes = useMemo(
    () =>
      list === undefined ? [] : nodesOf(list, wanted).filter((node) => !query.has('idle') || node.running.length === 0),
    [list, wanted, query.has('idle')],
  );
  const data = useMemo(
    () => (list === undefined || period === undefined ? undefined : heatOf(list, nodes, period, shown)),
    [list, nodes, period, shown],
  );
  const height = Math.min(640, Math.max(150, (data?.count ?? 0) * ((data?.count ?? 0) > 24 ? 8 : 16) + 80));
  if (list === undefined) return <Reading asked={asked} />;
  if (list.nodes.length === 0)
    return (
      <div class="empty">
        <h1>No nodes here yet</h1>
        <p>Nodes appear when a job that ran on them is recorded.</p>
      </div>
    );
  const idle = nodesOf(list, '').filter(({ running }) => running.length === 0).length;
  return (
    <article class="nodes-page">
      <header class="page">
        <h1>
          Nodes{' '}
          <small>
            {count(list.nodes.length, 'node')}, {list.nodes.length - idle} with a running job, {idle} without
          </small>
        </h1>
        <CopyLink />
      </header>
      {asked.state === 'failed' && <p class="trouble">{asked.why}</p>}
      <p class="controls">
        {period !== undefined && <PeriodChoice period={period} />}
        <Choice name="shown" label="Colours show" value={shown} all={SHOWN} />
        <label>
          <input
            type="checkbox"
            checked={query.has('idle')}
            onChange={({ currentTarget }) => setQuery({ idle: currentTarget.checked ? '1' : undefined })}
          />{' '}
          only those without a running job
        </label>
        <SearchField query={query} label="Filter nodes" hint="Filter by node, user, job" />
      </p>
      {data !== undefined && period !== undefined && nodes.length > 0 && (
        <HeatCard
          label="Nodes over time"
          {...{ data, height }}
          start={period.from}
          file={(kind) => chartFile('nodes', shown, kind)}
        >
          {SHOWN.find(([id]) => id === shown)![1]}{' '}
          <small>
            {moment(period.from).slice(0, 16)} to {moment(period.to).slice(0, 16)}; empty: no job that is open here ran
          </small>
        </HeatCard>
      )}
      <NodeTable nodes={nodes} period={period!} now={list.time} />
    </article>
  );
}

interface NodeRow {
  node: string;
  running: NodeJob[];
  /** All of them, by their start. */
  jobs: NodeJob[];
  now: NodeList['now'][number] | undefined;
}

function nodesOf({ nodes, jobs, now }: NodeList, wanted: string): NodeRow[] {
  const own = new Map<string, NodeJob[]>(nodes.map((node) => [node, []]));
  for (const job of jobs) for (const node of job.nodes) own.get(node)!.push(job);
  const current = new Map(now.map((each) => [each.node, each]));
  return nodes
    .map((node) => {
      const all = own.get(node)!.sort((a, b) => a.from - b.from);
      return { node, jobs: all, running: all.filter(({ to }) => to === undefined), now: current.get(node) };
    })
    .filter(
      ({ node, jobs: all }) =>
        wanted === '' ||
        node.toLowerCase().includes(wanted) ||
        all.some(({ name = '', user = '', job = '' }) => `${name} ${user} ${job}`.toLowerCase().includes(wanted)),
    );
}

/** One row per node: what its jobs did in each step, weighed by how much of the step they ran. */
function heatOf(
  list: NodeList,
  nodes: readonly NodeRow[],
  { from, to }: { from: number; to: number },
  shown: Shown,
): ChartData {
  const step = stepOf({ from, to }, STEPS);
  const steps = Math.max(1, Math.ceil((to - from) / step));
  const [, title, unit] = SHOWN.find(([id]) => id === shown)!;
  const amountOf = ({ cpus, cpu_use, gpu_use }: NodeJob): number | undefined => {
    if (shown === 'jobs') return 1;
    if (shown === 'gpu') return gpu_use === undefined ? undefined : gpu_use * 100;
    return cpus === undefined || cpu_use === undefined ? undefined : cpus * cpu_use;
  };
  const series = nodes.slice(0, MOST_ROWS).map(({ node, jobs }) => {
    const mean: (number | null)[] = Array.from({ length: steps }, () => null);
    for (const job of jobs) {
      const value = amountOf(job);
      const [begin, end] = [Math.max(from, job.from), Math.min(to, job.to ?? list.time)];
      if (value === undefined || end <= begin) continue;
      for (let i = Math.floor((begin - from) / step); i < steps && from + i * step < end; i++) {
        const overlap = Math.min(end, from + (i + 1) * step) - Math.max(begin, from + i * step);
        // GPU use is a share already: of jobs one after the other it is weighed by their time
        mean[i] = (mean[i] ?? 0) + value * (overlap / step);
      }
    }
    return { node, mean };
  });
  return rowHeat({ id: 'nodes', title, unit, scope: 'node', from, step }, series, steps);
}

function NodeTable({
  nodes,
  period,
  now,
}: {
  nodes: readonly NodeRow[];
  period: { from: number; to: number };
  now: number;
}) {
  const hasGpus = nodes.some((node) => node.now?.gpu_use !== undefined);
  const areRunning = nodes.some((node) => node.running.length > 0 || node.now !== undefined);
  return (
    <section class="card" aria-label="Nodes now">
      <h2>Now</h2>
      <ScrollTable label="Table of nodes" tall>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            {areRunning && (
              <>
                <th scope="col">Runs</th>
                <th scope="col" class="number">
                  CPU
                </th>
                <th scope="col" class="number">
                  Memory
                </th>
              </>
            )}
            {hasGpus && (
              <th scope="col" class="number">
                GPU
              </th>
            )}
            <th scope="col" class="number">
              In use in the period
            </th>
            <th scope="col">Last job</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, MOST_ROWS).map((node) => {
            const used = usedShare(node, period, now);
            const last = node.jobs.filter(({ to }) => to !== undefined).at(-1);
            const isMute = node.now?.status === 'silent' || node.now?.status === 'stopped early';
            return (
              <tr key={node.node} class={isMute ? 'silent' : undefined}>
                <th scope="row">{node.node}</th>
                <td>{stateOf(node, now)}</td>
                {areRunning && (
                  <>
                    <td>
                      {node.running.map((job, i) => (
                        <span key={job.id ?? i}>
                          {i > 0 && ', '}
                          <JobName job={job} />
                        </span>
                      ))}
                    </td>
                    <ShareCell value={node.now?.cpu_use} />
                    <td class="number">{node.now?.memory_bytes === undefined ? '' : bytes(node.now.memory_bytes)}</td>
                  </>
                )}
                {hasGpus && <ShareCell value={node.now?.gpu_use} />}
                <ShareCell value={used} />
                <td>
                  {last !== undefined && (
                    <>
                      <JobName job={last} /> <span class="faint">ended {moment(last.to).slice(0, 16)}</span>
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </ScrollTable>
      {nodes.length > MOST_ROWS && (
        <p class="faint">{nodes.length - MOST_ROWS} more nodes are not listed: filter them.</p>
      )}
    </section>
  );
}

const JobName = ({ job }: { job: NodeJob }) =>
  job.id === undefined ? (
    <span class="faint">a job of another user</span>
  ) : (
    <>
      <a {...link(`/job/${job.id}`)}>{job.name || job.job}</a>
      {job.user && ` (${job.user})`}
    </>
  );

function stateOf({ running, now: current, jobs }: NodeRow, now: number): string {
  if (current?.status === 'silent' || current?.status === 'stopped early')
    return `${current.status}, no samples since ${moment(current.last).slice(0, 16)}`;
  if (running.length > 0) return `runs ${count(running.length, 'job')}`;
  const last = Math.max(...jobs.map(({ to }) => to ?? 0));
  const seconds = (now - last) / 1e6;
  return `idle for ${seconds < LONG_S ? duration(seconds) : `${Math.floor(seconds / 86_400).toLocaleString('en-US')}\u00a0d`}`;
}

/** The part of the period in which at least one job ran. */
function usedShare({ jobs }: NodeRow, { from, to }: { from: number; to: number }, now: number): number {
  let [used, until] = [0, from];
  for (const job of jobs) {
    const [begin, end] = [Math.max(until, job.from), Math.min(to, job.to ?? now)];
    if (end > begin) {
      used += end - begin;
      until = end;
    }
  }
  return used / (to - from);
}
