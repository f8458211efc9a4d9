import * as fs from 'node:fs';
import * as path from 'node:path';
import { greatest, smallest } from '../../base/extremes.ts';
import { count } from '../../base/figure.ts';
import { stated } from '../../base/stated.ts';
import { VERSION } from '../../base/version.ts';
import { zoneNamed } from '../../base/zone.ts';
import { defaultFolder } from '../../jobs/schedulers/job-facts.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { byName, readJob } from '../../recording/folder/open.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { LOST_AT } from '../../sources/gpu/gpu.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import { importedAgent } from '../series/agent.ts';
import { SealedRecording } from '../series/write.ts';
import { runsOf } from '../slurm/runs.ts';
import type { SacctJob } from '../slurm/sacct-job.ts';
import { addLine } from '../slurm/sacct-text.ts';
import { type JobOptions, type SonarJob, sonarJobs } from './jobs.ts';
import { processBusy, type Stretch, stretchesOf, usualInterval } from './nodes.ts';
import { readSonar } from './read.ts';
import type { SonarData, SonarNode } from './sample.ts';
import { jobTables, nodeTables } from './tables.ts';

export interface SonarOptions extends Partial<JobOptions> {
  /** Where the recordings go. */
  folder: string;
  signal?: AbortSignal;
  progress?: (done: number, of: number) => void;
}

export interface ImportedSonar {
  recordings: string[];
  /** Jobs, and days of nodes, that are there already. */
  there: number;
  jobs: number;
  /** Days of nodes. */
  days: number;
  nodes: string[];
  /** Jobs of Slurm's accounting among the data. */
  accounted: SacctJob[];
  notes: string[];
}

/** Makes recordings of what Sonar sampled: one for each job, and one for each day of all nodes. */
export function importSonar(paths: readonly string[], options: SonarOptions): ImportedSonar {
  const data = readSonar(paths);
  const accounted = slurmJobs(data);
  const { jobs, short, idle } = sonarJobs(data, { minSamples: 2, ...options });
  const days = [...stretchesOf(data)];
  const result: ImportedSonar = {
    recordings: [],
    there: 0,
    jobs: 0,
    days: 0,
    nodes: [...new Set([...data.samples.values()].map(({ node }) => node))].sort(byName),
    accounted,
    notes: notesOf(data, short, idle),
  };
  const steps = jobs.length + days.length;
  let done = 0;
  const byId = Map.groupBy(accounted, ({ id }) => id);
  for (const job of jobs) {
    options.signal?.throwIfAborted();
    const run = byId
      .get(job.id)
      ?.findLast(({ start = 0, user }) => start <= job.last && (user === '' || user === job.user));
    take(result, writeJob(data, job, run, options.folder), 'jobs');
    options.progress?.(++done, steps);
  }
  for (const [day, nodes] of days) {
    options.signal?.throwIfAborted();
    const most = Math.max(...nodes.map(({ length }) => length));
    // what comes after a gap is a recording of its own: between them nobody knows
    for (let stretchIndex = 0; stretchIndex < most; stretchIndex++)
      take(
        result,
        writeDay(
          data,
          day,
          stretchIndex,
          nodes.flatMap((own) => own[stretchIndex] ?? []),
          options.folder,
        ),
        'days',
      );
    options.progress?.(++done, steps);
  }
  return result;
}

function take(result: ImportedSonar, recording: Written, what: 'jobs' | 'days'): void {
  if (recording === 'there') result.there++;
  else if (recording !== 'nothing') {
    result.recordings.push(recording);
    result[what]++;
  }
}

function slurmJobs({ slurm }: SonarData): SacctJob[] {
  const jobs: SacctJob[] = [];
  const utc = zoneNamed('UTC')!;
  for (const line of slurm) addLine(jobs, (column) => line.get(column), utc);
  // Sonar reports a job again while it runs: the last one knows most
  const latest = new Map(jobs.map((job) => [JSON.stringify([job.cluster, job.id, job.component, job.submit]), job]));
  return runsOf([...latest.values()]);
}

function notesOf({ dropped, versions }: SonarData, short: number, idle: number): string[] {
  return [
    ...(versions.size > 0 ? [`written by Sonar ${[...versions].sort().join(', ')}`] : []),
    ...[...dropped].map(([why, n]) => `${count(n, 'record')} left out: ${why}`),
    ...(short > 0 ? [`${count(short, 'job')} left out: with fewer than two samples (--min-samples 1 takes them)`] : []),
    ...(idle > 0 ? [`${count(idle, 'job')} left out: only shells and daemons of logins (--all takes them)`] : []),
  ];
}

const FROM = 'Sonar';
const UNMEASURED: Note[] = [
  {
    table: 'process',
    what: 'short processes',
    why: 'Sonar samples every few minutes, and leaves out processes with little CPU time',
  },
  { table: 'process', what: 'arguments of commands, and how processes ended', why: 'Sonar does not record them' },
];

/** The folder that the recording of a job gets; the same id may have run again, or on another node as another job. */
function placeOf(folder: string, job: Job): { name: string; there: boolean } {
  const base = defaultFolder({ id: job.id });
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!fs.existsSync(path.join(folder, name))) return { name, there: false };
    const earlierJob = readJob(path.join(folder, name));
    const isSame = earlierJob?.id === job.id && earlierJob.start === job.start && earlierJob.user === job.user;
    if (isSame && earlierJob.nodes.join() === job.nodes.join()) return { name, there: true };
  }
}

/** The path of a recording, or why there is none: it is there already, or has nothing in it. */
type Written = string | 'there' | 'nothing';

function writeJob(data: SonarData, job: SonarJob, run: SacctJob | undefined, folder: string): Written {
  const names = [...job.nodes.keys()].sort(byName);
  const streams = [...job.nodes.values()].flat();
  const times = [...new Set(streams.flatMap((stream) => stream.times))].sort((a, b) => a - b);
  const interval = usualInterval(times);
  const facts = jobOf(job, run, names, interval, Math.min(...streams.map(({ start }) => start)));
  const { name: recordingPath, there } = placeOf(folder, facts);
  if (there) return 'there';
  const recording = new SealedRecording(folder, recordingPath);
  try {
    for (const name of names) {
      const own = job.nodes.get(name)!;
      const batches = jobTables(own);
      const hasCpuTime = own[0]!.points[0]!.cpu_seconds !== undefined;
      const hasResident = own.some(({ points }) => points.some(({ resident_kib }) => resident_kib !== undefined));
      const notes = [
        ...UNMEASURED,
        ...(hasResident
          ? []
          : [{ table: 'process', what: 'memory in RAM', why: 'Sonar until 0.8 records only the address space' }]),
        ...(hasCpuTime
          ? []
          : [
              {
                table: 'process',
                what: 'CPU time, but estimated',
                why: 'Sonar until 0.6 records the mean use of each process since it started',
              },
            ]),
      ];
      writeNode(recording, name, batches, {
        interval,
        start: facts.start,
        notes,
        ...cardFacts(data.nodes.get(name), batches),
      });
    }
    return recording.finish(facts);
  } catch (error) {
    recording.abandon();
    throw error;
  }
}

function jobOf(job: SonarJob, run: SacctJob | undefined, nodes: string[], interval: number, start: number): Job {
  const { first, last } = job.alive;
  const alive = first && last ? 'always' : first ? 'first' : last ? 'last' : undefined;
  const ended = run?.end === undefined ? undefined : run;
  const state = ended === undefined || run!.state === 'pending' || run!.state === 'resizing' ? 'unknown' : run!.state;
  return {
    format: FORMAT,
    tacho: VERSION,
    ...stated({
      cluster: run?.cluster ?? (job.cluster || undefined),
      account: run?.account,
      partition: run?.partition,
      submit: run?.submit,
      exit_code: ended?.exit_code,
      restart: run?.restart,
    }),
    id: job.id,
    scheduler: run === undefined ? 'none' : 'slurm',
    name: run?.name ?? '',
    user: job.user,
    uid: -1,
    asked: run === undefined ? {} : { ...run.asked, ...stated({ cpus: run.cpus ?? run.asked.cpus, gpus: run.gpus }) },
    nodes,
    interval_seconds: interval,
    start: run?.start ?? start,
    end: ended?.end ?? job.last,
    state: state === 'running' ? 'unknown' : state,
    reason: ended?.reason ?? (last ? 'it was running at the end of the data' : 'Sonar does not say how it ended'),
    tags: stated({ from: 'sonar', alive }) as Record<string, string>,
    environment: {},
  };
}

/** What every day of nodes is called (recording/folder/fleet.ts). */
function writeDay(data: SonarData, day: string, stretchIndex: number, stretches: Stretch[], folder: string): Written {
  // a single sample has no length
  const own = stretches.filter(({ samples }) => samples.length > 1);
  if (own.length === 0) return 'nothing';
  const id = `fleet-${day}`;
  const name = `${defaultFolder({ id })}${stretchIndex === 0 ? '' : `-${stretchIndex + 1}`}`;
  if (readJob(path.join(folder, name)) !== undefined) return 'there';
  const recording = new SealedRecording(folder, name);
  const times = own.flatMap(({ samples }) => [samples[0]!.time, samples.at(-1)!.time]);
  const clusters = new Set(own.map(({ cluster }) => cluster));
  const intervals = own.map(({ samples }) => usualInterval(samples.map(({ time }) => time)));
  try {
    for (const [i, { node, samples, failing }] of own.entries()) {
      const about = data.nodes.get(node);
      // of GPUs that did not answer the last sample says nothing
      const shown = failing
        ? samples.map((sample, at) => (at === 0 ? sample : { ...sample, cards: [], processes: [], failing: false }))
        : samples;
      const isOwn = samples.every(({ cpu_seconds }) => cpu_seconds !== undefined);
      const batches = nodeTables(shown, isOwn ? new Map() : processBusy(samples), failing ? undefined : about);
      const cards = cardFacts(about, batches);
      const cpus =
        about?.cpus ?? samples.find((sample) => sample.cpus !== undefined)?.cpus ?? samples[0]!.cpu_seconds?.length;
      const notes: Note[] = failing
        ? cards.facts.gpus.map(({ gpu }) => ({
            table: 'gpu',
            what: `GPU ${gpu}`,
            why: `${LOST_AT}${new Date(samples[0]!.time / 1000).toISOString()}, as Sonar says of the node`,
          }))
        : [];
      if (!isOwn)
        notes.push({
          table: 'cpu',
          what: 'CPU use of short processes and of the system',
          why: 'this version of Sonar records processes only',
        });
      writeNode(recording, node, batches, {
        interval: intervals[i]!,
        start: samples[0]!.time,
        notes,
        members: 'node',
        facts: {
          ...cards.facts,
          ...stated({
            cpus,
            memory_bytes: kib(about?.memory_kib ?? samples[0]!.memory_kib),
            kernel: about?.kernel,
            cpu_model: about?.cpu_model,
            sockets: about?.sockets,
          }),
        },
      });
    }
    return recording.finish({
      format: FORMAT,
      tacho: VERSION,
      id,
      scheduler: 'none',
      ...(clusters.size === 1 && !clusters.has('') ? { cluster: [...clusters][0]! } : {}),
      name: '',
      user: '',
      uid: -1,
      asked: {},
      nodes: own.map(({ node }) => node),
      interval_seconds: Math.max(...intervals),
      start: Math.min(...times),
      end: Math.max(...times),
      state: 'completed',
      tags: { from: 'sonar' },
      environment: {},
    });
  } catch (error) {
    recording.abandon();
    throw error;
  }
}

const kib = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1024);

/** The cards that the samples name. */
function cardFacts(
  node: SonarNode | undefined,
  batches: readonly Batch[],
): { facts: Partial<NodeFacts> & Pick<NodeFacts, 'gpus'> } {
  const batch = batches.find(({ table }) => table.name === 'gpu');
  const named = new Set(batch?.texts.get('gpu')?.values ?? []);
  return {
    facts: {
      gpus: [...named].sort(byName).map((gpu) => {
        const card = node?.cards.find((one) => one.gpu === gpu);
        return {
          gpu,
          vendor: card?.manufacturer ?? '',
          ...stated({
            model: card?.model,
            uuid: card?.uuid,
            driver: card?.driver,
            memory_bytes: kib(card?.memory_kib),
          }),
        };
      }),
    },
  };
}

interface NodeRecord {
  interval: number;
  start: number;
  notes: readonly Note[];
  members?: 'node';
  facts: Partial<NodeFacts>;
}

function writeNode(recording: SealedRecording, node: string, batches: readonly Batch[], of: NodeRecord): void {
  let bytes = 0;
  for (const batch of batches) bytes += recording.table(node, batch, of.interval);
  const times = batches.flatMap(({ time }) => [...time]);
  const record = importedAgent({
    node,
    from: FROM,
    interval: of.interval,
    first: smallest(times),
    last: greatest(times),
    ticks: new Set(times).size,
    tables: batches.map(({ table }) => table),
    facts: of.facts,
    notes: of.notes,
    bytes,
  });
  recording.agent({
    ...record,
    start: of.start,
    scope: { members: of.members ?? 'the job’s processes, as Sonar sampled them' },
  });
}
