import { formatDuration } from '../../base/duration.ts';
import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { JobState, Step } from '../../recording/folder/job.ts';
import { type Ending, signalName, whole } from './scheduler.ts';

/** Tacho's own step in a job has this name, to tell it apart from the user's steps. */
export const AGENT_STEP = 'tacho-agent';
export const PUT_BACK = 'put back into the queue';

/** Slurm's words for nothing are undefined. */
export const word = (text: string | undefined): string | undefined =>
  text === undefined || text === '(null)' || text === '' ? undefined : text;

/** Epoch seconds (or a local ISO moment) as epoch microseconds; "Unknown" and "None" are undefined. */
export function moment(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{9,}$/.test(text)) return Number(text) * 1e6;
  const parsed = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed * 1000;
}

const STATES: Record<string, JobState> = {
  PENDING: 'running',
  RUNNING: 'running',
  SUSPENDED: 'running',
  COMPLETING: 'running',
  CONFIGURING: 'running',
  STOPPED: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TIMEOUT: 'timeout',
  DEADLINE: 'timeout',
  OUT_OF_MEMORY: 'out_of_memory',
  NODE_FAIL: 'node_fail',
  BOOT_FAIL: 'node_fail',
  PREEMPTED: 'preempted',
  REVOKED: 'cancelled',
  REQUEUED: 'cancelled',
};

export const stateOf = (text: string): JobState => STATES[text.split(/[ +]/)[0]!] ?? 'unknown';

/** Higher ones are none: by 125 Slurm says that memory ran out. */
const LAST_SIGNAL = 64;

/** "3:0" is an exit code, "0:15" a signal; what Slurm itself ended has no exit code of its own. */
export function exitOf(state: JobState, text: string | undefined): { exit_code?: number; signal?: string } {
  const exitMatch = /^(\d+):(\d+)$/.exec(text ?? '');
  if (exitMatch === null) return {};
  if (Number(exitMatch[2]) > LAST_SIGNAL) return {};
  if (exitMatch[2] !== '0') return { signal: signalName(Number(exitMatch[2])) };
  return state === 'completed' || exitMatch[1] !== '0' ? { exit_code: Number(exitMatch[1]) } : {};
}

export function reasonOf(state: JobState, limit?: number): string | undefined {
  if (state === 'timeout')
    return limit === undefined ? 'time limit reached' : `time limit of ${formatDuration(limit)} reached`;
  if (state === 'node_fail') return 'a node of the job failed';
  if (state === 'out_of_memory') return 'memory ran out, and the kernel killed a process in it';
  if (state === 'preempted') return 'another job took its place';
  return undefined;
}

export function endingFromScontrol(shown: Map<string, string>, limit: number | undefined): Ending {
  const state = stateOf(shown.get('JobState') ?? '');
  if (state === 'running') return { state };
  return stated({
    state,
    end: moment(shown.get('EndTime')),
    ...exitOf(state, shown.get('ExitCode')),
    reason: reasonOf(state, limit),
  }) as Ending;
}

/** What `sacct` is asked for, in the order in which `accounted` reads it. */
export const SACCT_FIELDS = 'JobID,JobName,State,ExitCode,Start,End,NodeList,NTasks,MaxRSS';

/** What `sacct` holds of the run that was going on at `start`: how it ended, its steps, and the run after it. */
export function accounted(text: string, start: number): { ending: Ending; steps: Step[]; next?: NextRun } | undefined {
  interface Run {
    begun: number;
    /** Those that it has now. */
    nodes: string[];
    ending: Ending;
    steps: Step[];
  }
  const runs: Run[] = [];
  let resized: number | undefined;
  for (const line of text.split('\n')) {
    const [id, name, state, exit, from, to, nodes, tasks, memory] = line.split('|');
    if (state === undefined) continue;
    const dot = id!.indexOf('.');
    if (dot < 0) {
      const by = /^CANCELLED by (\d+)/.exec(state)?.[1];
      const word = stateOf(state);
      const requeued = state.startsWith('REQUEUED') ? PUT_BACK : undefined;
      const reason = by !== undefined ? `cancelled by uid ${by}` : (requeued ?? reasonOf(word));
      const ended = word === 'running' ? {} : { end: moment(to), ...exitOf(word, exit) };
      const ending = stated({ state: word, ...ended, reason }) as Ending;
      // a job that lost a node and went on has a line for each of its sizes: they are one run, which the last one ended
      const before = resized === undefined ? undefined : runs.at(-1);
      const has = expandHostlist(nodes ?? '');
      if (before === undefined) runs.push({ begun: moment(from) ?? Infinity, nodes: has, ending, steps: [] });
      else {
        const gone = before.nodes.filter((node) => !has.includes(node)).map((node) => [node, resized!]);
        const taken = { ...before.ending.taken_nodes, ...Object.fromEntries(gone) };
        before.ending = Object.keys(taken).length === 0 ? ending : { ...ending, taken_nodes: taken };
        before.nodes = has;
      }
      resized = state.startsWith('RESIZING') ? (moment(to) ?? Number.NaN) : undefined;
      continue;
    }
    const step = id!.slice(dot + 1);
    // slurmd's own step, and Tacho's, are not what the user ran
    if (step === 'extern' || name === AGENT_STEP) continue;
    runs.at(-1)?.steps.push(
      stated({
        id: step,
        name: name || undefined,
        start: moment(from),
        end: moment(to),
        state: state.split(' ')[0]!.toLowerCase(),
        nodes: expandHostlist(nodes ?? ''),
        tasks: whole(tasks),
        exit_code: exitOf(stateOf(state), exit).exit_code,
        max_rss_bytes: usedBytes(memory),
      }) as Step,
    );
  }
  // the newest run that had begun when recording began; Slurm's moments are whole seconds
  const run = runs.findLast(({ begun }) => begun <= start + 1e6) ?? runs.at(-1);
  const after = run === undefined ? undefined : runs[runs.indexOf(run) + 1];
  // after any other end the same id is another job's
  if (after === undefined || !PUTS_BACK.has(run!.ending.reason ?? '')) return run;
  const started = Number.isFinite(after.begun);
  return { ...run!, next: { started, waits: !started && after.ending.state === 'running' } };
}

/** `1832K`, `1.50G`, `0`; undefined: Slurm has not sampled it. */
export function usedBytes(text: string | undefined): number | undefined {
  const [, digits, unit] = /^([\d.]+)([KMGTP]?)$/.exec(text ?? '') ?? [];
  const bytes = Number(digits ?? Number.NaN) * 1024 ** ' KMGTP'.indexOf(unit || ' ');
  return bytes > 0 ? Math.round(bytes) : undefined;
}

/** After these ends Slurm may run a job once more. */
const PUTS_BACK = new Set([PUT_BACK, reasonOf('node_fail'), reasonOf('preempted')]);

/** The run after the one that was recorded. */
export interface NextRun {
  started: boolean;
  /** It may still start. */
  waits: boolean;
}

/** A run that has not started has no nodes. */
export function again(shown: Map<string, string>): NextRun {
  const started = word(shown.get('NodeList')) !== undefined;
  return { started, waits: !started && stateOf(shown.get('JobState') ?? '') === 'running' };
}

export const nextWords = ({ started }: NextRun, restart: number): string =>
  started ? `Slurm started it again (restart ${restart})` : `${PUT_BACK} by Slurm (restart ${restart})`;
