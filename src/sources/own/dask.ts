import { counter, defineTable, gauge, text } from '../../table/table.ts';

/** What `tacho dask attach` records. No agent reads these: the monitor of a Dask cluster writes them. */

const WORKER = { name: 'worker', help: 'The address of the worker, as the scheduler knows it.' } as const;

const JOB = gauge('dask_job', 'count', 'The job of Dask: a client, or what `new-job` began. 0 and missing: none yet.');
const DAG = gauge('dag', 'count', 'The graph within the job, counted from 0.');

export const daskTaskTable = defineTable({
  name: 'dask_task',
  help: 'Tasks of a Dask cluster that ended: one row per execution, at its end. A retried or recomputed task has several.',
  scope: 'job',
  events: true,
  keys: [WORKER],
  columns: [
    text('key', 'The key of the task; a tuple as Python prints it, without the spaces behind its commas.'),
    text('prefix', 'What Dask calls the prefix: the key without its token, the name that people know.'),
    text('outcome', 'ok; erred; lost: its worker went away while it had the task.'),
    text('error', 'Type and text of the exception of an erred task, at most 200 characters.'),
    gauge(
      'thread',
      'count',
      'The thread of the worker: Python’s thread identifier, counted from 0 in the order of appearance.',
    ),
    gauge('start_time', 'epoch', 'When its computation started; missing: it is not known to have started.'),
    gauge('transfer_us', 'microseconds', 'How long the worker fetched what the task needs from other workers.'),
    gauge('disk_us', 'microseconds', 'How long the worker read spilled data from disk for it.'),
    gauge('bytes', 'bytes', 'Size of the result, as Dask estimates it.'),
    JOB,
    DAG,
  ],
});

export const daskWorkerTable = defineTable({
  name: 'dask_worker',
  help: 'Workers of a Dask cluster, each sampled in its own process.',
  scope: 'job',
  keys: [WORKER],
  columns: [
    text('name', 'The name of the worker; its index in a LocalCluster.'),
    text('host', 'The host that the worker runs on.'),
    text('tasks', 'Keys of the tasks that execute, joined by a comma and a space.'),
    gauge('pid', 'count', 'The process of the worker.'),
    gauge('threads', 'count', 'How many tasks it may execute at once.'),
    gauge('executing', 'count', 'Tasks that execute.'),
    gauge('ready', 'count', 'Tasks that could execute and wait for a thread.'),
    gauge('fetching', 'count', 'Tasks whose results are on the way from other workers.'),
    gauge('stored', 'count', 'Results that it holds in memory or on disk.'),
    gauge('memory_bytes', 'bytes', 'Resident memory of the worker process.'),
    gauge('limit_bytes', 'bytes', 'The memory limit of the worker; missing: it has none.'),
    gauge('managed_bytes', 'bytes', 'Results in memory, as Dask estimates their size.'),
    gauge('spilled_bytes', 'bytes', 'Results on disk.'),
    counter('cpu_us', 'microseconds', 'CPU time of the worker process, all of its threads.'),
    counter('received_bytes', 'bytes', 'Bytes that it fetched from other workers.'),
    counter('sent_bytes', 'bytes', 'Bytes that other workers fetched from it.'),
    JOB,
    DAG,
    gauge('sample_us', 'microseconds', 'CPU time that this sample took in the worker.'),
  ],
});

export const daskGpuTable = defineTable({
  name: 'dask_gpu',
  help: 'GPUs that workers of a Dask cluster may use, sampled together with the worker.',
  scope: 'job',
  keys: [WORKER, { name: 'device', help: 'The index of the GPU on its host.' }],
  columns: [
    gauge('used_bytes', 'bytes', 'Memory in use: total-mem of the CSV files.'),
    gauge('total_bytes', 'bytes', 'Memory of the GPU.'),
    gauge('compute_percent', 'percent', 'Share of time in which the GPU computed: compute-util of the CSV files.'),
  ],
});

export const daskMetricTable = defineTable({
  name: 'dask_metric',
  help: 'Custom metrics of Dask workers (`tacho dask attach --custom`), sampled together with the worker.',
  scope: 'job',
  keys: [
    WORKER,
    { name: 'metric', help: 'Its name, as the custom metric gives it.' },
    { name: 'device', help: 'The index of the GPU; empty: one value for the worker.' },
  ],
  columns: [
    { name: 'value', type: 'float', unit: 'count', kind: 'gauge', exact: true, help: 'The value, in its own unit.' },
    text('text', 'The value where it is not a number.'),
  ],
});

export const daskGraphTable = defineTable({
  name: 'dask_graph',
  help: 'Graphs that clients submitted to a Dask cluster, and what happened to its workers and clients.',
  scope: 'job',
  events: true,
  keys: [],
  columns: [
    text(
      'event',
      'graph; client, client-gone; worker, worker-gone; job: `new-job`; start, stop: of recording; way, missing, note: how it is recorded.',
    ),
    text('client', 'The client that submitted the graph, came or left.'),
    text('worker', 'The worker that came or left, or has something to note.'),
    text(
      'name',
      'graph: the prefixes of the keys that the client wants, at most five; worker: its name; start: what is tracked; way: the way in; missing: what is not recorded that way; note: what could not be measured, and why.',
    ),
    gauge('wanted', 'count', 'Keys that the client wants of the graph.'),
    gauge('tasks', 'count', 'Tasks of the graph.'),
    JOB,
    DAG,
  ],
});
