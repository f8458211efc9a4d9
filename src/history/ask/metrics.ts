/** What can be asked of a period, by user, by hour of the day…; all amounts are of the part of a job that lies in the period. */
export interface Metric {
  name: string;
  help: string;
  unit: string;
  /** SQL of the amount of a whole job, or job on a node, of the columns of `j`. */
  amount: string;
  /** A mean: the amount divided by the sum of this. */
  per?: string;
  /** It happens at one moment, and is not spread over the time that the job ran. */
  at?: 'start' | 'submit';
  /** What it is multiplied by to be in `unit`. */
  factor?: number;
  /** Energy that is weighed by the factors of CO2. */
  emits?: true;
  /** The same of a job on one node, where it is not the same SQL. */
  onNode?: { amount: string; per?: string };
}

const HOURS = 'j.wall_seconds / 3600';

export const METRICS = [
  {
    name: 'core-hours',
    help: 'CPUs × hours that jobs held',
    unit: 'core-hours',
    amount: 'j.core_hours',
    onNode: { amount: `j.cpus * ${HOURS}` },
  },
  {
    name: 'gpu-hours',
    help: 'GPUs × hours that jobs held',
    unit: 'GPU-hours',
    amount: 'j.gpu_hours',
    onNode: { amount: `j.gpus * ${HOURS}` },
  },
  {
    name: 'node-hours',
    help: 'nodes × hours that jobs held',
    unit: 'node-hours',
    amount: 'j.node_hours',
    onNode: { amount: HOURS },
  },
  {
    name: 'cpu-use',
    help: 'busy part of the CPUs held, weighed by core-hours',
    unit: 'share',
    amount: 'j.cpu_use * j.core_hours',
    per: 'case when j.cpu_use is not null then j.core_hours end',
    onNode: {
      amount: `j.cpu_use * j.cpus * ${HOURS}`,
      per: `case when j.cpu_use is not null then j.cpus * ${HOURS} end`,
    },
  },
  {
    name: 'gpu-use',
    help: 'busy part of the GPUs held, weighed by GPU-hours',
    unit: 'share',
    amount: 'j.gpu_use * j.gpu_hours',
    per: 'case when j.gpu_use is not null then j.gpu_hours end',
    onNode: {
      amount: `j.gpu_use * j.gpus * ${HOURS}`,
      per: `case when j.gpu_use is not null then j.gpus * ${HOURS} end`,
    },
  },
  {
    name: 'memory',
    help: 'peak memory of jobs × hours',
    unit: 'GiB-hours',
    amount: `j.memory_peaks_bytes * ${HOURS}`,
    factor: 2 ** -30,
    onNode: { amount: `j.memory_peak_bytes * ${HOURS}` },
  },
  { name: 'energy', help: 'energy of the nodes of jobs', unit: 'kWh', amount: 'j.energy_joules', factor: 1 / 3.6e6 },
  {
    name: 'CO2',
    help: 'energy × g CO2 per kWh (--co2)',
    unit: 'kg CO2e',
    amount: 'j.energy_joules',
    factor: 1 / 3.6e9,
    emits: true,
  },
  {
    name: 'waste',
    help: 'core-hours that were held and not used',
    unit: 'core-hours',
    amount: 'j.core_hours_wasted',
    onNode: { amount: `j.cpus * ${HOURS} * greatest(0, 1 - j.cpu_use)` },
  },
  {
    name: 'gpu-waste',
    help: 'GPU-hours that were held and not used',
    unit: 'GPU-hours',
    amount: 'j.gpu_hours_wasted',
    onNode: { amount: `j.gpus * ${HOURS} * greatest(0, 1 - j.gpu_use)` },
  },
  { name: 'jobs', help: 'jobs that started', unit: 'jobs', amount: '1', at: 'start' },
  {
    name: 'wait',
    help: 'mean time from submission to start, by when jobs were submitted',
    unit: 'seconds',
    amount: 'j.wait_seconds',
    per: 'case when j.wait_seconds is not null then 1 end',
    at: 'submit',
  },
] as const satisfies readonly Metric[];

export type MetricName = (typeof METRICS)[number]['name'];

export const metricOf = (name: MetricName): Metric => METRICS.find((one) => one.name === name)!;
