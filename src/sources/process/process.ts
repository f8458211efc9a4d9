import { cell } from '../../base/csv.ts';
import { printable } from '../../base/printable.ts';
import { shellText } from '../../base/shell-words.ts';
import type { Frame } from '../../table/frame.ts';
import { folderOf, hierarchies } from '../cgroup/mounts.ts';
import { lineEnd, number, scan, spells } from '../digits.ts';
import { bootMilliseconds } from '../host/boot-time.ts';
import { pageBytes } from '../host/page-bytes.ts';
import { userNames } from '../host/user-names.ts';
import type { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { REST_SECONDS, type Rest, type SourceKind } from '../source.ts';
import { DENIED, GONE, type ProcessFile, type ProcessFiles, processFiles } from './files.ts';
import { type Member, MemberWatch } from './members.ts';
import { type PidNamespaces, pidNamespaces } from './pid-namespaces.ts';
import { LARGE_BYTES, PssRounds } from './pss-rounds.ts';
import { DONE, FACT, IDLE, LIMIT, RAN, Schedules, UNKNOWN } from './schedules.ts';
import { ENDED, ProcessStat, readStat, TICK_MS } from './stat.ts';
import { processTable } from './table.ts';

const { at } = processTable;
const NUMBERS = processTable.columns.filter(({ type }) => type !== 'text').length;
/** A row is written at least so often, changed or not: also the longest that anything goes unread. */
const ROW_MICROSECONDS = 60e6;
/** status is half of the cost of a process; most of it changes slowly. */
const STATUS_MICROSECONDS = 10e6;
/** While C reads what runs, rows that are due so soon are written together. */
const TOGETHER_MICROSECONDS = 10e6;
/** CPUs that are new are looked at again so soon: hwloc binds an MPI program that starts to each CPU for a moment. */
const AGAIN_MICROSECONDS = 0.9e6;
/** It is read at once when the memory in RAM leapt by so much. */
const LEAP_BYTES = 1 << 20;
const LEAP_PART = 1 / 32;
const LONGEST_COMMAND = 4096;

const IO = [at.read_chars, at.written_chars, at.read_calls, at.write_calls, at.read_bytes, at.written_bytes];
const MEMORY = [at.rss_anon_bytes, at.rss_file_bytes, at.rss_shmem_bytes, at.swap_bytes];
const STATUS_FIELDS = (
  [
    ['Uid:', at.uid, 1],
    ['VmHWM:', at.rss_peak_bytes, 1024],
    ['RssAnon:', at.rss_anon_bytes, 1024],
    ['RssFile:', at.rss_file_bytes, 1024],
    ['RssShmem:', at.rss_shmem_bytes, 1024],
    ['VmSwap:', at.swap_bytes, 1024],
    ['voluntary_ctxt_switches:', at.voluntary_switches, 1],
    ['nonvoluntary_ctxt_switches:', at.involuntary_switches, 1],
  ] as const
).map(([word, column, factor]) => ({ word: Buffer.from(word), column, factor }));

const IO_DENIED = {
  table: processTable.name,
  what: 'I/O of other users’ processes',
  why: '/proc/PID/io: permission denied',
  hint: 'record as the user who runs the job, or as root',
};

const NO_ROW = -1;

/** In the order of native/node-sampling.processes.c. */
const PLACES = [
  at.ppid,
  at.threads,
  at.user_ms,
  at.system_ms,
  at.children_user_ms,
  at.children_system_ms,
  at.rss_bytes,
  at.virtual_bytes,
  at.minor_faults,
  at.major_faults,
  at.cpu,
  at.wait_ms,
  at.rss_peak_bytes,
  ...IO,
  ...STATUS_FIELDS.map(({ column }) => column),
];
const limits = new Float64Array(Object.keys(LIMIT).length);
limits[LIMIT.leapBytes] = LEAP_BYTES;
limits[LIMIT.leapPart] = LEAP_PART;
limits[LIMIT.largeBytes] = LARGE_BYTES;
limits[LIMIT.statusUs] = STATUS_MICROSECONDS;
const ROW_FORM = { positions: Int32Array.from(PLACES), decimals: new Uint8Array(NUMBERS), limits };

/** A member and what was last seen of it. */
class Watched {
  readonly pid: number;
  readonly start: number;
  readonly pidText: string;
  readonly startText: string;
  readonly stat: ProcessFile;
  readonly schedstat: ProcessFile;
  io: ProcessFile;
  /** What children did that the whole process' io would count again; undefined while the main thread's own io is read. */
  ioOfOthers: Float64Array | undefined;
  readonly status: ProcessFile;
  /** Where its schedstat is looked at with those of others. */
  readonly schedule: number;
  /** Where C has them, too. */
  numbers: Float64Array;
  name = '';
  nameHash = 0;
  command = '';
  /** The command that the last row with one had; undefined: it had no row yet. */
  commandSaid: string | undefined;
  user = '';
  /** CPUs that it may run on, and what the last row with them said. */
  allowed = '';
  allowedHash = 0;
  allowedSaid = '';
  /** Two looks at its status agreed about them. */
  isSettled = false;
  state = 0;
  /** Of the main thread, from schedstat: while they stand still it did not run. 0 slices: the kernel does not count. */
  ranNanoseconds = 0;
  slices = 0;
  /** What C has of its texts. */
  nameTold = '';
  userTold = '';
  isTold = false;
  rssAtStatus = 0;
  statusDue = 0;
  rowDue = 0;
  /** How often it was read in full: a new process soon becomes another program. */
  looks = 0;
  /** Its row in this tick's frame; NO_ROW: none. */
  row = NO_ROW;

  constructor({ pid, start }: Member, boot: number, files: ProcessFiles, schedules: Schedules) {
    this.schedule = schedules.take();
    this.numbers = schedules.numbersOf(this.schedule);
    this.pid = pid;
    this.start = start;
    this.pidText = String(pid);
    this.startText = String(boot + start * TICK_MS);
    this.stat = files.open(pid, 'stat');
    this.schedstat = files.open(pid, 'schedstat');
    // a process' io holds that of children it waited for: a shell would have all that its commands did
    this.io = files.open(pid, `task/${pid}/io`);
    this.status = files.open(pid, 'status');
  }

  close(): void {
    for (const file of [this.stat, this.schedstat, this.io, this.status]) file.close();
  }
}

/** Reads the processes of a job: what did not run since the last tick costs one look at its schedstat. */
class ProcessReader {
  private readonly host: Host;
  private readonly scope: Scope;
  private readonly boot: number;
  private readonly page: number;
  private readonly files: ProcessFiles;
  private readonly userName: (uid: number) => string;
  private readonly spaces: PidNamespaces;
  private readonly stat = new ProcessStat();
  private readonly schedules = new Schedules(ROW_FORM, () => {
    for (const w of this.watched.values()) w.numbers = this.schedules.numbersOf(w.schedule);
  });
  private readonly io = new Float64Array(IO.length);
  private readonly watched = new Map<number, Watched>();
  private readonly members: MemberWatch;
  /** Had rows, and has none at this tick: without a last one nobody knew how long it lived since it changed. */
  private readonly gone: Watched[] = [];
  private changed = false;
  /** What is due so soon is read now. */
  private ahead = 0;
  private mayRest = false;
  private readonly rounds: PssRounds<Watched> | undefined;

  constructor(host: Host, scope: Scope) {
    this.host = host;
    this.scope = scope;
    this.boot = bootMilliseconds(host);
    this.page = pageBytes(host);
    this.files = processFiles(host);
    this.userName = userNames(host);
    this.spaces = pidNamespaces(host);
    this.members = new MemberWatch(host, scope, {
      appeared: (member) =>
        void this.watched.set(member.pid, new Watched(member, this.boot, this.files, this.schedules)),
      vanished: ({ pid }) => this.unwatch(pid),
    });
    // the kernel counts the memory of a cgroup that is the job's own
    const isWanted = scope.memory !== undefined && !countsMemory(host, scope);
    this.rounds = isWanted ? new PssRounds<Watched>(host, (w) => w.numbers[at.rss_bytes]!) : undefined;
  }

  read(frame: Frame): void {
    const { time } = frame;
    this.members.update();
    this.schedules.look();
    // a rest is near
    this.ahead = !this.mayRest ? 0 : this.schedules.areIdle ? (REST_SECONDS - 1) * 1e6 : TOGETHER_MICROSECONDS;
    this.rounds?.begin();
    for (const w of this.watched.values()) {
      w.row = NO_ROW;
      if (!this.look(w, time)) {
        if (this.watched.has(w.pid)) this.members.forget(w.pid);
        continue;
      }
      this.rounds?.saw(w);
      // a row of C's is enough for one tick
      const due = this.isDue(w, time) && this.schedules.result(w.schedule) !== DONE;
      // what has ended has said so, even if nobody collects it
      if (!this.changed && (!due || w.state === ENDED)) continue;
      // commands may be long: they are said when they are new, and once a minute
      const full = due || w.command !== w.commandSaid;
      if (full) {
        w.rowDue = time + ROW_MICROSECONDS - (w.looks === 1 ? (w.pid % 30) * 1e6 : 0);
        w.commandSaid = w.command;
      }
      this.write(frame, w, full);
    }
    if (this.rounds?.isTime(time)) this.readShared(this.rounds, frame);
    else if (this.rounds?.isWorthwhile() === false) this.scope.memory!.pss_bytes = Number.NaN;
    for (const w of this.gone.splice(0)) {
      w.state = GONE_STATE;
      this.write(frame, w, false);
    }
  }

  /** While none of the job's processes may be about to come, C reads those that run. */
  rest(): Rest | undefined {
    const isBusy = this.gone.length > 0 || this.rounds?.isWorthwhile() === true;
    const processes = isBusy ? undefined : this.schedules.resting(this.watched.size, this.members.startsFile);
    this.mayRest = processes !== undefined;
    if (processes === undefined) return undefined;
    let until = Number.POSITIVE_INFINITY;
    for (const { rowDue, state } of this.watched.values()) if (state !== ENDED) until = Math.min(until, rowDue);
    return { processes, until };
  }

  /** What will be due before the next read is due now. */
  private isDue({ rowDue }: Watched, time: number): boolean {
    return time >= rowDue - this.ahead || rowDue - time > ROW_MICROSECONDS;
  }

  last(): void {
    for (const w of this.watched.values()) w.rowDue = 0;
    this.rounds?.last();
  }

  close(): void {
    for (const pid of [...this.watched.keys()]) this.unwatch(pid);
    this.members.close();
  }

  private set(w: Watched, column: number, value: number): void {
    if (w.numbers[column] === value || Number.isNaN(value)) return;
    w.numbers[column] = value;
    this.changed = true;
  }

  /** Brings what is known of a process up to date; false when it has gone meanwhile, or is not the job's. Sets `changed`. */
  private look(w: Watched, time: number): boolean {
    const { stat } = this;
    this.changed = false;
    const due = this.isDue(w, time);
    const alone = w.numbers[at.threads] === 1;
    const ran = alone ? this.hasRun(w) : RAN;
    if (ran === GONE) return false;
    if (ran === DONE) return true;
    if (ran === IDLE && !due) return true;
    const statusDue = time >= w.statusDue || w.statusDue - time > STATUS_MICROSECONDS;
    let end = w.stat.read();
    // a stat that was cut off is no stat; a start of its own means that the pid is somebody else's now
    if (end < 0 || !readStat(this.host.bytes, end, stat) || stat.start !== w.start) return false;
    const { numbers } = w;
    const rss = stat.residentPages * this.page;
    // other threads than the main one show only here whether they ran; ticks are coarse, so I/O is read now and then anyway
    const quiet =
      !alone &&
      numbers[at.user_ms] === stat.user * TICK_MS &&
      numbers[at.system_ms] === stat.system * TICK_MS &&
      numbers[at.minor_faults] === stat.minorFaults &&
      numbers[at.rss_bytes] === rss;
    // what has become Tacho's own keeps the numbers that it had as the job's
    if (this.lookAtName(w, due || w.looks < 2)) return false;
    this.takeStat(w, rss);
    w.looks++;
    if (!quiet || due || statusDue) {
      if (!alone && this.lookAtSchedule(w) === GONE) return false;
      if (!this.lookAtIo(w)) return false;
    }
    if (due || statusDue || Math.abs(rss - w.rssAtStatus) > Math.max(LEAP_BYTES, rss * LEAP_PART)) {
      const { allowed, isSettled } = w;
      end = w.status.read();
      if (end === GONE) return false;
      if (end > 0) this.readStatus(w, end);
      w.rssAtStatus = rss;
      w.isSettled = w.allowed === allowed;
      // processes that were found together are spread over the ticks
      const later = STATUS_MICROSECONDS - (isSettled ? 0 : (w.pid % 10) * 1e6);
      w.statusDue = time + (w.isSettled ? later : AGAIN_MICROSECONDS);
    }
    // schedstat is of the main thread alone
    this.schedules.watch(w.schedule, stat.threads === 1 ? w.schedstat.fd : -1, w.ranNanoseconds, w.slices);
    // a process that has ended but was not collected yet has no memory, and its status says nothing about it
    if (stat.virtualBytes === 0 && numbers[at.rss_anon_bytes]! > 0) for (const column of MEMORY) this.set(w, column, 0);
    if (!(numbers[at.rss_peak_bytes]! >= rss)) this.set(w, at.rss_peak_bytes, rss);
    this.allow(w);
    return true;
  }

  /** Lets C read it by itself while it does the same as now. */
  private allow(w: Watched): void {
    const { schedules } = this;
    const { schedule: slot, name, user } = w;
    const isPlain =
      w.numbers[at.threads] === 1 && w.ioOfOthers === undefined && w.looks > 1 && w.isSettled && w.state !== ENDED;
    if (isPlain && (!w.isTold || w.nameTold !== name || w.userTold !== user)) {
      const texts = [w.pidText, w.startText, name, '', user, ''];
      w.isTold = schedules.setText(slot, Buffer.from(texts.map((word) => `,${cell(word)}`).join('')));
      w.nameTold = name;
      w.userTold = user;
    }
    const isAllowed = isPlain && w.isTold;
    if (isAllowed) schedules.allow(slot, w.stat.fd, w.io.fd, w.status.fd);
    else schedules.allow(slot, -1, -1, -1);
    schedules.setFact(slot, FACT.start, w.start);
    schedules.setFact(slot, FACT.name, w.nameHash);
    schedules.setFact(slot, FACT.statusDue, w.statusDue);
    schedules.setFact(slot, FACT.statusRss, w.rssAtStatus);
    schedules.setFact(slot, FACT.state, w.state);
    schedules.setFact(slot, FACT.allowed, w.allowedHash);
  }

  private takeStat(w: Watched, rss: number): void {
    const { stat } = this;
    this.set(w, at.ppid, stat.parent);
    this.set(w, at.threads, stat.threads);
    this.set(w, at.user_ms, stat.user * TICK_MS);
    this.set(w, at.system_ms, stat.system * TICK_MS);
    this.set(w, at.children_user_ms, stat.childrenUser * TICK_MS);
    this.set(w, at.children_system_ms, stat.childrenSystem * TICK_MS);
    this.set(w, at.rss_bytes, rss);
    this.set(w, at.virtual_bytes, stat.virtualBytes);
    this.set(w, at.minor_faults, stat.minorFaults);
    this.set(w, at.major_faults, stat.majorFaults);
    this.set(w, at.cpu, stat.cpu);
    if (stat.state !== w.state) {
      w.state = stat.state;
      this.changed = true;
    }
  }

  /** What lookAtSchedule says, from the look at all of them where it was among them. */
  private hasRun(w: Watched): number {
    const { schedules } = this;
    const result = schedules.result(w.schedule);
    if (result === UNKNOWN) return this.lookAtSchedule(w);
    // C may have read it since
    w.state = schedules.fact(w.schedule, FACT.state);
    w.statusDue = schedules.fact(w.schedule, FACT.statusDue);
    w.rssAtStatus = schedules.fact(w.schedule, FACT.statusRss);
    w.ranNanoseconds = schedules.ran(w.schedule);
    w.slices = schedules.slices(w.schedule);
    if (result === RAN) this.set(w, at.wait_ms, Math.floor(schedules.waited(w.schedule) / 1e6));
    return result;
  }

  private takeSchedule(w: Watched, ran: number, waited: number, slices: number): void {
    w.ranNanoseconds = ran;
    w.slices = slices;
    this.set(w, at.wait_ms, Math.floor(waited / 1e6));
  }

  /** 1 when the main thread ran since the last look, or it cannot be told; 0 when it did not. */
  private lookAtSchedule(w: Watched): number {
    const end = w.schedstat.read();
    if (end < 0) return end === GONE ? GONE : 1;
    const ran = number(this.host.bytes, 0, end);
    const waited = number(this.host.bytes, scan.at, end);
    const slices = number(this.host.bytes, scan.at, end);
    // a kernel that does not count says 0 0 0
    if (!(slices > 0)) return 1;
    if (ran === w.ranNanoseconds && slices === w.slices) return 0;
    this.takeSchedule(w, ran, waited, slices);
    return 1;
  }

  /** False when the process has gone. */
  private lookAtIo(w: Watched): boolean {
    const wasAlone = w.ioOfOthers === undefined;
    if (wasAlone && this.stat.threads > 1) {
      w.io.close();
      w.io = this.files.open(w.pid, 'io');
      w.ioOfOthers = new Float64Array(IO.length);
    }
    const end = w.io.read();
    if (end === GONE) return false;
    if (end === DENIED) {
      // one that is just becoming another program cannot be read for a moment, whoever's it is
      if (w.looks > 1) this.host.note(IO_DENIED);
      return true;
    }
    if (!this.readIo(end)) return true;
    const others = w.ioOfOthers;
    for (let i = 0; i < IO.length; i++) {
      const column = IO[i]!;
      const before = w.numbers[column]!;
      // the first thread beside the main one: from here on the whole process counts, less what it had before
      if (others !== undefined && wasAlone && before >= 0) others[i] = Math.max(0, this.io[i]! - before);
      this.set(w, column, this.io[i]! - (others === undefined ? 0 : others[i]!));
    }
    return true;
  }

  /** Fills `io`; false when the file was cut off: the last number may have lost digits. */
  private readIo(end: number): boolean {
    const { bytes } = this.host;
    this.io[0] = number(bytes, 0, end);
    this.io[1] = number(bytes, scan.at, end);
    for (let i = 2; i < IO.length; i++) this.io[i] = number(bytes, scan.at, end);
    return scan.at < end;
  }

  private readStatus(w: Watched, end: number): void {
    const { bytes } = this.host;
    for (let from = 0; from < end; ) {
      const stop = lineEnd(bytes, from, end);
      // the last line without its newline was cut off
      if (stop === end) break;
      const field = statusField(bytes, from);
      if (field !== undefined) {
        const value = number(bytes, from + field.word.length, stop);
        if (field.column === at.uid) this.setUser(w, value);
        else this.set(w, field.column, value * field.factor);
      } else if (spells(bytes, from, ALLOWED)) this.setAllowed(w, from + ALLOWED.length, stop);
      else if (w.looks === 1 && spells(bytes, from, NAMESPACE_IDS)) this.lookAtNamespace(w, from, stop);
      from = stop + 1;
    }
  }

  private setAllowed(w: Watched, from: number, stop: number): void {
    const { bytes } = this.host;
    const hash = hashOf(bytes, from, stop);
    if (hash === w.allowedHash) return;
    w.allowedHash = hash;
    w.allowed = bytes.toString('latin1', from, stop).trim();
    this.changed = true;
  }

  /** Records of a process in a namespace of its own name it by its id there. */
  private lookAtNamespace(w: Watched, from: number, to: number): void {
    const ids = this.host.bytes.toString('latin1', from + NAMESPACE_IDS.length, to);
    this.spaces.saw({ pid: w.pid, ppid: w.numbers[at.ppid]!, start: this.boot + w.start * TICK_MS }, ids);
  }

  private setUser(w: Watched, uid: number): void {
    if (w.numbers[at.uid] === uid || Number.isNaN(uid)) return;
    this.set(w, at.uid, uid);
    w.user = this.userName(uid);
  }

  /** True when it has turned out to be Tacho's own. */
  private lookAtName(w: Watched, anyway: boolean): boolean {
    const { bytes } = this.host;
    const hash = hashOf(bytes, this.stat.nameFrom, this.stat.nameEnd);
    if (hash === w.nameHash && !anyway) return false;
    const name = printable(bytes.toString('utf8', this.stat.nameFrom, this.stat.nameEnd));
    const command = this.scope.redact ? '' : readCommand(this.host, w.pid) || w.command;
    if (name !== w.name || command !== w.command) {
      // one that has its words a moment later is named at the next tick
      const whose = this.members.judgeAgain(w.pid);
      if (whose !== 'job') return whose === 'own';
      w.name = name;
      w.command = command;
      this.changed = true;
      this.lookAtLimits(w);
    }
    w.nameHash = hash;
    return false;
  }

  /** Who starts a program may have set limits before; they seldom change later. */
  private lookAtLimits(w: Watched): void {
    const limits = this.host.text(`/proc/${w.pid}/limits`);
    if (limits === undefined) return;
    for (const [column, line] of LIMITS) this.set(w, column, Number(line.exec(limits)?.[1] ?? Number.NaN));
  }

  private write(frame: Frame, w: Watched, full: boolean): void {
    const row = frame.row();
    w.row = row;
    frame.numbers.set(w.numbers, row * NUMBERS);
    const t = row * frame.textWidth;
    frame.texts[t + at.pid] = w.pidText;
    frame.texts[t + at.start] = w.startText;
    frame.texts[t + at.name] = w.name;
    if (full) frame.texts[t + at.command] = w.command;
    frame.texts[t + at.user] = w.user;
    frame.texts[t + at.state] = LETTERS[w.state]!;
    if (full || w.allowed !== w.allowedSaid) frame.texts[t + at.allowed_cpus] = w.allowedSaid = w.allowed;
  }

  /** One row for each process that was read, and the sum of all. */
  private readShared(rounds: PssRounds<Watched>, frame: Frame): void {
    let shared = Number.NaN;
    rounds.read(frame.time, (w, pss) => {
      if (w.row === NO_ROW) this.write(frame, w, false);
      frame.numbers[w.row * NUMBERS + at.pss_bytes] = pss;
      shared = (shared || 0) + Math.max(0, w.numbers[at.rss_bytes]! - pss);
    });
    let sum = -shared;
    for (const w of this.watched.values()) sum += w.numbers[at.rss_bytes]! || 0;
    this.scope.memory!.pss_bytes = sum;
    this.scope.memory!.shared_bytes = shared;
  }

  private unwatch(pid: number): void {
    const w = this.watched.get(pid);
    if (w === undefined) return;
    this.watched.delete(pid);
    if (w.commandSaid !== undefined && w.state !== ENDED) this.gone.push(w);
    // its last row is still to be written
    w.numbers = w.numbers.slice();
    this.schedules.leave(w.schedule);
    w.close();
  }
}

export const process: SourceKind = {
  table: processTable,
  open(host, scope) {
    const reader = new ProcessReader(host, scope);
    return {
      table: processTable,
      read: (frame) => reader.read(frame),
      rest: () => reader.rest(),
      last: () => reader.last(),
      close: () => reader.close(),
    };
  },
};

/** As the report takes it: a cgroup that tells who belongs to the job, in a hierarchy that counts memory. */
function countsMemory(host: Host, { members, cgroup }: Scope): boolean {
  if (members.by !== 'cgroup' || cgroup === undefined || cgroup.shared) return false;
  return hierarchies(host).some((hierarchy) => {
    const folder = folderOf(host, hierarchy, cgroup.path);
    return folder !== undefined && MEMORY_FILES.some((name) => host.exists(`${folder}/${name}`));
  });
}

const MEMORY_FILES = ['memory.current', 'memory.usage_in_bytes'];

/** X, the state of a process that has gone. */
const GONE_STATE = 88;
const LETTERS = Array.from({ length: 256 }, (_, c) => String.fromCharCode(c));

/** `Max cpu time              10                   10                   seconds`: what is unlimited has no digits. */
const LIMITS = (
  [
    [at.cpu_limit_seconds, 'cpu time'],
    [at.file_limit_bytes, 'file size'],
    [at.data_limit_bytes, 'data size'],
    [at.virtual_limit_bytes, 'address space'],
  ] as const
).map(([column, name]) => [column, new RegExp(`^Max ${name} +(\\d+) `, 'm')] as const);

const ALLOWED = Buffer.from('Cpus_allowed_list:');

/** Tells whether a text has changed, without making one. */
function hashOf(bytes: Buffer, from: number, end: number): number {
  let hash = 0;
  for (let i = from; i < end; i++) hash = (hash * 31 + bytes[i]!) | 0;
  return hash;
}

const NAMESPACE_IDS = Buffer.from('NSpid:');

function statusField(bytes: Buffer, from: number): (typeof STATUS_FIELDS)[number] | undefined {
  for (const field of STATUS_FIELDS) if (spells(bytes, from, field.word)) return field;
  return undefined;
}

/** Program and arguments, as in `args` of process records; empty: none (kernel threads, processes that have ended). */
function readCommand(host: Host, pid: number): string {
  const file = host.tryKeep(`/proc/${pid}/cmdline`, true);
  if (file === undefined) return '';
  let end = 0;
  try {
    end = file.read();
  } catch {
    // it may be somebody else's now
  }
  file.close();
  const command = host.bytes.subarray(0, Math.min(end, LONGEST_COMMAND));
  const first = command.indexOf(0);
  // who writes a title over its arguments leaves zeros behind it
  const titled = first >= 0 && command.subarray(first).every((byte) => byte === 0);
  const text = shellText(titled ? command.subarray(0, first) : command);
  return end > LONGEST_COMMAND && !titled ? `${text}…` : text;
}
