import type { ProcessView } from './process/view.ts';

/** How to tell which processes on this node belong to the job. */
export type Members =
  /**
   * The process with this pid and everything that descends from it, also after it was orphaned. Daemons part from their
   * ancestors at once: what has `mark` (`TACHO_RECORDING=…`) in its environment belongs to the tree too.
   */
  | { readonly by: 'tree'; readonly pid: number; readonly mark?: { readonly variable: string; readonly value: string } }
  /** Everything in this cgroup and below (path inside each hierarchy, e.g. `/slurm/uid_1000/job_17`). */
  | { readonly by: 'cgroup'; readonly path: string }
  /** Every process of the user whose environment has this variable with this value (`SLURM_JOB_ID=17`). */
  | { readonly by: 'environment'; readonly uid: number; readonly variable: string; readonly value: string }
  /** Every process on the node. */
  | { readonly by: 'node' };

/** Where the job's processes on this node say themselves that they start and end (native/record.h). */
export interface Records {
  /** They append to this file, which lies in a folder of its own. */
  readonly file: string;
  /** Names of perf events that they count. */
  readonly events: readonly string[];
  /** Whose the file is, where that is not us: the job's user may write to it, but not make another. */
  readonly owner?: number;
  /** Leave the file when reading ends: another agent will go on with it. */
  keep?: boolean;
  /** Change nothing there, not even the note of how far it was read. */
  readonly untouched?: boolean;
}

/** What the job's processes have used together, added up by whoever reads them. */
export interface Totals {
  /** `together`: whether peaks of those that lived at the same time are wanted. A peak of 0 is not known. */
  now(time: number, together: boolean): { cpu_us: number; peak_bytes: number; told_peak_bytes: number };
}

/** What the job's processes have in RAM, shared pages once, when it was read last; NaN: there are not several large ones. */
export interface SharedOnce {
  pss_bytes: number;
  shared_bytes: number;
}

export interface Scope {
  readonly members: Members;
  /** The job's cgroup, and whether other things run in it too. Undefined: there is none to speak of. */
  readonly cgroup?: {
    readonly path: string;
    /** Version 1: where it is not the job's own, the one of the CPU quota may have another path. */
    readonly cpu?: string;
    readonly shared: boolean;
    /** The agent is in it: what recording costs is counted there too. */
    readonly agent?: boolean;
    /** It is older than the job. */
    readonly older?: boolean;
  };
  /** Processes that are Tacho's own and not the job's (agents, launchers), with what descends from them. */
  readonly exclude: readonly number[];
  /** The job's own process that an excluded one started (the command of `tacho run`): it and what descends from it stay in. */
  readonly root?: number;
  /** Hide arguments in what is recorded. */
  readonly redact: boolean;
  /** Undefined: they do not. */
  readonly records?: Records;
  /** Undefined: nobody adds up. */
  readonly totals?: Totals;
  /** Filled by who reads the job's processes. Undefined: nobody wants it. */
  readonly memory?: SharedOnce;
  /** Where several look for processes at the same moment. */
  readonly view?: ProcessView;
}

export const WHOLE_NODE: Scope = { members: { by: 'node' }, exclude: [], redact: false };
