import { defineTable, gauge, text } from '../../table/table.ts';
import { share } from './columns.ts';

/** One row per recording, node and hour: jobs that share a node tell of the same hour, which counts once (see `ask/`). */
export const nodeHoursTable = defineTable({
  name: 'node_hours',
  help: 'What a node did in an hour (UTC), as one recording saw it. Its time is the start of the hour.',
  scope: 'node',
  events: true,
  keys: [
    { name: 'cluster', help: 'Cluster, where it is known.' },
    { name: 'node', help: 'Node.' },
  ],
  columns: [
    gauge('first_time', 'epoch', 'The first sample of the hour.'),
    gauge('last_time', 'epoch', 'The last sample of the hour.'),
    gauge('seconds', 'seconds', 'Time that samples cover.', 'float', 3),
    gauge('ticks', 'count', 'Samples.'),
    gauge('cpus', 'count', 'CPUs of the node.'),
    share('cpu_use', 'Part of them that was busy, with everybody’s work, 0 to 1.'),
    share('cpu_use_max', 'The same between two samples, at most.'),
    gauge('load_mean', 'count', 'Threads that wanted to run, on average.', 'float', 3),
    gauge('memory_total_bytes', 'bytes', 'Memory of the node.'),
    gauge('memory_used_mean_bytes', 'bytes', 'Memory in use, on average.', 'float', 0),
    gauge('memory_used_max_bytes', 'bytes', 'Memory in use, at most.'),
    gauge('gpus', 'count', 'GPUs of the node that were recorded.'),
    share('gpu_use', 'Their mean utilisation, 0 to 1.'),
    gauge('gpu_memory_used_bytes', 'bytes', 'Memory in use on all of them, on average.', 'float', 0),
    gauge('gpu_memory_total_bytes', 'bytes', 'Memory of all of them.'),
    gauge('gpus_failed', 'count', 'GPUs that stopped answering.'),
    gauge('energy_joules', 'joules', 'Energy of the node.', 'float', 3),
    gauge('read_bytes', 'bytes', 'Read from disks and network file systems.', 'float', 0),
    gauge('written_bytes', 'bytes', 'Written to them.', 'float', 0),
    gauge('network_in_bytes', 'bytes', 'Received.', 'float', 0),
    gauge('network_out_bytes', 'bytes', 'Sent.', 'float', 0),
    text('recording', 'Path of the recording below the archive.'),
  ],
});
