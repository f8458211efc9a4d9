import { link } from '../address.ts';
import { latest, type NodeJob, useAnswer } from '../ask.ts';
import { count, moment, percent } from '../value-text.ts';
import { ScrollTable } from './scroll-table.tsx';

const MOST_NODES = 6;

/** Who else ran on the nodes of the job at the same time: jobs that you may see by name, others only as load. */
export function Neighbours({ job }: { job: string }) {
  const asked = useAnswer<NodeJob[]>(`/api/jobs/${job}/neighbours`);
  const others = latest(asked);
  const hasCpus = others?.some(({ cpus }) => cpus !== undefined) === true;
  const hasUse = others?.some(({ cpu_use: use }) => use !== undefined) === true;
  return (
    <section class="card" aria-label="Neighbours">
      <h2>
        Neighbours <small>other jobs on these nodes at the same time</small>
      </h2>
      {asked.state === 'failed' && <p class="missing">{asked.why}</p>}
      {others?.length === 0 && (
        <p class="faint">No other job that this page shows ran on these nodes at the same time.</p>
      )}
      {others !== undefined && others.length > 0 && (
        <ScrollTable label="Table of neighbours">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">User</th>
              <th scope="col">From</th>
              <th scope="col">To</th>
              {hasCpus && (
                <th scope="col" class="number">
                  CPUs on each node
                </th>
              )}
              {hasUse && (
                <th scope="col" class="number">
                  CPU use
                </th>
              )}
              <th scope="col">Nodes</th>
            </tr>
          </thead>
          <tbody>
            {others.map((other, i) => (
              <tr key={other.id ?? i}>
                <th scope="row">
                  {other.id === undefined ? (
                    <span class="faint">another user</span>
                  ) : (
                    <a {...link(`/job/${other.id}`)}>{other.name || other.job}</a>
                  )}
                </th>
                <td>{other.user ?? ''}</td>
                <td>{moment(other.from)}</td>
                <td>{other.to === undefined ? 'running' : moment(other.to)}</td>
                {hasCpus && <td class="number">{other.cpus === undefined ? '' : Math.round(other.cpus)}</td>}
                {hasUse && <td class="number">{other.cpu_use === undefined ? '' : percent(other.cpu_use)}</td>}
                <td>
                  {other.nodes.slice(0, MOST_NODES).join(', ')}
                  {other.nodes.length > MOST_NODES && ` and ${count(other.nodes.length - MOST_NODES, 'more', 'more')}`}
                </td>
              </tr>
            ))}
          </tbody>
        </ScrollTable>
      )}
    </section>
  );
}
