import { listed } from '../../../src/base/readable.ts';
import type { Report } from '../ask.ts';
import { bytes, count, duration, moment, percent } from '../value-text.ts';

/** Of what other programs recorded, no tick was ever expected. */
const ticksText = ({
  ticks,
  expected_ticks: expected,
  missed_ticks: missed,
  late_ticks: late,
}: Report['quality']): string =>
  expected === 0
    ? 'Nothing was sampled: all figures are from records'
    : `${count(ticks, 'tick')} of ${expected.toLocaleString('en-US')} expected, ${missed} missed, ${late} late`;

const GRADES = 'A: at least 99 % of the expected ticks of all nodes were sampled; B: 95 %; C: 80 %; D: less';

/** The program file of Node is in memory once, however many run it. */
function memoryText(resident: number, own: number | undefined): string {
  const shared = own === undefined ? '' : ` (${bytes(resident)} with shared files)`;
  return `${bytes(own ?? resident)} of memory at most${shared}`;
}

/** How good the recording is, and what it cost. */
export function RecordingFacts({ report: { quality, cost, unmeasured, recording, job, nodes } }: { report: Report }) {
  const end = job.end ?? Math.max(...nodes.map(({ last_sample: last }) => last ?? job.start));
  const gaps = quality.agents_away ?? [];
  const troubles = [
    ...quality.reasons,
    ...sameDamage(quality.damage, recording),
    ...quality.clock_jumps.map(
      ({ node, time, seconds }) => `clock of ${node} jumped by ${duration(Math.abs(seconds))} at ${moment(time)}`,
    ),
    ...quality.lost_samples.map(
      ({ node, table, rows, why }) => `${count(rows, 'row')} of ${table} lost on ${node}: ${why}`,
    ),
    ...gaps.map(({ node, from, to }) => `no agent on ${node} from ${moment(from)} for ${duration((to - from) / 1e6)}`),
  ];
  return (
    <section class="card quality" aria-label="How good the recording is">
      <h2>Recording</h2>
      <p>
        <b class="grade" title={GRADES}>
          Quality {quality.grade}
        </b>{' '}
        {ticksText(quality)}
        {quality.nodes_missing.length > 0 && `; nothing from ${quality.nodes_missing.join(', ')}`}.
      </p>
      {troubles.length > 0 && (
        <ul>
          {troubles.map((trouble) => (
            <li key={trouble}>{trouble}</li>
          ))}
        </ul>
      )}
      {(gaps.length > 0 || nodes.some(({ status }) => status === 'silent' || status === 'stopped early')) && (
        <Coverage {...{ nodes, gaps }} start={job.start} end={end} />
      )}
      <p>
        Recording cost:{' '}
        {[
          cost.cpu_seconds !== undefined && `${duration(cost.cpu_seconds)} of CPU time`,
          cost.core_share !== undefined && `${percent(cost.core_share)} of a core on each node`,
          cost.allocation_share !== undefined && `${percent(cost.allocation_share)} of the job's CPUs`,
          cost.max_rss_bytes !== undefined && memoryText(cost.max_rss_bytes, cost.max_own_bytes),
          cost.bytes_written !== undefined && `${bytes(cost.bytes_written)} written`,
        ]
          .filter(Boolean)
          .join(', ') || 'not known'}
        .
      </p>
      {job.imported !== undefined && <p>Imported from {[job.imported.from, ...job.imported.notes].join('; ')}.</p>}
      {unmeasured.length > 0 && (
        <details>
          <summary>{count(unmeasured.length, 'thing')} not measured</summary>
          <ul>
            {unmeasured.map(({ what, why, hint }) => (
              <li key={what}>
                {what}: {why}
                {hint !== undefined && `. ${hint}`}
              </li>
            ))}
          </ul>
        </details>
      )}
      <p class="faint">{recording}</p>
    </section>
  );
}

/** Damage as it is reported, file by file: what is the same of several files is one line. */
function sameDamage(damage: readonly string[], recording: string): string[] {
  const files = new Map<string, string[]>();
  for (const text of damage) {
    const [, file = '', what = text] = /^([^:]+): (.+)$/s.exec(text) ?? [];
    files.set(what, [...(files.get(what) ?? []), file.replace(`${recording}/`, '')]);
  }
  return [...files].map(([what, all]) => (all[0] === '' ? what : `${listed(all)}: ${what}`));
}

interface CoverageProps {
  nodes: Report['nodes'];
  gaps: NonNullable<Report['quality']['agents_away']>;
  start: number;
  end: number;
}

/** When each node was recorded: a bar from its first to its last sample, holes where no agent was there. */
function Coverage({ nodes, gaps, start, end }: CoverageProps) {
  const at = (time: number): string =>
    `${(Math.min(1, Math.max(0, (time - start) / (end - start))) * 100).toFixed(2)}%`;
  const width = (from: number, to: number): string => `${(Math.max(0, (to - from) / (end - start)) * 100).toFixed(2)}%`;
  return (
    <div class="coverage" role="img" aria-label="When each node was recorded">
      {nodes.slice(0, 64).map(({ node, first_sample: first, last_sample: last }) => (
        <div key={node}>
          <span>{node}</span>
          <div>
            {first !== undefined && last !== undefined && <b style={{ left: at(first), width: width(first, last) }} />}
            {gaps
              .filter((gap) => gap.node === node)
              .map(({ from, to }) => (
                <i key={from} style={{ left: at(from), width: width(from, to) }} />
              ))}
          </div>
        </div>
      ))}
    </div>
  );
}
