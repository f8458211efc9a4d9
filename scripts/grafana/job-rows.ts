import { labelName } from '../../src/table/names.ts';
import { columnOf, expressionOf, type Panel, type Row, unitOf, wordsOf } from './panel.ts';

/**
 * One run of one job: the same number may be there of another cluster or user, and again when the scheduler has restarted it.
 * What users sent themselves is not shown.
 */
export const RUN = 'cluster=~"$cluster",job="$job",user=~"$owner",restart=~"$run",recorded_by=""';
const JOB = `${RUN},node=~"$node"`;
/** What Prometheus scrapes of a node is there once for all jobs: it is a job's while the job is on the node. */
const NODE = 'cluster=~"$cluster",job="",node=~"$node"';
const both = (...conditions: string[]): string => conditions.filter((each) => each !== '').join(',');
const whileThere = (expression: string): string => `(${expression} and on (cluster, node) tacho_node_info{${JOB}})`;

/** A column of the job's nodes, whether it was pushed with the job or scraped with the node. */
function ofJob(name: string, more = ''): string {
  const { table } = columnOf(name);
  const pushed = expressionOf(name, both(JOB, more));
  if (table.scope !== 'node') return pushed;
  const one = ['cluster', 'node', ...table.keys.map((key) => labelName(key.name))].join(', ');
  return `max by (${one}) (${pushed} or on (${one}) ${whileThere(expressionOf(name, both(NODE, more)))})`;
}

/** A column over time, a line for each node (and GPU, disk …). */
function over(name: string, more = '', keys = columnOf(name).table.keys.map((key) => key.name)): Panel {
  const { table, column } = columnOf(name);
  return {
    title: `${table.name}: ${wordsOf(name)}${column.kind === 'counter' ? ' per second' : ''}`,
    description: column.help,
    type: 'timeseries',
    unit: unitOf(name),
    targets: [{ expr: ofJob(name, more), legend: ['node', ...keys].map((key) => `{{${key}}}`).join(' ') }],
    width: 8,
    height: 8,
    ...(unitOf(name) === 'percentunit' ? { max: 1 } : {}),
  };
}

/** The ten highest only: of processes there may be thousands. */
function highest(name: string): Panel {
  const panel = over(name);
  const targets = panel.targets.map(({ expr, legend }) => ({ expr: `topk(10, ${expr})`, legend }));
  return { ...panel, title: `${panel.title}, the ten highest`, targets };
}

/** Several columns of a table in one panel, added up over the nodes that are chosen. */
function together(title: string, names: readonly string[], more = ''): Panel {
  return {
    title,
    description: names.map((name) => `${wordsOf(name)}: ${columnOf(name).column.help}`).join('\n\n'),
    type: 'timeseries',
    unit: unitOf(names[0]!),
    targets: names.map((name) => ({ expr: `sum(${ofJob(name, more)})`, legend: wordsOf(name) })),
    width: 8,
    height: 8,
    stack: true,
  };
}

function stat(title: string, description: string, unit: string, expr: string): Panel {
  return { title, description, type: 'stat', unit, targets: [{ expr, legend: '' }], width: 4, height: 4 };
}

const used = (conditions: string): string => expressionOf('gpu.utilization_percent', conditions);
const energy = columnOf('gpu.energy_mj').metric;
/** In seconds. */
const STEP = 15;
const own = 'cgroup="."';

/** What a job did, from above to the details. */
export function jobRows(): Row[] {
  return [
    {
      title: 'The job',
      panels: [
        stat(
          'nodes',
          'Nodes of the job that are recorded.',
          'short',
          `count(count by (node) (last_over_time(tacho_node_info{${RUN}}[$__range])))`,
        ),
        stat(
          'ran for',
          'From the start of the job to its end or the newest sample.',
          's',
          `max(max_over_time(timestamp(tacho_node_info{${RUN}})[$__range:${STEP}s])) - min(min_over_time(tacho_job_start_timestamp_seconds{${RUN}}[$__range]))`,
        ),
        stat(
          'GPU use',
          'Mean of all GPUs over the time that is shown.',
          'percentunit',
          `avg(avg_over_time(${used(JOB)}[$__range])) or avg(avg_over_time(${whileThere(used(NODE))}[$__range:${STEP}s]))`,
        ),
        stat(
          'CPUs busy',
          'Mean over the time that is shown, by the job’s cgroup.',
          'short',
          `sum(rate(${columnOf('cgroup.usage_us').metric}{${JOB},${own}}[$__range]))`,
        ),
        stat(
          'memory peak',
          'Highest use on any one node, by the job’s cgroup, page cache included.',
          'bytes',
          `max(max_over_time(${expressionOf('cgroup.memory_current_bytes', `${JOB},${own}`)}[$__range]))`,
        ),
        stat(
          'GPU energy',
          'Used in the time that is shown, by the counters of the cards.',
          'joule',
          `sum(increase(${energy}{${JOB}}[$__range])) or ${STEP} * sum(sum_over_time(${whileThere(expressionOf('gpu.energy_mj', NODE))}[$__range:${STEP}s]))`,
        ),
        {
          title: 'who and what',
          description: 'What the scheduler says of the job.',
          type: 'table',
          unit: 'short',
          targets: [
            {
              expr: `group by (job, restart, user, name, cluster, partition, account) (last_over_time(tacho_job_info{${RUN}}[$__range]))`,
              legend: '',
            },
          ],
          width: 24,
          height: 4,
        },
      ],
    },
    {
      title: 'GPUs',
      panels: [
        ...['utilization_percent', 'memory_used_bytes', 'power_watts'].map((name) => over(`gpu.${name}`)),
        ...['temperature_celsius', 'clock_mhz', 'memory_busy_percent'].map((name) => over(`gpu.${name}`)),
      ],
    },
    {
      title: 'CPU and memory',
      panels: [
        over('cgroup.usage_us', own, []),
        over('cgroup.memory_current_bytes', own, []),
        together(
          'memory of the job',
          ['cgroup.memory_anon_bytes', 'cgroup.memory_file_bytes', 'cgroup.swap_current_bytes'],
          own,
        ),
        together(
          'CPU time of the nodes',
          ['cpu.user_ms', 'cpu.system_ms', 'cpu.iowait_ms', 'cpu.idle_ms'],
          'cpu="all"',
        ),
        over('loadavg.load1'),
        over('meminfo.MemAvailable_bytes'),
      ],
    },
    {
      title: 'Files and networks',
      panels: [
        over('cgroup.io_read_bytes', own, []),
        over('cgroup.io_written_bytes', own, []),
        over('disk.read_bytes'),
        over('disk.written_bytes'),
        over('network.received_bytes'),
        over('network.sent_bytes'),
        together('NFS', ['nfs.read_bytes', 'nfs.written_bytes']),
        together('Lustre', ['lustre.read_bytes', 'lustre.written_bytes']),
        over('network.receive_errors'),
      ],
    },
    {
      title: 'More of the GPUs',
      collapsed: true,
      panels: [
        ...['energy_mj', 'temperature_hotspot_celsius', 'temperature_memory_celsius'].map((name) =>
          over(`gpu.${name}`),
        ),
        ...['memory_clock_mhz', 'throttled_thermal', 'throttled_power'].map((name) => over(`gpu.${name}`)),
        ...['pcie_rx_bytes', 'pcie_tx_bytes', 'link_tx_bytes'].map((name) => over(`gpu.${name}`)),
        over('gpu_process.memory_bytes'),
      ],
    },
    {
      title: 'Energy, pressure, processes, and what recording costs',
      collapsed: true,
      panels: [
        over('power.power_watts'),
        over('pressure.some_total_us'),
        over('vmstat.pgmajfault'),
        highest('process.rss_bytes'),
        highest('process.user_ms'),
        over('cgroup.oom_kills', own, []),
        over('agent.cpu_us'),
        over('agent.rss_bytes'),
        over('agent.missed_ticks'),
      ],
    },
  ];
}
