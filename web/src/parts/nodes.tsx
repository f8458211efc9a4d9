import type { Report } from '../ask.ts';
import { bytes, count, duration, moment, percent } from '../value-text.ts';
import { ScrollTable } from './scroll-table.tsx';

type Node = Report['nodes'][number];
const MOST = 200;

const share = (value: number | undefined): string => (value === undefined ? '' : percent(value));

const COLUMNS: readonly {
  title: string;
  has(node: Node): boolean;
  text(node: Node): string;
  heat?(node: Node): number | undefined;
}[] = [
  {
    title: 'CPU',
    has: (n) => n.cpu_utilization !== undefined,
    text: (n) => share(n.cpu_utilization),
    heat: (n) => n.cpu_utilization,
  },
  { title: 'I/O wait', has: (n) => n.iowait !== undefined, text: (n) => share(n.iowait) },
  { title: 'Load', has: (n) => n.load_mean !== undefined, text: (n) => n.load_mean?.toFixed(1) ?? '' },
  {
    title: 'Memory peak',
    has: (n) => n.memory_peak_bytes !== undefined,
    text: (n) => (n.memory_peak_bytes === undefined ? '' : bytes(n.memory_peak_bytes)),
    heat: (n) =>
      n.memory_peak_bytes === undefined || n.memory_limit_bytes === undefined
        ? undefined
        : n.memory_peak_bytes / n.memory_limit_bytes,
  },
  {
    title: 'GPU',
    has: (n) => n.gpu_utilization !== undefined,
    text: (n) => share(n.gpu_utilization),
    heat: (n) => n.gpu_utilization,
  },
  {
    title: 'GPU power',
    has: (n) => n.gpu_power_watts !== undefined,
    text: (n) => (n.gpu_power_watts === undefined ? '' : `${Math.round(n.gpu_power_watts).toLocaleString('en-US')} W`),
  },
  {
    title: 'I/O',
    has: (n) => n.io_bytes !== undefined,
    text: (n) => (n.io_bytes === undefined ? '' : bytes(n.io_bytes)),
  },
  {
    title: 'Energy',
    has: (n) => n.energy_joules !== undefined,
    text: (n) => (n.energy_joules === undefined ? '' : `${(n.energy_joules / 3.6e6).toFixed(2)} kWh`),
  },
  {
    title: 'Recorded',
    has: (n) => n.recorded_seconds !== undefined,
    text: (n) => (n.recorded_seconds === undefined ? '' : duration(n.recorded_seconds)),
  },
];

/** Every node of the job: what it did, and whether it is unlike the others. */
export function Nodes({ report: { nodes } }: { report: Report }) {
  if (nodes.length === 0) return null;
  const columns = COLUMNS.filter(({ has }) => nodes.some(has));
  return (
    <section class="card" aria-label="Nodes">
      <h2>Nodes</h2>
      <ScrollTable label="Table of nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            {columns.map(({ title }) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
            <th scope="col">Remarks</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, MOST).map((node) => (
            <tr key={node.node} class={isMute(node) ? 'silent' : undefined}>
              <th scope="row">{node.node}</th>
              <td class={isMute(node) ? 'words' : undefined}>{stateOf(node)}</td>
              {columns.map(({ title, text, heat }) => {
                const value = heat?.(node);
                return (
                  <td
                    key={title}
                    class="number"
                    data-heat={value === undefined ? undefined : ''}
                    style={value === undefined ? undefined : { '--heat': String(Math.min(1, value)) }}
                  >
                    {text(node)}
                  </td>
                );
              })}
              <td>{remarksOf(node).join('; ')}</td>
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      {nodes.length > MOST && <p class="faint">{nodes.length - MOST} more nodes are not listed.</p>}
    </section>
  );
}

/** Nothing more comes from it. */
const isMute = ({ status }: Node): boolean => status === 'silent' || status === 'stopped early';

const stateOf = (node: Node): string =>
  isMute(node) && node.last_sample !== undefined
    ? `${node.status}, no samples since ${moment(node.last_sample)}`
    : node.status;

const remarksOf = ({
  straggler = [],
  idle_gpus,
  shared_with,
  reason,
  status,
  late_seconds,
  oom_kills,
}: Node): string[] =>
  [
    ...straggler,
    idle_gpus !== undefined && idle_gpus > 0 && count(idle_gpus, 'idle GPU'),
    oom_kills !== undefined && oom_kills > 0 && `${count(oom_kills, 'process', 'processes')} killed: out of memory`,
    late_seconds !== undefined && `agent came ${duration(late_seconds)} late`,
    status === 'stopped early' && reason,
    shared_with !== undefined && `shared with ${shared_with.length === 1 ? 'job' : 'jobs'} ${shared_with.join(', ')}`,
  ].filter((text) => typeof text === 'string');
