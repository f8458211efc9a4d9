import { columnOf, expressionOf, type Panel, type Row, unitOf, wordsOf } from './panel.ts';

/** What users sent of a node is not the node's word. */
const NODE = 'cluster=~"$clusters",node=~"$node",recorded_by=""';
const JOBS = 'job!="",cluster=~"$clusters",user=~"$user",recorded_by=""';

/** Each thing once: a node has samples of its own and of every job that runs there. */
function once(name: string, more = ''): string {
  const { table } = columnOf(name);
  const keys = ['cluster', 'node', ...table.keys.map((key) => key.name)].join(', ');
  const conditions = [NODE, more].filter((condition) => condition !== '').join(',');
  return `max by (${keys}) (${expressionOf(name, conditions)})`;
}

/** A column of all nodes as one line, and the nodes that stand out. */
function both(name: string, how: 'sum' | 'avg' | 'max', more = ''): Panel[] {
  const { column, table } = columnOf(name);
  const what = `${table.name}: ${wordsOf(name)}${column.kind === 'counter' ? ' per second' : ''}`;
  const shared = { type: 'timeseries' as const, unit: unitOf(name), width: 12, height: 8 };
  const meaning = { sum: 'all nodes together', avg: 'mean of all nodes', max: 'highest of all nodes' }[how];
  return [
    {
      ...shared,
      title: `${what}, ${meaning}`,
      description: column.help,
      targets: [{ expr: `${how}(${once(name, more)})`, legend: meaning }],
    },
    {
      ...shared,
      title: `${what}, the ten highest nodes`,
      description: column.help,
      targets: [{ expr: `topk(10, ${how} by (cluster, node) (${once(name, more)}))`, legend: '{{node}} {{cluster}}' }],
    },
  ];
}

function stat(title: string, description: string, expr: string, unit = 'short'): Panel {
  return { title, description, type: 'stat', unit, targets: [{ expr, legend: '' }], width: 4, height: 4 };
}

/** What all nodes and jobs do. */
export function fleetRows(): Row[] {
  return [
    {
      title: 'All nodes',
      panels: [
        stat('nodes', 'Nodes that are recorded now.', `count(count by (cluster, node) (tacho_node_info{${NODE}}))`),
        stat('jobs', 'Jobs that are recorded now.', `count(count by (cluster, job) (tacho_job_info{${JOBS}}))`),
        stat('users', 'Users whose jobs are recorded now.', `count(count by (user) (tacho_job_info{${JOBS}}))`),
        stat('CPUs', 'CPUs of all nodes.', `sum(max by (cluster, node) (tacho_node_cpus{${NODE}}))`),
        stat('GPUs', 'GPUs of all nodes.', `sum(max by (cluster, node) (tacho_node_gpus{${NODE}}))`),
        stat('power', 'Of all meters of whole nodes.', `sum(${once('power.power_watts', 'domain="node"')})`, 'watt'),
        {
          title: 'jobs',
          description: 'The jobs that are recorded now, and on how many nodes.',
          type: 'table',
          unit: 'short',
          targets: [{ expr: `count by (job, user, name, cluster, partition) (tacho_job_info{${JOBS}})`, legend: '' }],
          width: 12,
          height: 8,
        },
        {
          title: 'nodes of each user',
          description: 'On how many nodes each user’s jobs run.',
          type: 'timeseries',
          unit: 'short',
          targets: [{ expr: `count by (user) (tacho_job_info{${JOBS}})`, legend: '{{user}}' }],
          width: 12,
          height: 8,
          stack: true,
        },
      ],
    },
    {
      title: 'Use',
      panels: [
        ...both('gpu.utilization_percent', 'avg'),
        ...both('gpu.memory_used_bytes', 'sum'),
        ...both('cpu.busy_ms', 'sum', 'cpu="all"'),
        ...both('loadavg.load1', 'avg'),
        ...both('meminfo.MemAvailable_bytes', 'sum'),
      ],
    },
    {
      title: 'Energy and heat',
      panels: [
        ...both('gpu.power_watts', 'sum'),
        ...both('gpu.temperature_celsius', 'max'),
        ...both('power.power_watts', 'sum', 'domain="node"'),
      ],
    },
    {
      title: 'Traffic',
      collapsed: true,
      panels: [
        ...both('network.received_bytes', 'sum'),
        ...both('network.sent_bytes', 'sum'),
        ...both('disk.read_bytes', 'sum'),
        ...both('disk.written_bytes', 'sum'),
      ],
    },
    {
      title: 'What recording costs',
      collapsed: true,
      panels: [...both('agent.cpu_us', 'avg'), ...both('agent.missed_ticks', 'sum')],
    },
  ];
}
