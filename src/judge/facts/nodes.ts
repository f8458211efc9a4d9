import { smallest } from '../../base/extremes.ts';
import { formatMoment } from '../../base/moment.ts';
import { stated } from '../../base/stated.ts';
import {
  columnOf,
  ifFinite,
  largest,
  type Material,
  type NodeMaterial,
  sum,
  tableOf,
  wholeOf,
} from '../../query/material.ts';
import { secondsIn } from '../../query/spans/select.ts';
import { cpusOn, memoryOn } from '../../query/use/allocation.ts';
import { cpuOf } from '../../query/use/cpu.ts';
import { cgroupAround, cgroupOf } from '../../query/use/cpu-total.ts';
import { memoryOf, ownMemory } from '../../query/use/memory.ts';
import { allowedCpusOf, processWorkOf } from '../../query/use/process-work.ts';
import { type AgentRecord, KILLED } from '../../recording/folder/agent-record.ts';
import type { JobState } from '../../recording/folder/job.ts';
import { cgroupTable, cpuTable, loadavgTable, pressureTable, processTable, vmstatTable } from '../../sources/tables.ts';
import type { GpuReport, NodeReport } from '../report-schema.ts';
import { oomKillsOf } from '../use/oom-kills.ts';
import { gpuMean } from '../use/recorded-time.ts';
import { lateSeconds, measuredSince, unlessBrief } from '../use/unrecorded-time.ts';
import { energyOf } from './energy.ts';

/** A node is late, and taken for lost, after so many intervals without a sample, but not before five seconds. */
const SILENT_INTERVALS = 3;
const SILENT_SECONDS = 5;
/** How long after a job's end the last message of a node's own agent may be on its way. */
const FAREWELL_SECONDS = 30;
/** The scheduler ends all that runs in such a job: of its agents nobody may be left to say farewell. */
const ENDED_BY_SCHEDULER: readonly JobState[] = ['timeout', 'cancelled', 'preempted', 'out_of_memory'];

/** vmstat counts in pages of the machine, which have one size on x86; elsewhere the node says which. */
const pageBytesOf = ({ agent }: NodeMaterial): number | undefined =>
  agent?.facts.page_bytes ?? (agent?.facts.architecture === 'x86_64' ? 4096 : undefined);

/** Every node of the job, also those that were never recorded. `isBrief`: only what is said of phases, which is CPUs and energy. */
export function nodesOf(material: Material, gpus: readonly GpuReport[], isBrief = false): NodeReport[] {
  const wanted = material.range?.nodes ?? material.job.nodes;
  const recorded = new Map(material.nodes.map((n) => [n.node, n]));
  const names = [...new Set([...wanted, ...recorded.keys()])];
  return names.map((name) => {
    const node = recorded.get(name);
    if (node === undefined || (isUnknown(node) && !ranOn(material, name))) {
      const reason = material.job.not_recorded?.[name] ?? 'no agent wrote anything on this node';
      return { node: name, status: 'never recorded', reason, ...waitedFor(material) };
    }
    return nodeOf(material, node, gpus, isBrief);
  });
}

/** What wait4 told of the command, where nothing was sampled beside it. */
function waitedFor({ job, range }: Material): Partial<NodeReport> {
  const { usage, nodes } = job;
  if (usage === undefined || usage.elsewhere || nodes.length > 1 || range !== undefined) return {};
  const { max_rss_bytes: memory_peak_bytes } = usage;
  return {
    cpu_seconds: usage.user_seconds + usage.system_seconds,
    cpu_source: 'wait4',
    ...(memory_peak_bytes === undefined ? {} : { memory_peak_bytes, memory_source: 'process' }),
  };
}

const isUnknown = ({ agent, tables }: NodeMaterial): boolean => agent === undefined && tables.size === 0;

const ranOn = (material: Material, node: string): boolean => wholeOf(material).processes?.node.includes(node) === true;

function nodeOf(material: Material, node: NodeMaterial, gpus: readonly GpuReport[], isBrief: boolean): NodeReport {
  const { job } = material;
  const nodeReport: NodeReport = { node: node.node, ...statusOf(material, node) };
  const set: SetFact = (key, value) => {
    if (value !== undefined) nodeReport[key] = value;
  };
  const seconds = nodeReport.recorded_seconds ?? 0;
  set('late_seconds', lateSeconds(material, node.agent, nodeReport.first_sample));

  const cpus = cpusOn(material, node);
  set('cpus', cpus?.value);
  set('cpus_source', cpus?.source);
  const cpu = unlessBrief(material, nodeReport, cpuOf(material, node));
  set('cpu_seconds', cpu?.seconds);
  set('cpu_source', cpu?.source);
  if (cpu !== undefined && cpus !== undefined && cpus.value > 0) {
    // an agent may be there before the command and after it
    const ran = cpu.source === 'node' || material.range !== undefined ? Number.NaN : (job.end! - job.start) / 1e6;
    // a node's own agent may come late: what the job's cgroup and its processes have used is from their beginning on
    const isOfJob = cpu.source !== 'node' && cpu.sampled_only !== true;
    const isWhole = node.agent?.service === true && material.range === undefined && isOfJob;
    const late = isWhole ? Math.max(0, (nodeReport.first_sample! - job.start) / 1e6 || 0) : 0;
    const unseen = isWhole ? (measuredSince(material, node, nodeReport.first_sample) - job.start) / 1e6 : 0;
    const window = (cpu.window_seconds ?? Math.min(seconds + late, ran || Number.POSITIVE_INFINITY)) - unseen;
    if (window > 0) {
      set('cpu_window_seconds', window);
      set('cpu_utilization', cpu.seconds / window / cpus.value);
    }
    // the mean of less than an interval is higher than what two samples make of it
    const most = largest([cpu.rate_max && cpu.rate_max / cpus.value, nodeReport.cpu_utilization]);
    if (cpu.rate_max !== undefined) set('cpu_utilization_max', most);
  }
  if (!isBrief) setHostFacts(material, node, nodeReport, set);

  const own = gpus.filter((g) => g.node === node.node && g.own !== false);
  if (own.length > 0) set('gpus', own.length);
  set('gpu_utilization', gpuMean(own, 'utilization_mean'));
  set('gpu_power_watts', sum(own.map((g) => g.power_mean_watts)));
  const energy = energyOf(material, node, gpus);
  set('energy_joules', energy?.joules);
  set('energy_source', energy?.source);
  set('energy_covers', energy?.covers);
  set('energy_seconds', energy?.seconds);
  set('shared_with', node.agent?.shared_with);
  set('neighbours', node.agent?.neighbours);
  set('left_running', node.agent?.left_running);
  return nodeReport;
}

type SetFact = <K extends keyof NodeReport>(key: K, value: NodeReport[K] | undefined) => void;

/** What its processes, its memory and its kernel tell. */
function setHostFacts(
  material: Material,
  node: NodeMaterial,
  { cpus, recorded_seconds = 0 }: NodeReport,
  set: SetFact,
): void {
  const work = processWorkOf(material, node);
  set('cpu_wait_seconds', work.waited);
  set('io_bytes', work.io_bytes);
  set('major_faults', work.major_faults);
  const allowed = allowedCpusOf(material, node);
  if (allowed! < cpus!) set('allowed_cpus', allowed);
  set('node_cpus', node.agent?.facts.cpus);
  set('node_memory_bytes', node.agent?.facts.memory_bytes);
  setCpuShares(node, set);
  setPressure(node, recorded_seconds, set);
  set('load_mean', ifFinite(columnOf(node, loadavgTable.col.load1)?.mean));
  set('load_max', ifFinite(columnOf(node, loadavgTable.col.load1)?.max));

  const memory = memoryOf(material, node);
  set('memory_peak_bytes', memory?.bytes);
  set('memory_source', memory?.source);
  set('memory_shm_bytes', memory?.shm_bytes);
  if (memory?.source === 'cgroup') set('memory_own_bytes', ownMemory(material, node));
  const limit = memoryOn(material, node);
  set('memory_limit_bytes', limit?.value);
  set('memory_limit_source', limit?.source);
  const swap = swapOf(node);
  set('swap_peak_bytes', swap?.bytes);
  set('swap_source', swap?.source);
  set(
    'swapped_in_bytes',
    ifFinite((columnOf(node, vmstatTable.col.pswpin)?.increase ?? Number.NaN) * pageBytesOf(node)!),
  );
  const killed = oomKillsOf(material, node);
  set('oom_kills', killed?.kills);
  set('oom_scope', killed?.scope);
  set('oom_source', killed?.source);
  const periods = ifFinite(cgroupAround(node, cgroupTable.col.periods)?.increase);
  const throttled = ifFinite(cgroupAround(node, cgroupTable.col.throttled_periods)?.increase);
  if (periods !== undefined && periods > 0 && throttled !== undefined) set('cpu_throttled', throttled / periods);
}

/** What the job had in swap; undefined where neither its cgroup nor all of its processes tell. */
function swapOf(node: NodeMaterial): { bytes: number; source: 'cgroup' | 'process' } | undefined {
  const counted = ifFinite(cgroupOf(node, cgroupTable.col.swap_current_bytes)?.max);
  if (counted !== undefined) return { bytes: counted, source: 'cgroup' };
  const { series = [], series_total: total = 0 } = tableOf(node, processTable) ?? {};
  const each = series.map(({ columns }) => ifFinite(columns.swap_bytes?.max));
  const most = largest(each);
  // where one of them is not known it may have been that one
  if (most === undefined || (most === 0 && (series.length < total || each.includes(undefined)))) return undefined;
  return { bytes: most, source: 'process' };
}

function setCpuShares(node: NodeMaterial, set: SetFact): void {
  const { busy_ms, idle_ms, iowait_ms } = cpuTable.col;
  const grown = [busy_ms, idle_ms, iowait_ms].map((each) => ifFinite(columnOf(node, each, { cpu: 'all' })?.increase));
  const [busy, idle, wait] = grown;
  const all = sum(grown);
  if (all !== undefined && all > 0 && busy !== undefined && idle !== undefined) set('node_cpu_utilization', busy / all);
  if (all !== undefined && all > 0 && wait !== undefined && idle !== undefined) set('iowait', wait / all);
}

function setPressure(node: NodeMaterial, seconds: number, set: SetFact): void {
  if (seconds <= 0) return;
  const own = cgroupOf(node, cgroupTable.col.cpu_stalled_us) !== undefined;
  for (const resource of ['cpu', 'memory', 'io'] as const) {
    const held = own
      ? cgroupOf(node, cgroupTable.col[`${resource}_stalled_us`])
      : columnOf(node, pressureTable.col.some_total_us, { resource });
    const grown = ifFinite(held?.increase);
    if (grown === undefined) continue;
    set(`pressure_${resource}`, Math.min(1, grown / 1e6 / seconds));
    set('pressure_scope', own ? 'job' : 'node');
  }
}

/** When the node was heard of, and whether it fell silent before its time. */
function statusOf(material: Material, node: NodeMaterial): Omit<NodeReport, 'node'> {
  const { agent } = node;
  const { job, range } = material;
  // of records of processes alone, whose agent.json is lost
  if (isUnknown(node)) return { status: 'recorded' };
  if (agent?.end !== undefined && !sampled(agent)) {
    // made of what others recorded: it is as whole as it ever was
    const nodeStatus: Omit<NodeReport, 'node'> = {
      status: 'recorded',
      first_sample: agent.start,
      last_sample: agent.end,
    };
    nodeStatus.recorded_seconds = (agent.end - agent.start) / 1e6;
    if (agent.end_reason !== undefined) nodeStatus.reason = agent.end_reason;
    return nodeStatus;
  }
  const tables = [...node.tables.values()].filter((t) => t.rows > 0);
  if (agent?.end !== undefined && agent.ticks === 0 && tables.length === 0 && agent.service === true) {
    // its hooks told of the job when it was over
    return { status: 'never recorded', ...stated({ reason: agent.end_reason }) };
  }
  // what the agent says is of all the job
  const agentRecord = range === undefined ? agent : undefined;
  const first = tables.length > 0 ? smallest(tables.map((t) => t.start)) : agentRecord?.first_sample;
  const last = tables.length > 0 ? largest(tables.map((t) => t.end)) : agentRecord?.last_sample;
  const nodeStatus: Omit<NodeReport, 'node'> = { status: 'recorded' };
  const samples = largest(tables.filter((t) => t.series_total === 1).map((t) => t.rows));
  if (samples !== undefined) nodeStatus.samples = samples;
  if (first !== undefined) nodeStatus.first_sample = first;
  if (last !== undefined) nodeStatus.last_sample = last;
  if (first !== undefined && last !== undefined) nodeStatus.recorded_seconds = secondsIn(range, first, last);

  // of one that is known to have been killed there is nothing to wait for
  const least = agent?.end_reason === KILLED ? 0 : SILENT_SECONDS;
  const patience = Math.max(least, SILENT_INTERVALS * job.interval_seconds) * 1e6;
  const silentAt = (until: number | undefined): boolean => {
    // the newest sample of the whole recording, not only of the part that is looked at
    const newest = range === undefined ? last : (agent?.last_sample ?? last);
    return newest === undefined || (until !== undefined && until - newest > patience);
  };
  if (agent?.end !== undefined && agent.end_reason !== KILLED) {
    // it said farewell: stopped by the user with all others, or before them
    if (silentAt(newestOf(material))) nodeStatus.status = 'stopped early';
    const full = nodeStatus.status === 'stopped early' ? refusedWords(agent) : undefined;
    if ((full ?? agent.end_reason) !== undefined) nodeStatus.reason = full ?? agent.end_reason!;
  } else if (agent !== undefined && agent.end === undefined && wentWithJob(material, last)) {
    nodeStatus.reason = 'it was ended with the job';
  } else if (job.end !== undefined && isSeenThrough(material, last, patience)) {
    // it fell silent later
  } else if (
    (agent !== undefined && agent.end === undefined && job.end !== undefined && !isClosing(material, agent)) ||
    // the job's end is not known better than by its last sample
    (agent?.end_reason === KILLED && job.state === 'node_fail') ||
    silentAt(job.end ?? material.now)
  ) {
    nodeStatus.status = 'stopped early';
    const taken = job.taken_nodes?.[node.node];
    if (taken !== undefined) nodeStatus.taken = taken;
    const lost =
      agent?.end_reason !== KILLED
        ? silenceOf(agent)
        : job.state === 'node_fail'
          ? 'its agent was killed, and the scheduler says that a node failed'
          : 'its agent was killed, and the next one came after the job';
    const reasonText = taken === undefined ? lost : `the scheduler took it out of the job at ${formatMoment(taken)}`;
    nodeStatus.reason = refusedWords(agent) ?? job.not_recorded?.[node.node] ?? reasonText;
    if (job.state === 'running' && agent?.service === true && agent.end === undefined && nodeStatus.reason === lost) {
      nodeStatus.status = 'silent';
      nodeStatus.reason = WAITING;
    }
  } else if (agent?.end === undefined && (job.end === undefined || agent !== undefined))
    nodeStatus.status = 'recording';
  return nodeStatus;
}

/** A node's service moves on to another hub when its own is away; what it had sent stays where it is. */
export const UNHEARD =
  'nothing more came from it: it could not reach this hub, its agent was killed, the node was lost, or another hub has the rest';

const silenceOf = (agent: AgentRecord | undefined): string =>
  agent?.service === true ? UNHEARD : 'its agent was killed or the node was lost: it recorded no end';

/** Of a node's service while the job runs: what it cannot send is kept on the node. */
const WAITING =
  'what it samples may wait there until the hub can be reached; or its agent was killed, the node was lost, or another hub has it';

/** The scheduler knows of the job's end before the agent of the node has said its own. */
const isClosing = ({ job, now }: Material, agent: AgentRecord): boolean =>
  agent.service === true && now - job.end! < FAREWELL_SECONDS * 1e6;

/** Whether the agent sampled up to the end that the scheduler made of the job, which it tells in whole seconds. */
const wentWithJob = ({ job }: Material, last: number | undefined): boolean =>
  ENDED_BY_SCHEDULER.includes(job.state) && job.end! - last! <= (2 * job.interval_seconds + 1) * 1e6;

/** Whether a part of the job was sampled to its end. */
const isSeenThrough = ({ job, range }: Material, last: number | undefined, patience: number): boolean =>
  range !== undefined && Math.min(range.to ?? Number.POSITIVE_INFINITY, job.end!) - last! <= patience;

/** Why a node is silent whose disk was full. */
function refusedWords(agent: AgentRecord | undefined): string | undefined {
  const first = agent?.lost_samples?.toSorted((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity))[0];
  if (first === undefined) return undefined;
  const since = first.since === undefined ? '' : ` since ${formatMoment(first.since)}`;
  return `its samples could not be written${since}: ${first.why}`;
}

/** A recording that was imported has records and no samples. */
export function sampled(agent: AgentRecord): boolean {
  return Number.isFinite(agent.interval_seconds);
}

/** The newest sample of any node. */
function newestOf(material: Material): number | undefined {
  const { nodes, range } = material;
  return largest(
    nodes.map((n) => (range === undefined ? largest([...n.tables.values()].map((t) => t.end)) : n.agent?.last_sample)),
  );
}
