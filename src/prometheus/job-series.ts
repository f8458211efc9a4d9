import type { AgentRecord } from '../recording/folder/agent-record.ts';
import type { Job } from '../recording/folder/job.ts';

/** One number that is known of a job or a node, beside what is sampled. */
export interface Fact {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What is known of a job: an info metric that says whose it is, and numbers. Missing is left out. */
export function jobFacts(job: Job): Fact[] {
  const facts: Fact[] = [];
  const add = (name: string, help: string, value: number | undefined, labels: Fact['labels'] = {}): void => {
    if (value !== undefined && Number.isFinite(value)) facts.push({ name, help, labels, value });
  };
  const seconds = (moment: number | undefined): number | undefined => (moment === undefined ? undefined : moment / 1e6);
  add('tacho_job_info', 'Who runs the job, where and under which name.', 1, {
    user: job.user,
    name: job.name,
    scheduler: job.scheduler,
    partition: job.partition ?? '',
    account: job.account ?? '',
    cluster: job.cluster ?? '',
  });
  add('tacho_job_state', 'How the job is or ended: 1 for the state that the label names.', 1, { state: job.state });
  add('tacho_job_submit_timestamp_seconds', 'When the job was submitted.', seconds(job.submit));
  add('tacho_job_start_timestamp_seconds', 'When the job began.', seconds(job.start));
  add('tacho_job_end_timestamp_seconds', 'When the job ended.', seconds(job.end));
  add('tacho_job_exit_code', 'What the job returned.', job.exit_code);
  add('tacho_job_interval_seconds', 'Time between samples.', job.interval_seconds);
  add('tacho_job_nodes', 'Nodes of the job.', job.nodes.length);
  add('tacho_job_asked_nodes', 'Nodes that were asked for.', job.asked.nodes);
  add('tacho_job_asked_cpus', 'CPUs that were asked for, on all nodes.', job.asked.cpus);
  add('tacho_job_asked_gpus', 'GPUs that were asked for, on all nodes.', job.asked.gpus);
  add('tacho_job_asked_memory_bytes', 'Memory that was asked for, on all nodes.', job.asked.memory_bytes);
  add('tacho_job_asked_time_seconds', 'Time limit that was asked for.', job.asked.time_limit_seconds);
  return facts;
}

/** What the node is. `ofJob`: also the job's share of it. */
export function nodeFactSeries({ facts, tacho }: AgentRecord, ofJob: boolean): Fact[] {
  const series: Fact[] = [];
  const add = (name: string, help: string, value: number | undefined, labels: Fact['labels'] = {}): void => {
    if (value !== undefined && Number.isFinite(value)) series.push({ name, help, labels, value });
  };
  add('tacho_node_info', 'What the node is.', 1, {
    hostname: facts.hostname,
    kernel: facts.kernel,
    architecture: facts.architecture,
    cpu_model: facts.cpu_model ?? '',
    tacho,
  });
  add('tacho_node_cpus', 'CPUs that are online.', facts.cpus);
  add('tacho_node_sockets', 'Sockets.', facts.sockets);
  add('tacho_node_memory_bytes', 'Memory of the node.', facts.memory_bytes);
  add('tacho_node_gpus', 'GPUs of the node.', facts.gpus.length);
  const boot = facts.boot_time === undefined ? undefined : facts.boot_time / 1e6;
  add('tacho_node_boot_timestamp_seconds', 'When the node was started.', boot);
  if (ofJob) {
    add('tacho_node_allowed_cpus', 'CPUs of the node that the job may use.', facts.allowed_cpus);
    add('tacho_node_memory_limit_bytes', 'Memory of the node that the job may use.', facts.memory_limit_bytes);
  }
  return series;
}

/** The labels of rmsjob_info, by which Omnistat's queries find the nodes of a job. */
export function omnistatJobLabels(job: Job, node: string): Record<string, string> {
  return {
    instance: node,
    jobid: job.id,
    user: job.user,
    partition: job.partition ?? '',
    nodes: String(job.nodes.length),
    batchflag: '1',
    jobstep: '-1',
    type: job.scheduler,
  };
}
