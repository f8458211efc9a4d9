import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, isFull, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { openMarks } from '../../control/marks-file.ts';
import { discardRecords, prepareRecords } from '../../control/preload.ts';
import { allowance } from '../../jobs/on-node/scope.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import type { WriterOptions } from '../../recording/live/append.ts';
import type { CustomSource } from '../../sources/custom/custom.ts';
import { nodeFacts } from '../../sources/host/facts.ts';
import { Host, type Note } from '../../sources/host.ts';
import { isChosen, sources } from '../../sources/index.ts';
import { processTable } from '../../sources/process/table.ts';
import { RECORD_KINDS } from '../../sources/records/records.ts';
import { type Records, type Scope, WHOLE_NODE } from '../../sources/scope.ts';
import type { SourceKind } from '../../sources/source.ts';
import type { IsolatedSources } from '../isolated/isolated.ts';
import { rememberProcesses } from '../service/left-running.ts';
import { watchMarks } from '../service/watch-marks.ts';
import { Agent } from './agent.ts';
import { watchNeighbours } from './watch-neighbours.ts';

export interface NodeAgentOptions {
  /** The recording's folder. */
  recording: string;
  node: string;
  intervalSeconds: number;
  offsetSeconds?: number;
  step?: string;
  /** Names of tables that are not wanted; with `only`, of those that are. */
  without: readonly string[];
  /** Tables that are recorded only when they are named. */
  also?: readonly string[];
  only: readonly string[];
  /** The user's own sources. */
  custom: readonly CustomSource[];
  writer: WriterOptions;
  /** Where the job's processes are to record themselves on this node. */
  records?: Records;
  /** Where the job's programs append marks on this node. */
  marks?: string;
  redact?: boolean;
  /** Called when the recording's folder has gone: there is nothing left to do. */
  gone?: () => void;
}

/** Starts the agent of this node: opens every source there is, takes the first sample, goes on at every tick. */
export async function startNodeAgent(options: NodeAgentOptions) {
  const host = new Host();
  const { without, only, also = [] } = options;
  const isWanted = (name: string): boolean => isChosen(name, { only, without, also });
  const wanted = sources.filter((kind) => isWanted(kind.table.name));
  // it takes a moment, in which the sources of the node are opened
  const prepared = planned(options, isWanted);
  const facts = nodeFacts(host);
  const agent = new Agent({
    folder: path.join(options.recording, nodeFolder(options.node)),
    node: options.node,
    host,
    facts,
    intervalSeconds: options.intervalSeconds,
    writer: options.writer,
    ...stated({ offsetSeconds: options.offsetSeconds, step: options.step, gone: options.gone }),
  });
  // a process of its own needs a moment to begin: the cards are to be seen from the job's first moments on
  const slow = await openSlow(agent, host, options, isWanted);
  const shared = wanted.filter((kind) => kind.isolated !== true);
  agent.open(
    shared.filter((kind) => kind.table.scope === 'node'),
    WHOLE_NODE,
  );
  const records = await openRecords(agent, host, options, prepared);
  try {
    agent.reserve();
  } catch (error) {
    if (records !== undefined) discardRecords(records);
    await slow?.close();
    const hint = isFull(error) ? { hint: 'free some space, or choose another place with -o' } : {};
    throw new Fault(`cannot record in ${options.recording}: ${reason(error)}`, hint);
  }
  agent.attach(slow);
  agent.start();
  const processes = shared.find((kind) => kind.table.name === processTable.name);
  const remembered = processes && rememberProcesses(processes, host);
  let [isWatched, isJobs]: [boolean, (pid: number) => boolean] = [false, () => false];
  const marks = openMarks(options.marks, options.recording, options.node);
  if (marks.trouble !== undefined) host.note(marks.trouble);
  const unwatch = watchMarks(marks.file, () => agent.glance());
  agent.onEnd(() => {
    unwatch();
    marks.close();
  });
  return {
    agent,
    host,
    /** Processes of the job can record themselves here; not so when this node's own trial failed, which is noted. */
    records,
    /** The job's programs can append marks here. */
    marks: marks.trouble === undefined ? options.marks : undefined,
    /** Says which processes are the job's; from now on its own tables are read too. `look`: at the next tick is soon enough. */
    follow(scope: Scope, look?: 'later'): void {
      const { cpus: allowed_cpus, memory_bytes: memory_limit_bytes } = allowance(host, scope);
      Object.assign(facts, stated({ allowed_cpus, memory_limit_bytes }));
      const own = shared.filter((kind) => kind.table.scope === 'job' && !RECORD_KINDS.includes(kind));
      agent.open(
        own.map((kind) => (kind === processes ? remembered!.kind : kind)),
        { ...scope, memory: { pss_bytes: Number.NaN, shared_bytes: Number.NaN } },
      );
      if (look === undefined) agent.glance();
      if (remembered === undefined || scope.members.by === 'node') return;
      isJobs = (pid) => scope.exclude.includes(pid) || remembered.has(pid);
      if (!isWatched) watchNeighbours(agent, host, (pid) => isJobs(pid));
      isWatched = true;
    },
    /** Ends the agent, and says which of the job's processes go on. */
    async stop(why: string): Promise<void> {
      await agent.stop(why);
      if (remembered?.lastSeen === undefined || agent.record.scope.members === 'node') return;
      // what was there before is whoever waits for the job: its script, a shell, the scheduler's daemon
      const left = () => remembered.alive(options.redact === true, process.pid);
      // who cancels a job ends its processes one after the other
      if (left().length > 0) await sleep(LEAVING_MS);
      agent.record.left_running = left();
      agent.save();
    },
  };
}

/** Processes that were told to end have so long for it. */
const LEAVING_MS = 250;

interface Prepared {
  kinds: readonly SourceKind[];
  records: Records;
  /** What keeps processes from recording themselves here. */
  trouble: Promise<Note | undefined>;
}

/** Makes the place where processes record themselves, where they are to. */
function planned({ records, recording }: NodeAgentOptions, isWanted: (name: string) => boolean): Prepared | undefined {
  const kinds = RECORD_KINDS.filter((kind) => isWanted(kind.table.name));
  if (records === undefined || kinds.length === 0) return undefined;
  const trouble = prepareRecords(records, process.env, recording);
  trouble.catch(() => {});
  return { kinds, records, trouble };
}

/** What processes say themselves is read from before the first of them starts. */
async function openRecords(
  agent: Agent,
  host: Host,
  { redact }: NodeAgentOptions,
  prepared: Prepared | undefined,
): Promise<Records | undefined> {
  if (prepared === undefined) return undefined;
  const { kinds, records } = prepared;
  const trouble = await prepared.trouble;
  if (trouble !== undefined) {
    host.note(trouble);
    return undefined;
  }
  agent.open(kinds, { ...WHOLE_NODE, redact: redact === true, records });
  return records;
}

/** Sources that may hang, where there are any: only then is their code loaded. */
async function openSlow(
  agent: Agent,
  host: Host,
  options: NodeAgentOptions,
  isWanted: (name: string) => boolean,
): Promise<IsolatedSources | undefined> {
  const slow = sources.filter((kind) => kind.isolated === true && isWanted(kind.table.name) && kind.present(host));
  const custom = options.custom.filter((source) => isWanted(source.name));
  if (slow.length === 0 && custom.length === 0) return undefined;
  const { IsolatedSources } = await import('../isolated/isolated.ts');
  return new IsolatedSources(
    slow.map((kind) => kind.table.name),
    {
      root: host.root,
      scope: WHOLE_NODE,
      intervalSeconds: options.intervalSeconds,
      custom,
      deliver: (frame) => agent.deliver(frame),
      note: (note) => host.note(note),
      facts: (gpus) => agent.foundGpus(gpus),
    },
  );
}
