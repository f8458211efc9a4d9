import * as fs from 'node:fs';
import * as path from 'node:path';
import { ours } from '../../base/ours.ts';
import type { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { type Lister, listCgroup, listProcesses } from './member-lists.ts';
import { pidCounter } from './pid-counter.ts';
import { ENDED, emptyStat, readStat, TICK_MS } from './stat.ts';
import { type ProcessView, processView } from './view.ts';

/** A process of the job. A pid is used again some day; with its start (clock ticks after boot) it is unique. */
export interface Member {
  readonly pid: number;
  readonly start: number;
}

export interface MemberListener {
  appeared(member: Member): void;
  vanished(member: Member): void;
}

export interface MemberWatch {
  /** Brings the members up to date: once a tick. */
  update(): void;
  /** By pid. One that has just ended may stay until somebody forgets it or a new process appears on the node. */
  readonly members: ReadonlyMap<number, Member>;
  /** It has become another program: whose? Tacho's own is no member any more. */
  judgeAgain(pid: number): 'job' | 'own' | 'between';
  /** This process has gone: whoever has its pid from now on is somebody else. */
  forget(pid: number): void;
  close(): void;
}

/** So long a process that is not the job's may still become it: a launcher changes its user and program after the fork. */
const YOUNG_MS = 5000;
/** So long the script that starts Tacho may take, and a copy of a shell that is to become it. */
const SCRIPT_MS = 500;
/** A copy that has used so many clock ticks does something itself. */
const WORKED = 2;
/** What the kernel calls tacho-task-prolog.sh, which Slurm runs before each task (packaging/slurm). */
const TASK_PROLOG = 'tacho-task-prol';
/** What the kernel calls Tacho when nothing else is left of it. */
const NAMES: readonly (string | undefined)[] = ['tacho', TASK_PROLOG, 'node', 'MainThread'];
/** Members that lead or led a session or a process group; of very many the oldest are let go. */
const LEADERS_KEPT = 4096;

interface Known extends Member {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly since: number;
  belongs: boolean;
  excluded: boolean;
  /** It was just born when it was seen first: it may still become the job's. */
  readonly young: boolean;
  /** Not the job's itself, but what it starts is: a command of Tacho's in the job, Slurm's own process of a step. */
  passes: boolean;
  /** It was just becoming another program, or may be about to: nobody can say whose it is. */
  between: boolean;
  /** How often it was found without arguments and environment. */
  wordless: number;
  seen: number;
}

/**
 * Keeps the set of the job's processes. Only new pids are examined: one that is known costs a look-up a tick.
 * Who was a member once stays one, with its children, also when its parent has died.
 */
export function watchMembers(host: Host, scope: Scope, listener?: MemberListener): MemberWatch {
  const how = scope.members;
  const byDescent = how.by === 'tree' || how.by === 'environment';
  const exclude = new Set(scope.exclude);
  const known = new Map<number, Known>();
  const members = new Map<number, Member>();
  const leaders = new Set<number>();
  /** Young members, which may turn out to be Tacho's own. */
  const unsettled = new Set<Known>();
  const between = new Set<Known>();
  const stat = emptyStat();
  const counter = pidCounter(host);
  const view = scope.view ?? processView(host);
  const lister: Lister = how.by === 'cgroup' ? listCgroup(host, how.path) : listProcesses(view, counter);
  let root = how.by === 'tree' ? how.pid : scope.root;
  let round = 0;
  let now = 0;

  /** Milliseconds since a process started; the kernel counts both from boot, so that nobody sets this clock. */
  const age = (start: number): number => Number.parseFloat(host.text('/proc/uptime') ?? '') * 1000 - start * TICK_MS;

  function visit(pid: number): void {
    const entry = known.get(pid);
    if (entry === undefined) {
      examine(pid);
      return;
    }
    entry.seen = round;
    if (counter.passed(pid) && !(look(pid) && stat.start === entry.start)) {
      drop(entry);
      examine(pid);
    } else if (!entry.belongs && !entry.excluded && (entry.between || mayBecome(entry))) {
      decide(entry);
    }
  }

  /** The script that starts Tacho is a shell at first. */
  function settle(entry: Known): void {
    const own = isOwn(host, entry.pid) || isOwnScript(host, entry.pid);
    if (own || now - entry.since > SCRIPT_MS) unsettled.delete(entry);
    if (own) leave(entry);
  }

  function leave(entry: Known): void {
    unsettled.delete(entry);
    entry.belongs = false;
    entry.passes = true;
    members.delete(entry.pid);
    listener?.vanished(entry);
  }

  /** A launcher's child becomes the user's program some time after the fork: Slurm's even after a prologue of any length. */
  function mayBecome({ pid, since, passes, young }: Known): boolean {
    if (how.by === 'environment' && young && now - since < YOUNG_MS) return true;
    // one that has ended has no words either: it stays what it was
    return passes && !hasNoWords(host, pid) && !isStepDaemon(host, pid) && !isOwn(host, pid);
  }

  function examine(pid: number): Known | undefined {
    const found = view.origin(pid);
    if (found === undefined) return undefined;
    const { start, parent, group, session } = found;
    const young = !(age(start) >= YOUNG_MS);
    const entry: Known = {
      pid,
      start,
      parent,
      group,
      session,
      since: now,
      young,
      belongs: false,
      excluded: false,
      passes: false,
      between: false,
      wordless: 0,
      seen: round,
    };
    known.set(pid, entry);
    // the pid of a leader that died may serve a stranger now
    leaders.delete(pid);
    decide(entry);
    return entry;
  }

  /** Reads the process's stat; false when there is no such process. */
  function look(pid: number): boolean {
    const file = host.tryKeep(`/proc/${pid}/stat`, true);
    if (file === undefined) return false;
    const end = file.read();
    file.close();
    return end > 0 && readStat(host.bytes, end, stat);
  }

  function decide(entry: Known): void {
    const { pid } = entry;
    if (pid !== root && (exclude.has(pid) || (exclude.size > 0 && descendsFromExcluded(entry.parent)))) {
      entry.excluded = true;
      return;
    }
    if (pid !== root && byDescent && !isOfTheJob(entry)) {
      // a task is a copy of Slurm's own process, root's and then the user's, until all of its step are ready, however long
      entry.passes = how.by === 'environment' && isStepCopy(view, pid);
      return;
    }
    // `tacho start` in a job script is in the job, but is not what the user ran; what it starts is told by itself
    entry.passes = pid !== root && (isOwn(host, pid) || isOwnScript(host, pid) || isStepDaemon(host, pid));
    if (entry.passes) return;
    entry.between = pid !== root && isBetween(entry);
    if (entry.between) {
      between.add(entry);
      return;
    }
    entry.passes = entry.wordless > 1 && endedAsOwn(entry);
    if (entry.passes) return;
    entry.belongs = true;
    if (byDescent && (entry.group === pid || entry.session === pid)) {
      leaders.add(pid);
      if (leaders.size > LEADERS_KEPT) leaders.delete(leaders.values().next().value!);
    }
    members.set(pid, entry);
    if (pid !== root) unsettled.add(entry);
    listener?.appeared(entry);
  }

  /** Whose it is shows only when it has become what it is to be: a shell makes a copy of itself for each command. */
  function isBetween(entry: Known): boolean {
    // if it still has no words the second time, it never will: it has ended, or is the kernel's
    if (hasNoWords(host, entry.pid)) return ++entry.wordless === 1;
    if (!(age(entry.start) < SCRIPT_MS)) return false;
    if (!isCopy(entry)) return false;
    return look(entry.pid) && stat.state !== ENDED && stat.user + stat.system < WORKED;
  }

  /** A fork that has not executed anything has the words of its parent. */
  function isCopy({ pid, parent }: Known): boolean {
    return host.text(`/proc/${pid}/cmdline`) === host.text(`/proc/${parent}/cmdline`);
  }

  /** It has ended before anybody saw what it was; its name and its parent are all that is left. */
  function endedAsOwn({ pid, parent }: Known): boolean {
    return isOwn(host, parent) || NAMES.includes(host.text(`/proc/${pid}/comm`));
  }

  /** The nearest ancestor that is Tacho's own or the job's root decides. */
  function descendsFromExcluded(parent: number): boolean {
    for (let pid = parent; pid > 0; pid = stat.parent) {
      if (pid === root) return false;
      if (exclude.has(pid)) return true;
      const ancestor = known.get(pid);
      if (ancestor !== undefined) return ancestor.excluded;
      if (!look(pid)) return false;
    }
    return false;
  }

  /** A child of a member, or in a session or process group that a member leads, alive or not. */
  function inherits(entry: Known): boolean {
    const parent = entry.parent > 0 ? (known.get(entry.parent) ?? examine(entry.parent)) : undefined;
    return (
      parent?.belongs === true ||
      (how.by === 'tree' && parent?.passes === true) ||
      leaders.has(entry.group) ||
      leaders.has(entry.session)
    );
  }

  /** All tasks of a step over several components of a heterogeneous job have the id of the first; Slurm's own process knows. */
  function jobOfStep({ parent }: Known): string | undefined {
    for (let pid = parent; pid > 1 && look(pid); pid = stat.parent) {
      if (isStepDaemon(host, pid)) return /^slurmstepd: \[(\d+)[.+]/.exec(host.text(`/proc/${pid}/cmdline`) ?? '')?.[1];
    }
    return undefined;
  }

  function isOfTheJob(entry: Known): boolean {
    if (how.by === 'environment' && view.owner(entry.pid) === how.uid) {
      const value = view.variable(entry.pid, how.variable);
      const isHet = value !== undefined && view.variable(entry.pid, 'SLURM_HET_SIZE') !== undefined;
      const step = isHet ? jobOfStep(entry) : undefined;
      if (value !== undefined && (!isHet || step !== undefined)) return isSameJob(step ?? value, how.value);
      // an orphan of a later component still has the id of the first
      if (value === how.value) return true;
    }
    if (inherits(entry)) return true;
    const mark = how.by === 'tree' ? how.mark : undefined;
    return mark !== undefined && view.variable(entry.pid, mark.variable) === mark.value;
  }

  function drop(entry: Known): void {
    known.delete(entry.pid);
    unsettled.delete(entry);
    if (entry.pid === root) root = undefined;
    if (members.delete(entry.pid)) listener?.vanished(entry);
  }

  return {
    members,
    update(): void {
      round++;
      now = performance.now();
      counter.update();
      for (const entry of unsettled) settle(entry);
      // a list is not made at every tick
      const waited = [...between];
      between.clear();
      for (const { pid } of waited) visit(pid);
      if (!lister.list(visit)) return;
      for (const entry of known.values()) if (entry.seen !== round) drop(entry);
    },
    judgeAgain(pid) {
      const entry = known.get(pid);
      // the kernel's own processes never have words
      if (entry === undefined || entry.wordless > 1) return 'job';
      // the command that is recorded is a copy of what starts it, which is Tacho's, until it has become itself
      if (pid === root && isCopy(entry)) return 'between';
      const wordless = hasNoWords(host, pid);
      if (wordless && look(pid) && stat.state !== ENDED) return 'between';
      if (!(wordless ? endedAsOwn(entry) : isOwn(host, pid) || isOwnScript(host, pid))) return 'job';
      leave(entry);
      return 'own';
    },
    forget(pid): void {
      const entry = known.get(pid);
      if (entry !== undefined) drop(entry);
    },
    close(): void {
      counter.close();
      lister.close();
    },
  };
}

/** What Tacho starts for itself says so. */
const isOwn = (host: Host, pid: number): boolean => processView(host).variable(pid, 'TACHO_OWN') !== undefined;

/** PBS puts its server's name behind the number, which whoever tells of the job may leave out ("4711.server" and "4711"). */
const isSameJob = (has: string, wanted: string): boolean => has === wanted || has.startsWith(`${wanted}.`);

/** While a process becomes another program it has neither arguments nor environment for a moment, and none when it has ended. */
const hasNoWords = (host: Host, pid: number): boolean =>
  host.text(`/proc/${pid}/cmdline`) === '' && !host.text(`/proc/${pid}/environ`);

/** The script that starts Tacho, before it has said so; its task prolog, which never does. */
function isOwnScript(host: Host, pid: number): boolean {
  const name = host.text(`/proc/${pid}/comm`);
  if (name === TASK_PROLOG) return true;
  if (name !== 'tacho') return false;
  const script = host.text(`/proc/${pid}/cmdline`)?.split('\0')[1];
  if (script === undefined) return false;
  try {
    const named = path.resolve(fs.readlinkSync(host.path(`/proc/${pid}/cwd`)), script);
    return fs.realpathSync(named) === fs.realpathSync(ours('tacho'));
  } catch {
    // it is somebody else's, or has gone
    return false;
  }
}

/** Slurm's process of each step, in the cgroup of the job. */
const isStepDaemon = (host: Host, pid: number): boolean =>
  processView(host).owner(pid) === 0 && isStepCopy(processView(host), pid);

const isStepCopy = (view: ProcessView, pid: number): boolean => view.name(pid) === 'slurmstepd';
