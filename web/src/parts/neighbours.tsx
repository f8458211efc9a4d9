import { link } from '../address.ts';
import { latest, type NodeJob, useAnswer } from '../ask.ts';
import { count, moment, percent } from '../value-text.ts';

const MOST_NODES = 6;

/** Who else ran on the nodes of the job meanwhile: jobs that you may see by name, others only as load. */
export function Neighbours({ job }: { job: string }) {
  const asked = useAnswer<NodeJob[]>(`/api/jobs/${job}/neighbours`);
  const others = latest(asked);
  return (
    <section class="card" aria-label="Neighbours">
      <h2>
        Neighbours <small>other jobs on these nodes meanwhile</small>
      </h2>
      {asked.state === 'failed' && <p class="missing">{asked.why}</p>}
      {others?.length === 0 && <p class="faint">None of the jobs that are open here ran on these nodes meanwhile.</p>}
      {others !== undefined && others.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of neighbours">
          <table class="figures">
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">User</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col" class="number">
                  CPUs on each node
                </th>
                <th scope="col" class="number">
                  Of these busy
                </th>
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
                  <td>{other.to === undefined ? 'runs' : moment(other.to)}</td>
                  <td class="number">{other.cpus === undefined ? '' : Math.round(other.cpus)}</td>
                  <td class="number">{other.cpu_use === undefined ? '' : percent(other.cpu_use)}</td>
                  <td>
                    {other.nodes.slice(0, MOST_NODES).join(', ')}
                    {other.nodes.length > MOST_NODES &&
                      ` and ${count(other.nodes.length - MOST_NODES, 'more', 'more')}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
