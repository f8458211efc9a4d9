import type { Report } from '../ask.ts';
import { bytes, count, duration } from '../value-text.ts';
import { ScrollTable } from './scroll-table.tsx';

type World = NonNullable<Report['ranks']>['largest'][number];

/** The ranks of parallel programs: how evenly the work lies on them, and where each may run. */
export function Ranks({ report: { ranks } }: { report: Report }) {
  if (ranks === undefined) return null;
  return (
    <section class="card" aria-label="Ranks">
      <h2>
        Ranks{' '}
        <small>
          {count(ranks.ranks, 'rank')} in {count(ranks.worlds, 'start')}
        </small>
      </h2>
      {ranks.largest.map((world) => (
        <WorldTable key={world.world} world={world} />
      ))}
    </section>
  );
}

const TITLES: readonly { title: string; isNumber?: true }[] = [
  { title: 'Rank' },
  { title: 'Node' },
  { title: 'CPUs' },
  { title: 'CPU time', isNumber: true },
  { title: '' },
  { title: 'Waited for a CPU', isNumber: true },
  { title: 'Memory peak', isNumber: true },
  { title: 'Read', isNumber: true },
  { title: 'Written', isNumber: true },
  { title: 'Ended' },
];

/** How a rank failed; empty: it did not. */
function endOf({ signal, exit_code: exit }: World['ranks'][number]): string {
  if (signal !== undefined) return `signal ${signal}`;
  return exit ? `exit code ${exit}` : '';
}

function WorldTable({ world }: { world: World }) {
  const { cpu_seconds: cpu, slowest } = world;
  const most = cpu?.max ?? 0;
  const hasFailed = world.ranks.some((rank) => endOf(rank) !== '');
  const imbalance = cpu === undefined || cpu.max === 0 ? undefined : 1 - cpu.mean / cpu.max;
  return (
    <>
      <p>
        {[
          world.launcher,
          world.programs.join(', '),
          `${count(world.size, 'rank')} on ${count(world.nodes, 'node')}`,
          world.seconds !== undefined && duration(world.seconds),
          imbalance !== undefined &&
            `imbalance ${Math.round(imbalance * 100)} % (mean CPU time against the slowest rank)`,
          slowest !== undefined && `slowest: rank ${slowest.rank} on ${slowest.node}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      <ScrollTable label={`Ranks of start ${world.world}`}>
        <thead>
          <tr>
            {TITLES.filter(({ title }) => title !== 'Ended' || hasFailed).map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title || <span class="unseen">CPU time as a bar</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {world.ranks.map((rank) => (
            <tr key={`${rank.rank} ${rank.pid}`}>
              <th scope="row">{rank.rank}</th>
              <td>{rank.node}</td>
              <td class="exact">{rank.allowed_cpus}</td>
              <td class="number">{rank.cpu_seconds === undefined ? '' : duration(rank.cpu_seconds)}</td>
              <td class="graph" aria-hidden="true">
                <span style={{ width: `${most === 0 ? 0 : ((rank.cpu_seconds ?? 0) / most) * 100}%` }} />
              </td>
              <td class="number">{rank.wait_seconds === undefined ? '' : duration(rank.wait_seconds)}</td>
              <td class="number">{rank.memory_peak_bytes === undefined ? '' : bytes(rank.memory_peak_bytes)}</td>
              <td class="number">{rank.read_chars === undefined ? '' : bytes(rank.read_chars)}</td>
              <td class="number">{rank.written_chars === undefined ? '' : bytes(rank.written_chars)}</td>
              {hasFailed && <td>{endOf(rank)}</td>}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      {world.ranks.length < world.size && (
        <p class="faint">
          Of {count(world.size, 'rank')}, those that failed and those with the least or the most are listed.
        </p>
      )}
    </>
  );
}
