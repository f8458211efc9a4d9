import { usage } from '../../base/fault.ts';
import { type Intervals, lengthOf, union, within } from '../../base/intervals.ts';
import type { CountedProcesses } from './set.ts';
import { parseTags, type Tags, tagReader, tagWords } from './tags.ts';

/** The processes of one job that bear the same tag. Times are microseconds. */
export interface Operation {
  /** A place in the set's `jobs`. */
  job: number;
  /** Of how many jobs it is, where those of several are one. */
  jobs?: number;
  /** "op:timavg"; '' for processes without the tag. */
  name: string;
  tags: Tags;
  /** Places in the set, in its order. */
  members: number[];
  processes: number;
  threads: number;
  cpu_time: number;
  /** Durations of its processes added up. */
  duration_sum: number;
  /** Time in which at least one of them ran. */
  duration: number;
  /** From the first start to the last end. */
  duration_span: number;
  /** Times that it went on without a break. */
  runs: Intervals;
  start: number;
  end: number;
  /** Parts (0 to 1) of the CPU time of all the job's processes, and of the job's duration; NaN when not known. */
  cpu_share: number;
  time_share: number;
  /** Processes whose end nobody knows: they are in no duration. */
  endless: number;
}

export interface OperationsOptions {
  /** KEY: an operation for each of its values. KEY:VALUE (or several, joined by ;): that operation. Default: see tagKey. */
  tags?: readonly string[];
  /** Only these processes; shares are still of the whole job. */
  members?: Iterable<number>;
}

/** How often tags occur: key → values → processes. */
export function tagKeys(set: CountedProcesses): Map<string, Map<string, number>> {
  const keys = new Map<string, Map<string, number>>();
  for (const [text, processes] of textCounts(set)) {
    for (const [key, value] of parseTags(text)) {
      let values = keys.get(key);
      if (values === undefined) {
        values = new Map();
        keys.set(key, values);
      }
      values.set(value, (values.get(value) ?? 0) + processes);
    }
  }
  return keys;
}

/** How many processes have each text of tags; neighbours mostly have the same. */
function textCounts({ tags, length }: CountedProcesses): Map<string, number> {
  const counts = new Map<string, number>();
  for (let from = 0, to = 0; from < length; from = to) {
    const text = tags[from]!;
    while (to < length && tags[to] === text) to++;
    counts.set(text, (counts.get(text) ?? 0) + to - from);
  }
  return counts;
}

/** The tag that operations go by when nobody says: `op` if there is one, else the one that most processes bear. */
export function tagKey(keys: ReadonlyMap<string, ReadonlyMap<string, number>>): string | undefined {
  if (keys.has('op')) return 'op';
  const total = (values: ReadonlyMap<string, number>): number => [...values.values()].reduce((a, b) => a + b, 0);
  return [...keys].sort((a, b) => total(b[1]) - total(a[1]) || a[1].size - b[1].size)[0]?.[0];
}

/** Processes grouped by tag, job by job, in the order of their first start; those without the tag come last. */
export function operationsOf(set: CountedProcesses, options: OperationsOptions = {}): Operation[] {
  const wanted = options.tags ?? [];
  const members = options.members ?? Array.from({ length: set.length }, (_, i) => i);
  if (wanted.length === 0) {
    const key = tagKey(tagKeys(set));
    return key === undefined ? [] : byKey(set, key, members);
  }
  const all = Array.from(members);
  return wanted.flatMap((word) => {
    if (parseTags(word).size === 0) throw usage(`"${word}" is not a tag`, 'write it like op or op:build');
    return word.includes(':') || word.includes(';') ? byTags(set, parseTags(word), all) : byKey(set, word, all);
  });
}

function byKey(set: CountedProcesses, key: string, members: Iterable<number>): Operation[] {
  const read = tagReader();
  const groups = new Map<number, Map<string | undefined, number[]>>();
  let last: { job: number; tags: string; group: number[] } | undefined;
  for (const i of members) {
    const job = set.job[i]!;
    const tags = set.tags[i]!;
    // neighbours mostly have the same
    if (last?.tags === tags && last.job === job) {
      last.group.push(i);
      continue;
    }
    let values = groups.get(job);
    if (values === undefined) {
      values = new Map();
      groups.set(job, values);
    }
    const value = read(tags).get(key);
    let group = values.get(value);
    if (group === undefined) {
      group = [];
      values.set(value, group);
    }
    group.push(i);
    last = { job, tags, group };
  }
  // without any process that bears the tag, the rest is whole jobs and no operation; beside jobs that bear it, it is one
  if (![...groups.values()].some((values) => [...values.keys()].some((value) => value !== undefined))) return [];
  return [...groups]
    .sort(([a], [b]) => a - b)
    .flatMap(([, values]) =>
      [...values]
        .map(([value, group]) => operationOf(set, new Map(value === undefined ? [] : [[key, value]]), group))
        .sort((a, b) => Number(a.name === '') - Number(b.name === '') || a.start - b.start),
    );
}

function byTags(set: CountedProcesses, tags: Tags, members: readonly number[]): Operation[] {
  const read = tagReader();
  const bears = (i: number): boolean => {
    const own = read(set.tags[i]!);
    for (const [key, value] of tags) if (own.get(key) !== value) return false;
    return true;
  };
  const groups = Map.groupBy(members.filter(bears), (i) => set.job[i]!);
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => operationOf(set, tags, group));
}

/** What a group of processes of one job did. */
export function operationOf(set: CountedProcesses, tags: Tags, members: number[]): Operation {
  const job = set.job[members[0]!]!;
  const starts = new Float64Array(members.length);
  const ends = new Float64Array(members.length);
  let start = Number.POSITIVE_INFINITY;
  let durations = 0;
  let endless = 0;
  for (let k = 0; k < members.length; k++) {
    const from = set.start[members[k]!]!;
    const to = set.end[members[k]!]!;
    starts[k] = from;
    ends[k] = to;
    start = Math.min(start, from);
    if (to >= from) durations += to - from;
    else endless++;
  }
  const runs = union(starts, ends);
  const duration = lengthOf(runs);
  const total = (values: Float64Array, nothing = 0): number => {
    let sum = nothing;
    for (const i of members) if (!Number.isNaN(values[i])) sum = (sum || 0) + values[i]!;
    return sum;
  };
  const end = runs.reduce((latest, [, to]) => Math.max(latest, to), start);
  const cpu = total(set.cpu_time);
  const facts = set.jobs[job]!;
  // the shell of a script is older than a job that begins with `tacho start`
  const inside = within(runs, facts.start, facts.end);
  return {
    job,
    name: tagWords(tags),
    tags,
    members,
    processes: members.length,
    threads: total(set.threads, Number.NaN),
    cpu_time: cpu,
    duration_sum: durations,
    duration,
    duration_span: end - start,
    runs,
    start,
    end,
    cpu_share: cpu / jobCpuTime(set, job),
    time_share: lengthOf(inside) / (facts.end - facts.start),
    endless,
  };
}

const cpuTimes = new WeakMap<CountedProcesses, Map<number, number>>();

/** CPU time of all processes of a job, microseconds. */
export function jobCpuTime(set: CountedProcesses, job: number): number {
  let cachedTimes = cpuTimes.get(set);
  if (cachedTimes === undefined) {
    cachedTimes = new Map();
    for (let i = 0; i < set.length; i++) {
      const spent = set.cpu_time[i]!;
      if (!Number.isNaN(spent)) cachedTimes.set(set.job[i]!, (cachedTimes.get(set.job[i]!) ?? 0) + spent);
    }
    cpuTimes.set(set, cachedTimes);
  }
  return cachedTimes.get(job) ?? Number.NaN;
}

/** Operations of the same name in all jobs, as one: what they did is added up, and shares are of all these jobs. */
export function acrossJobs(set: CountedProcesses, operations: readonly Operation[]): Operation[] {
  const jobs = [...new Set(operations.map(({ job }) => job))];
  const total = (of: (job: number) => number): number => jobs.reduce((sum, job) => sum + of(job), 0);
  const cpu = total((job) => jobCpuTime(set, job));
  const time = total((job) => set.jobs[job]!.end - set.jobs[job]!.start);
  return [...Map.groupBy(operations, ({ name }) => name).values()].map((all): Operation => {
    const sum = (of: (one: Operation) => number): number => all.reduce((whole, one) => whole + of(one), 0);
    const start = Math.min(...all.map((one) => one.start));
    const end = Math.max(...all.map((one) => one.end));
    const cpuTime = sum((one) => one.cpu_time);
    return {
      ...all[0]!,
      jobs: all.length,
      members: all.flatMap(({ members }) => members),
      processes: sum((one) => one.processes),
      threads: sum((one) => one.threads),
      cpu_time: cpuTime,
      duration_sum: sum((one) => one.duration_sum),
      duration: sum((one) => one.duration),
      duration_span: end - start,
      runs: all.flatMap(({ runs }) => runs),
      start,
      end,
      cpu_share: cpuTime / cpu,
      time_share: sum((one) => one.duration) / time,
      endless: sum((one) => one.endless),
    };
  });
}
