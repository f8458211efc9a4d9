import * as fs from 'node:fs';
import * as path from 'node:path';
import { ours } from '../../base/ours.ts';
import type { Host } from '../host.ts';
import type { Members, Scope } from '../scope.ts';
import { type Lister, listCgroup, listProcesses } from './member-lists.ts';
import { type PidCounter, pidCounter } from './pid-counter.ts';
import { ENDED, ProcessStat, readStatOf, TICK_MS } from './stat.ts';
import { type ProcessView, processView } from './view.ts';

/** A process of the job. A pid is used again some day; with its start (clock ticks after boot) it is unique. */
export interface Member {
  readonly pid: number;
  readonly start: number;
}

interface MemberListener {
  appeared(member: Member): void;
  vanished(member: Member): void;
}

/** How long a process of others may still become the job's: a launcher changes its user and program after the fork. */
const YOUNG_MS = 5000;
/** How long the script that starts Tacho may take, and a copy of a shell that is to become it. */
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
  /** It was just born when it was first seen: it may still become the job's. */
  readonly young: boolean;
  /** Not the job's itself, but what it starts is: a command of Tacho's in the job, Slurm's own process of a step. */
  passes: boolean;
  /** It was just becoming another program, or may be about to: nobody can say whose it is. */
  between: boolean;
  /** How often it was found without arguments and environment. */
  wordless: number;
  round: number;
}

/**
 * Keeps the set of the job's processes. Only new pids are examined: one that is known costs a look-up a tick.
 * Who was a member once stays one, with its children, also when its parent has died.
 */
export class MemberWatch {
  /** By pid. One that has just ended may stay until somebody forgets it or a new process appears on the node. */
  readonly members = new Map<number, Member>();
  private readonly host: Host;
  private readonly how: Members;
  private readonly listener: MemberListener | undefined;
  private readonly byDescent: boolean;
  private readonly exclude: ReadonlySet<number>;
  private readonly watched = new Map<number, Known>();
  private readonly leaders = new Set<number>();
  /** Young members, which may turn out to be Tacho's own. */
  private readonly unsettled = new Set<Known>();
  private readonly between = new Set<Known>();
  private readonly stat = new ProcessStat();
  private readonly counter: PidCounter;
  private readonly view: ProcessView;
  private readonly lister: Lister;
  private root: number | undefined;
  /** When the root of a tree started, in clock ticks after boot: what is older has nothing from it. */
  private readonly rootStart: number;
  private round = 0;
  private now = 0;
  /** When the machine had been booted, on the steady clock; undefined: not looked at in this round. */
  private booted: number | undefined;

  constructor(host: Host, scope: Scope, listener?: MemberListener) {
    const how = scope.members;
    this.host = host;
    this.how = how;
    this.listener = listener;
    this.byDescent = how.by === 'tree' || how.by === 'environment';
    this.exclude = new Set(scope.exclude);
    this.counter = pidCounter(host);
    this.view = scope.view ?? processView(host);
    // what Tacho has just started has no children from before
    const isNew = how.by === 'tree' && how.mark !== undefined;
    this.lister =
      how.by === 'cgroup'
        ? listCgroup(host, how.path)
        : listProcesses(this.view, this.counter, isNew ? how.pid : undefined);
    this.root = how.by === 'tree' ? how.pid : scope.root;
    this.rootStart = how.by === 'tree' && this.look(how.pid) ? this.stat.start : 0;
  }

  /** Brings the members up to date: once a tick. */
  update(): void {
    this.round++;
    this.now = performance.now();
    this.booted = undefined;
    this.counter.update();
    for (const entry of this.unsettled) this.settle(entry);
    // a list is not made at every tick
    const waited = [...this.between];
    this.between.clear();
    for (const { pid } of waited) this.visit(pid);
    if (!this.lister.list((pid) => this.visit(pid))) return;
    for (const entry of this.watched.values()) if (entry.round !== this.round) this.drop(entry);
  }

  /** The file with the newest process id: while it stays the same nobody comes. −1: that cannot be told. */
  get startsFile(): number {
    return this.lister.followsStarts && this.unsettled.size + this.between.size === 0 ? this.counter.fd : -1;
  }

  /** It has become another program: whose? Tacho's own is no member any more. */
  judgeAgain(pid: number): 'job' | 'own' | 'between' {
    const entry = this.watched.get(pid);
    // the kernel's own processes never have words
    if (entry === undefined || entry.wordless > 1) return 'job';
    // the command that is recorded is a copy of what starts it, which is Tacho's, until it has become itself
    if (pid === this.root && this.isCopy(entry)) return 'between';
    const wordless = hasNoWords(this.host, pid);
    if (wordless && this.look(pid) && this.stat.state !== ENDED) return 'between';
    if (!(wordless ? this.endedAsOwn(entry) : isOwn(this.host, pid) || isOwnScript(this.host, pid))) return 'job';
    this.leave(entry);
    return 'own';
  }

  /** This process has gone: whoever has its pid from now on is somebody else. */
  forget(pid: number): void {
    const entry = this.watched.get(pid);
    if (entry !== undefined) this.drop(entry);
  }

  close(): void {
    this.counter.close();
    this.lister.close();
  }

  private visit(pid: number): void {
    const entry = this.watched.get(pid);
    if (entry === undefined) {
      this.examine(pid);
      return;
    }
    entry.round = this.round;
    if (this.counter.passed(pid) && !(this.look(pid) && this.stat.start === entry.start)) {
      this.drop(entry);
      this.examine(pid);
    } else if (!entry.belongs && !entry.excluded && (entry.between || this.mayBecome(entry))) {
      this.decide(entry);
    }
  }

  /** The script that starts Tacho is a shell at first. */
  private settle(entry: Known): void {
    const own = isOwn(this.host, entry.pid) || isOwnScript(this.host, entry.pid);
    if (own || this.now - entry.since > SCRIPT_MS) this.unsettled.delete(entry);
    if (own) this.leave(entry);
  }

  private leave(entry: Known): void {
    this.unsettled.delete(entry);
    entry.belongs = false;
    entry.passes = true;
    this.members.delete(entry.pid);
    this.listener?.vanished(entry);
  }

  /** A launcher's child becomes the user's program some time after the fork: Slurm's even after a prologue of any length. */
  private mayBecome({ pid, since, passes, young }: Known): boolean {
    if (this.how.by === 'environment' && young && this.now - since < YOUNG_MS) return true;
    // one that has ended has no words either: it stays what it was
    return passes && !hasNoWords(this.host, pid) && !isStepDaemon(this.host, pid) && !isOwn(this.host, pid);
  }

  private examine(pid: number): Known | undefined {
    const origin = this.view.origin(pid);
    if (origin === undefined) return undefined;
    const young = !(this.age(origin.start) >= YOUNG_MS);
    const undecided = { belongs: false, excluded: false, passes: false, between: false, wordless: 0 };
    const entry: Known = { pid, ...origin, since: this.now, young, ...undecided, round: this.round };
    this.watched.set(pid, entry);
    // the pid of a leader that died may serve a stranger now
    this.leaders.delete(pid);
    this.decide(entry);
    return entry;
  }

  /** Reads the process's stat; false when there is no such process. */
  private look(pid: number): boolean {
    return readStatOf(this.host, pid, this.stat);
  }

  private decide(entry: Known): void {
    const { host, exclude, leaders } = this;
    const { pid } = entry;
    const isRoot = pid === this.root;
    if (!isRoot && (exclude.has(pid) || (exclude.size > 0 && this.descendsFromExcluded(entry.parent)))) {
      entry.excluded = true;
      return;
    }
    if (!isRoot && this.byDescent && !this.isOfTheJob(entry)) {
      // a task is a copy of Slurm's own process, root's and then the user's, until all of its step are ready, however long
      entry.passes = this.how.by === 'environment' && isStepCopy(this.view, pid);
      return;
    }
    // `tacho start` in a job script is in the job, but is not what the user ran; what it starts is told by itself
    entry.passes = !isRoot && (isOwn(host, pid) || isOwnScript(host, pid) || isStepDaemon(host, pid));
    if (entry.passes) return;
    entry.between = !isRoot && this.isBetween(entry);
    if (entry.between) {
      this.between.add(entry);
      return;
    }
    entry.passes = entry.wordless > 1 && this.endedAsOwn(entry);
    if (entry.passes) return;
    entry.belongs = true;
    if (this.byDescent && (entry.group === pid || entry.session === pid)) {
      leaders.add(pid);
      if (leaders.size > LEADERS_KEPT) leaders.delete(leaders.values().next().value!);
    }
    this.members.set(pid, entry);
    if (!isRoot) this.unsettled.add(entry);
    this.listener?.appeared(entry);
  }

  /** Whose it is shows only when it has become what it is to be: a shell makes a copy of itself for each command. */
  private isBetween(entry: Known): boolean {
    // if it still has no words the second time, it never will: it has ended, or is the kernel's
    if (hasNoWords(this.host, entry.pid)) return ++entry.wordless === 1;
    if (!(this.age(entry.start) < SCRIPT_MS)) return false;
    if (!this.isCopy(entry)) return false;
    return this.look(entry.pid) && this.stat.state !== ENDED && this.stat.user + this.stat.system < WORKED;
  }

  /** A fork that has not executed anything has the words of its parent. */
  private isCopy({ pid, parent }: Known): boolean {
    return this.host.text(`/proc/${pid}/cmdline`) === this.host.text(`/proc/${parent}/cmdline`);
  }

  /** It has ended before anybody saw what it was; its name and its parent are all that is left. */
  private endedAsOwn({ pid, parent }: Known): boolean {
    return isOwn(this.host, parent) || NAMES.includes(this.host.text(`/proc/${pid}/comm`));
  }

  /** The nearest ancestor that is Tacho's own or the job's root decides. */
  private descendsFromExcluded(parent: number): boolean {
    for (let pid = parent; pid > 0; pid = this.stat.parent) {
      if (pid === this.root) return false;
      if (this.exclude.has(pid)) return true;
      const ancestor = this.watched.get(pid);
      if (ancestor !== undefined) return ancestor.excluded;
      if (!this.look(pid)) return false;
    }
    return false;
  }

  /** A child of a member, or in a session or process group that a member leads, alive or not. */
  private inherits(entry: Known): boolean {
    const parent = entry.parent > 0 ? (this.watched.get(entry.parent) ?? this.examine(entry.parent)) : undefined;
    return (
      parent?.belongs === true ||
      (this.how.by === 'tree' && parent?.passes === true) ||
      this.leaders.has(entry.group) ||
      this.leaders.has(entry.session)
    );
  }

  /** All tasks of a step over several components of a heterogeneous job have the id of the first; Slurm's own process knows. */
  private jobOfStep({ parent }: Known): string | undefined {
    for (let pid = parent; pid > 1 && this.look(pid); pid = this.stat.parent) {
      if (isStepDaemon(this.host, pid))
        return /^slurmstepd: \[(\d+)[.+]/.exec(this.host.text(`/proc/${pid}/cmdline`) ?? '')?.[1];
    }
    return undefined;
  }

  private isOfTheJob(entry: Known): boolean {
    if (this.how.by === 'environment' && this.view.owner(entry.pid) === this.how.uid) {
      const value = this.view.variable(entry.pid, this.how.variable);
      const isHet = value !== undefined && this.view.variable(entry.pid, 'SLURM_HET_SIZE') !== undefined;
      const step = isHet ? this.jobOfStep(entry) : undefined;
      if (value !== undefined && (!isHet || step !== undefined)) return isSameJob(step ?? value, this.how.value);
      // an orphan of a later component still has the id of the first
      if (value === this.how.value) return true;
    }
    if (this.inherits(entry)) return true;
    const mark = this.how.by === 'tree' && entry.start >= this.rootStart ? this.how.mark : undefined;
    return mark !== undefined && this.view.variable(entry.pid, mark.variable) === mark.value;
  }

  private drop(entry: Known): void {
    this.watched.delete(entry.pid);
    this.unsettled.delete(entry);
    if (entry.pid === this.root) this.root = undefined;
    if (this.members.delete(entry.pid)) this.listener?.vanished(entry);
  }

  /** Milliseconds since a process started; the kernel counts both from boot, so that nobody sets this clock. */
  private age(start: number): number {
    const now = performance.now();
    this.booted ??= now - Number.parseFloat(this.host.text('/proc/uptime') ?? '') * 1000;
    return now - this.booted - start * TICK_MS;
  }
}

/** What Tacho starts for itself says so. */
const isOwn = (host: Host, pid: number): boolean => processView(host).variable(pid, 'TACHO_OWN') !== undefined;

/** PBS puts its server's name behind the number, which others may leave out ("4711.server" and "4711"). */
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
