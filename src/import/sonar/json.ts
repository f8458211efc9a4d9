import { stated } from '../../base/stated.ts';
import { sonarMoment } from './moment.ts';
import type { SonarCard, SonarData, SonarNode, SonarProcess, SonarUse } from './sample.ts';

type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Fields that are 0 are left out. */
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
const some = (value: unknown): number | undefined => number(value) || undefined;

/** A packet of Sonar 0.13 or later, or what older versions say of a node. */
export function readJsonPacket(value: unknown, data: SonarData): void {
  // a list of nodes as Jobanalyzer is configured with
  if (Array.isArray(value)) for (const one of value) readJsonPacket(one, data);
  const packet = fields(value);
  const { version } = fields(packet.meta);
  if (typeof packet.hostname === 'string') return void readOldNode(packet, data);
  if (Array.isArray(value)) return;
  if (typeof version === 'string') data.versions.add(version);
  const { type, attributes } = fields(packet.data);
  const of = fields(attributes);
  if (packet.data === undefined && Array.isArray(packet.errors)) return void data.drop('an error that Sonar reported');
  if (type === 'sample') readSample(of, data);
  else if (type === 'sysinfo') readNode(of, data);
  else if (type === 'jobs' || type === 'job') readJobs(of, data);
  // partitions and states of nodes: nothing in the history is made of them
  else if (type !== 'cluster') data.drop('no record of Sonar');
}

function readSample(of: Fields, data: SonarData): void {
  const time = sonarMoment(text(of.time));
  const node = text(of.node);
  if (time === undefined || node === '') return void data.drop('without a time, a node or a command');
  const sample = data.sample(time, text(of.cluster), node);
  const system = fields(of.system);
  if (Array.isArray(system.cpus) && system.cpus.length > 0) sample.cpu_seconds = system.cpus.map(number);
  const used = some(system.used_memory);
  if (used !== undefined) sample.used_memory_kib = used;
  if (system.load1 !== undefined || system.load5 !== undefined || system.load15 !== undefined)
    sample.load = [number(system.load1), number(system.load5), number(system.load15)];
  const [runnable, threads] = [some(system.runnable_entities), some(system.existing_entities)];
  if (runnable !== undefined) sample.runnable = runnable;
  if (threads !== undefined) sample.threads = threads;
  sample.cards = list(system.gpus).map((card): SonarCard => {
    const failing = number(card.failing) > 0;
    if (failing) sample.failing = true;
    return {
      gpu: String(number(card.index)),
      percent: number(card.ce_util),
      memory_percent: number(card.memory_util),
      memory_kib: number(card.memory),
      ...stated({
        temperature: some(card.temperature),
        power: some(card.power),
        power_limit: some(card.power_limit),
        clock: some(card.ce_clock),
        memory_clock: some(card.memory_clock),
        fan: some(card.fan),
      }),
      ...(failing ? { failing } : {}),
    };
  });
  for (const job of list(of.jobs))
    for (const process of list(job.processes)) sample.processes.push(processOf(job, process));
}

function processOf(job: Fields, process: Fields): SonarProcess {
  return {
    job: String(number(job.job)),
    user: text(job.user),
    epoch: number(job.epoch),
    pid: number(process.rolledup) > 0 ? 0 : number(process.pid),
    command: text(process.cmd),
    rolled: number(process.rolledup),
    cpu_percent: number(process.cpu_avg),
    cpu_seconds: number(process.cpu_time),
    virtual_kib: number(process.virtual_memory),
    resident_kib: number(process.resident_memory),
    gpus: list(process.gpus).map(
      (card): SonarUse => ({
        gpu: String(number(card.index)),
        percent: number(card.gpu_util),
        memory_percent: number(card.gpu_memory_util),
        memory_kib: number(card.gpu_memory),
      }),
    ),
    ...stated({
      ppid: some(process.ppid),
      // Sonar does not count the main thread
      threads: process.num_threads === undefined ? undefined : number(process.num_threads) + 1,
      read_kib: process.data_read === undefined ? undefined : number(process.data_read),
      written_kib: process.data_written === undefined ? undefined : number(process.data_written),
    }),
  };
}

function readNode(of: Fields, data: SonarData): void {
  const node = text(of.node);
  if (node === '') return void data.drop('without a time, a node or a command');
  const [sockets, cores, threads] = [number(of.sockets), number(of.cores_per_socket), number(of.threads_per_core)];
  put(data, {
    cluster: text(of.cluster),
    node,
    ...stated({
      cpus: sockets * cores * threads || undefined,
      sockets: sockets || undefined,
      memory_kib: some(of.memory),
      cpu_model: text(of.cpu_model) || undefined,
      kernel: text(of.os_release) || text(of['os-version']) || undefined,
    }),
    cards: list(of.cards).map(cardOf),
  });
}

const cardOf = (card: Fields): SonarNode['cards'][number] => ({
  gpu: String(number(card.index)),
  ...stated({
    model: text(card.model) || undefined,
    uuid: text(card.uuid) || undefined,
    manufacturer: text(card.manufacturer) || undefined,
    driver: text(card.driver) || undefined,
    memory_kib: some(card.memory) ?? some(card.mem_size_kib),
  }),
});

function readOldNode(of: Fields, data: SonarData): void {
  if (typeof of.version === 'string') data.versions.add(of.version);
  const cards = list(of.gpu_info).map(cardOf);
  const each = number(of.gpu_cards) > 0 ? (number(of.gpumem_gb) / number(of.gpu_cards)) * 2 ** 20 : 0;
  const counted = Array.from({ length: number(of.gpu_cards) }, (_, i) => ({
    gpu: String(i),
    ...stated({ memory_kib: each || undefined }),
  }));
  put(data, {
    cluster: '',
    node: text(of.hostname),
    ...stated({ cpus: some(of.cpu_cores), memory_kib: number(of.mem_gb) * 2 ** 20 || undefined }),
    cards: cards.length > 0 ? cards : counted,
  });
}

function put(data: SonarData, node: SonarNode): void {
  data.nodes.set(node.node, { ...data.nodes.get(node.node), ...node });
}

/** Slurm's jobs, as the columns of sacct that they come from. Memory is in KiB there. */
function readJobs({ cluster, slurm_jobs: jobs }: Fields, data: SonarData): void {
  for (const job of list(jobs)) {
    const id = some(job.job_id);
    if (id === undefined) {
      data.drop('a job without an id');
      continue;
    }
    const sacct = fields(job.sacct);
    const step = text(job.job_step);
    const array = some(job.array_job_id);
    const het = some(job.het_job_id);
    const name =
      array !== undefined
        ? `${array}_${number(job.array_task_id)}`
        : het === undefined
          ? String(id)
          : `${het}+${number(job.het_job_offset)}`;
    const line = new Map<string, string>();
    const set = (column: string, value: string | number | undefined): void => {
      if (value !== undefined && value !== '') line.set(column, String(value));
    };
    set('JobID', step === '' ? name : `${name}.${step}`);
    set('Cluster', text(cluster));
    set('User', text(job.user_name));
    set('Account', text(job.account));
    set('Partition', text(job.partition));
    set('JobName', text(job.job_name));
    set('State', text(job.job_state));
    set('Submit', text(job.submit_time));
    set('Start', text(job.start_time));
    set('End', text(job.end_time));
    set('TimelimitRaw', some(job.time_limit));
    set('NodeList', Array.isArray(job.nodes) ? job.nodes.join(',') : '');
    set('ReqCPUS', some(job.requested_cpus));
    set('ReqNodes', some(job.requested_node_count));
    set('ReqTRES', text(job.requested_resources));
    set('ExitCode', job.exit_code === undefined ? undefined : `${number(job.exit_code)}:0`);
    set('AllocTRES', text(sacct.AllocTRES) || text(job.allocated_resources));
    set('ElapsedRaw', some(sacct.ElapsedRaw));
    set('MaxRSS', some(sacct.MaxRSS) === undefined ? undefined : `${number(sacct.MaxRSS)}K`);
    const [user, system] = [number(sacct.UserCPU), number(sacct.SystemCPU)];
    if (user + system > 0)
      set('TotalCPU', `${Math.floor((user + system) / 60)}:${String((user + system) % 60).padStart(2, '0')}`);
    data.slurm.push(line);
  }
}

/** The documents of a text that holds several, one behind the other. Yields undefined for one that is torn. */
export function* documents(all: string): Generator<unknown> {
  let depth = 0;
  let from = -1;
  let isQuoted = false;
  for (let i = 0; i < all.length; i++) {
    const c = all.charCodeAt(i);
    if (isQuoted) {
      if (c === 92) i++;
      else if (c === 34) isQuoted = false;
    } else if (c === 34) isQuoted = true;
    else if (c === 123 || c === 91) {
      if (depth++ === 0) from = i;
    } else if ((c === 125 || c === 93) && depth > 0 && --depth === 0) yield parsed(all.slice(from, i + 1));
  }
  if (depth > 0 || isQuoted) yield undefined;
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document) as unknown;
  } catch {
    return undefined;
  }
}
