import { defineTable, gauge, text } from '../../table/table.ts';
import { jobEnding, jobKeys } from './columns.ts';

/** One row per job and node. */
export const jobNodesTable = defineTable({
  name: 'job_nodes',
  help: 'One row per job and node. Its time is the start of the job.',
  scope: 'job',
  events: true,
  keys: [...jobKeys, { name: 'node', help: 'Node.' }],
  columns: [
    ...jobEnding,
    gauge('cpus', 'count', 'CPUs of the job on this node.'),
    gauge('cpu_seconds', 'seconds', 'CPU time of the job on this node.', 'float', 3),
    gauge('cpu_use', 'share', 'Part of these CPUs that was busy, 0 to 1.', 'float', 6),
    gauge('memory_peak_bytes', 'bytes', 'Highest use of memory.'),
    gauge('memory_limit_bytes', 'bytes', 'What the job may use here.'),
    gauge('gpus', 'count', 'GPUs of the job here.'),
    gauge('gpu_use', 'share', 'Their mean utilisation, 0 to 1.', 'float', 6),
    gauge('energy_joules', 'joules', 'Energy of the node while it was recorded.', 'float', 3),
    gauge('node_cpus', 'count', 'All CPUs of the node.'),
    gauge('node_cpu_use', 'share', 'Part of all CPUs of the node that anybody used meanwhile, 0 to 1.', 'float', 6),
    gauge('recorded_seconds', 'seconds', 'How long the node was recorded.', 'float', 3),
    text('status', 'recorded, recording, silent, stopped early or never recorded.'),
    text('straggler', 'Why this node is unlike the others; empty: it is not.'),
    text('recording', 'Path of the recording below the archive.'),
  ],
});
