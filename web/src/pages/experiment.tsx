import { useEffect } from 'preact/hooks';
import type { Exploration } from '../../../src/judge/explore/explore.ts';
import type { ExperimentNames } from '../../../src/serve/api.ts';
import { link, setQuery } from '../address.ts';
import { latest, useAnswer } from '../ask.ts';
import { CopyLink } from '../parts/copy-link.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { bytes, count, duration, percent } from '../value-text.ts';

const METRICS: Readonly<Record<string, string>> = {
  duration: 'duration',
  cpu_time: 'CPU time',
  memory_peak: 'memory peak',
  io: 'I/O',
  core_hours: 'core-hours',
};

function valueText(value: number, metric: string): string {
  if (metric === 'duration' || metric === 'cpu_time') return duration(value / 1e6);
  if (metric === 'memory_peak' || metric === 'io') return bytes(value);
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/** An experiment: components × time segments × jobs. What is out of line has stars, what is missing is marked. */
export function ExperimentPage({ query }: { query: URLSearchParams }) {
  useEffect(() => {
    document.title = 'Experiment · Tacho';
  }, []);
  const names = useAnswer<ExperimentNames>('/api/experiments');
  const experimentNames = latest(names);
  const name = query.get('name') ?? experimentNames?.experiments[0]?.name;
  const metric = query.get('metric') ?? 'duration';
  const asked = useAnswer<Exploration>(
    name === undefined ? undefined : `/api/experiment?${new URLSearchParams({ name, metric })}`,
  );
  const exploration = latest(asked);
  if (experimentNames !== undefined && experimentNames.experiments.length === 0)
    return (
      <div class="empty">
        <h1>No experiments here yet</h1>
        <p>
          Jobs belong to one by their tags: <code>{experimentNames.tag}</code> names it, <code>exp_component</code> the
          component and <code>exp_time</code> the time segment.
        </p>
      </div>
    );
  return (
    <article class="experiment">
      <header class="page">
        <h1>
          Experiment <small>{exploration === undefined ? '' : count(exploration.jobs, 'job')}</small>
        </h1>
        <CopyLink />
      </header>
      <p class="controls">
        <label>
          Experiment{' '}
          <select value={name ?? ''} onChange={({ currentTarget }) => setQuery({ name: currentTarget.value }, true)}>
            {experimentNames?.experiments.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name} ({count(each.jobs, 'job')})
              </option>
            ))}
          </select>
        </label>
        <label>
          Compared by{' '}
          <select value={metric} onChange={({ currentTarget }) => setQuery({ metric: currentTarget.value })}>
            {(experimentNames?.metrics ?? [metric]).map((each) => (
              <option key={each} value={each}>
                {METRICS[each] ?? each}
              </option>
            ))}
          </select>
        </label>
      </p>
      {(asked.state === 'failed' || names.state === 'failed') && (
        <p class="trouble" role="alert">
          {asked.state === 'failed' ? asked.why : names.state === 'failed' ? names.why : ''}
        </p>
      )}
      {exploration !== undefined && <Matrix exploration={exploration} />}
    </article>
  );
}

/** Segments of all components, with those that are missing, in their order. */
const segmentsOf = ({ segments, spacing }: Exploration): string[] =>
  spacing?.expected ?? segments.map(({ segment }) => segment);

function Matrix({ exploration }: { exploration: Exploration }) {
  const { components, metric, spacing, missing, unknown, sum } = exploration;
  const segments = segmentsOf(exploration);
  const gaps = components.reduce((all, one) => all + one.missing.length, 0);
  return (
    <section class="card" aria-label="Components and segments">
      <p class={gaps > 0 ? 'verdict warning' : 'faint'}>
        {[
          count(components.length, 'component'),
          segments.length > 0 && count(segments.length, 'segment'),
          spacing !== undefined && `one every ${spacing.step.replace(/^1 /, '')}`,
          gaps > 0 && `${count(gaps, 'segment')} missing`,
          missing.length > 0 && `in all components: ${missing.join(', ')}`,
          unknown.length > 0 && `not known of ${count(unknown.length, 'job')}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      <ScrollTable label="Table of components and segments" tall kind="figures matrix">
        <thead>
          <tr>
            <th scope="col">Component</th>
            <th scope="col" class="number">
              Sum
            </th>
            <th scope="col" class="number">
              Share
            </th>
            {segments.map((segment) => (
              <th key={segment} scope="col" class="number">
                {segment}
              </th>
            ))}
            {segments.length === 0 && <th scope="col">Jobs</th>}
          </tr>
        </thead>
        <tbody>
          {components.map((component) => (
            <tr key={component.component}>
              <th scope="row">{component.component || 'no component'}</th>
              <td class="number">{valueText(component.sum, metric)}</td>
              <td class="number">{percent(sum === 0 ? 0 : component.sum / sum)}</td>
              {segments.map((segment) => (
                <SegmentCell key={segment} {...{ component, segment, metric }} />
              ))}
              {segments.length === 0 && (
                <td>
                  <ul class="cells">
                    {component.entries.map((entry) => (
                      <li key={entry.recordings[0]} data-heat="amount" style={heatOf(component, entry.value)}>
                        <a {...link(`/job/${entry.recordings[0]}`)} {...titled([entry])}>
                          {entry.jobs[0]} <b>{valueText(entry.value, metric)}</b>
                          {'★'.repeat(entry.stars)}
                        </a>
                      </li>
                    ))}
                  </ul>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      <p class="faint">
        Each star is one method by which the value is an outlier in its component. Colours compare the values of one
        component.
      </p>
    </section>
  );
}

type Component = Exploration['components'][number];
type Entry = Component['entries'][number];

const starsOf = (entries: readonly Entry[]): number => Math.max(...entries.map((entry) => entry.stars));

function heatOf({ min, max }: Component, value: number): { '--heat': string } {
  const heat = max === min ? 0 : (value - min) / (max - min);
  return { '--heat': String(Math.min(1, Math.max(0, heat))) };
}

function titled(entries: readonly Entry[]): { title: string } {
  const stars = starsOf(entries);
  const jobs = entries.flatMap((entry) => entry.jobs).join(', ');
  return { title: stars > 0 ? `${jobs}: out of line by ${count(stars, 'method')}` : jobs };
}

interface CellProps {
  component: Component;
  segment: string;
  metric: string;
}

function SegmentCell({ component, segment, metric }: CellProps) {
  const entries = component.entries.filter((entry) => entry.segment === segment);
  if (entries.length === 0)
    return component.missing.includes(segment) ? (
      <td class="number gap">missing</td>
    ) : (
      <td class="number faint">none</td>
    );
  const value = entries.reduce((all, entry) => all + entry.value, 0);
  const stars = starsOf(entries);
  const ids = entries.flatMap(({ recordings }) => recordings);
  return (
    <td class="number" data-heat="amount" style={heatOf(component, value)}>
      <a
        {...link(ids.length > 1 && ids.length <= 6 ? `/compare?jobs=${ids.join(',')}` : `/job/${ids[0]}`)}
        {...titled(entries)}
      >
        {valueText(value, metric)}
        {'★'.repeat(stars)}
        {ids.length > 1 && <small> {ids.length} jobs</small>}
      </a>
    </td>
  );
}
