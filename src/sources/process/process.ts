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
import type { SourceKind } from '../source.ts';
import { DENIED, GONE, type ProcessFile, processFiles } from './files.ts';
import { type Member, MemberWatch } from './members.ts';
import { pidNamespaces } from './pid-namespaces.ts';
import { type PssRounds, pssRounds } from './pss-rounds.ts';
import { ENDED, ProcessStat, readStat, TICK_MS } from './stat.ts';
import { processTable } from './table.ts';

const { at } = processTable;
const NUMBERS = processTable.columns.filter(({ type }) => type !== 'text').length;
/** A row is written at least so often, changed or not: also the longest that anything goes unread. */
const ROW_MICROSECONDS = 60e6;
/** status is half of the cost of a process; most of it changes slowly. */
const STATUS_MICROSECONDS = 10e6;
/** It is read at once when the memory in RAM leapt by so much. */
const LEAP_BYTES = 1 << 20;
const LEAP_PART = 1 / 32;
const LONGEST_COMMAND = 4096;

/** A member and what was last seen of it. */
interface Watched {
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
  readonly numbers: Float64Array;
  name: string;
  nameHash: number;
  command: string;
  /** The command that the last row with one had; undefined: it had no row yet. */
  commandSaid: string | undefined;
  user: string;
  /** CPUs that it may run on, and what the last row with them said. */
  allowed: string;
  allowedHash: number;
  allowedSaid: string;
  state: number;
  /** Of the main thread, from schedstat: while they stand still it did not run. 0 slices: the kernel does not count. */
  ranNanoseconds: number;
  slices: number;
  rssAtStatus: number;
  statusDue: number;
  rowDue: number;
  /** How often it was read in full: a new process soon becomes another program. */
  looks: number;
  /** Its row in this tick's frame; NO_ROW: none. */
  row: number;
}

const NO_ROW = -1;

export const process: SourceKind = {
  table: processTable,
  open(host, scope) {
    const boot = bootMilliseconds(host);
    const page = pageBytes(host);
    const files = processFiles(host);
    const userName = userNames(host);
    const spaces = pidNamespaces(host);
    const stat = new ProcessStat();
    const io = new Float64Array(IO.length);
    const watched = new Map<number, Watched>();
    const members = new MemberWatch(host, scope, { appeared: watch, vanished: (m) => unwatch(m.pid) });
    /** Had rows, and has none at this tick: without a last one nobody knew how long it lived since it changed. */
    const gone: Watched[] = [];
    let changed = false;
    // the kernel counts the memory of a cgroup that is the job's own
    const isWanted = scope.memory !== undefined && !countsMemory(host, scope);
    const rounds = isWanted ? pssRounds<Watched>(host, (w) => w.numbers[at.rss_bytes]!) : undefined;

    function watch({ pid, start }: Member): void {
      watched.set(pid, {
        pid,
        start,
        pidText: String(pid),
        startText: String(boot + start * TICK_MS),
        stat: files.open(pid, 'stat'),
        schedstat: files.open(pid, 'schedstat'),
        // a process' io holds that of children it waited for: a shell would have all that its commands did
        io: files.open(pid, `task/${pid}/io`),
        ioOfOthers: undefined,
        status: files.open(pid, 'status'),
        numbers: new Float64Array(NUMBERS).fill(Number.NaN),
        name: '',
        nameHash: 0,
        command: '',
        commandSaid: undefined,
        user: '',
        allowed: '',
        allowedHash: 0,
        allowedSaid: '',
        state: 0,
        ranNanoseconds: 0,
        slices: 0,
        rssAtStatus: 0,
        statusDue: 0,
        rowDue: 0,
        looks: 0,
        row: NO_ROW,
      });
    }

    function unwatch(pid: number): void {
      const w = watched.get(pid);
      if (w === undefined) return;
      watched.delete(pid);
      if (w.commandSaid !== undefined && w.state !== ENDED) gone.push(w);
      w.stat.close();
      w.schedstat.close();
      w.io.close();
      w.status.close();
    }

    function set(w: Watched, place: number, value: number): void {
      if (w.numbers[place] === value || Number.isNaN(value)) return;
      w.numbers[place] = value;
      changed = true;
    }

    /** Brings what is known of a process up to date; false when it has gone meanwhile, or is not the job's. Sets `changed`. */
    function look(w: Watched, time: number): boolean {
      changed = false;
      const due = time >= w.rowDue || w.rowDue - time > ROW_MICROSECONDS;
      const alone = w.numbers[at.threads] === 1;
      if (alone) {
        const ran = lookAtSchedule(w);
        if (ran === GONE) return false;
        if (ran === 0 && !due) return true;
      }
      let end = w.stat.read();
      // a stat that was cut off is no stat; a start of its own means that the pid is somebody else's now
      if (end < 0 || !readStat(host.bytes, end, stat) || stat.start !== w.start) return false;
      const { numbers } = w;
      const rss = stat.residentPages * page;
      // other threads than the main one show only here whether they ran; ticks are coarse, so I/O is read now and then anyway
      const quiet =
        !alone &&
        numbers[at.user_ms] === stat.user * TICK_MS &&
        numbers[at.system_ms] === stat.system * TICK_MS &&
        numbers[at.minor_faults] === stat.minorFaults &&
        numbers[at.rss_bytes] === rss;
      const statusDue = time >= w.statusDue || w.statusDue - time > STATUS_MICROSECONDS;
      // what has become Tacho's own keeps the numbers that it had as the job's
      if (lookAtName(w, due || w.looks < 2)) return false;
      set(w, at.ppid, stat.parent);
      set(w, at.threads, stat.threads);
      set(w, at.user_ms, stat.user * TICK_MS);
      set(w, at.system_ms, stat.system * TICK_MS);
      set(w, at.children_user_ms, stat.childrenUser * TICK_MS);
      set(w, at.children_system_ms, stat.childrenSystem * TICK_MS);
      set(w, at.rss_bytes, rss);
      set(w, at.virtual_bytes, stat.virtualBytes);
      set(w, at.minor_faults, stat.minorFaults);
      set(w, at.major_faults, stat.majorFaults);
      set(w, at.cpu, stat.cpu);
      if (stat.state !== w.state) {
        w.state = stat.state;
        changed = true;
      }
      w.looks++;
      if (!quiet || due || statusDue) {
        if (!alone && lookAtSchedule(w) === GONE) return false;
        if (!lookAtIo(w)) return false;
      }
      if (due || statusDue || Math.abs(rss - w.rssAtStatus) > Math.max(LEAP_BYTES, rss * LEAP_PART)) {
        end = w.status.read();
        if (end === GONE) return false;
        if (end > 0) readStatus(w, end);
        w.rssAtStatus = rss;
        // processes that were found together are spread over the ticks
        w.statusDue = time + STATUS_MICROSECONDS - (w.looks === 1 ? (w.pid % 10) * 1e6 : 0);
      }
      // a process that has ended but was not collected yet has no memory, and its status says nothing about it
      if (stat.virtualBytes === 0 && numbers[at.rss_anon_bytes]! > 0) for (const part of MEMORY) set(w, part, 0);
      if (!(numbers[at.rss_peak_bytes]! >= rss)) set(w, at.rss_peak_bytes, rss);
      return true;
    }

    /** 1 when the main thread ran since the last look, or it cannot be told; 0 when it did not. */
    function lookAtSchedule(w: Watched): number {
      const end = w.schedstat.read();
      if (end < 0) return end === GONE ? GONE : 1;
      const ran = number(host.bytes, 0, end);
      const waited = number(host.bytes, scan.at, end);
      const slices = number(host.bytes, scan.at, end);
      // a kernel that does not count says 0 0 0
      if (!(slices > 0)) return 1;
      if (ran === w.ranNanoseconds && slices === w.slices) return 0;
      w.ranNanoseconds = ran;
      w.slices = slices;
      set(w, at.wait_ms, Math.floor(waited / 1e6));
      return 1;
    }

    /** False when the process has gone. */
    function lookAtIo(w: Watched): boolean {
      const wasAlone = w.ioOfOthers === undefined;
      if (wasAlone && stat.threads > 1) {
        w.io.close();
        w.io = files.open(w.pid, 'io');
        w.ioOfOthers = new Float64Array(IO.length);
      }
      const end = w.io.read();
      if (end === GONE) return false;
      if (end === DENIED) {
        // one that is just becoming another program cannot be read for a moment, whoever's it is
        if (w.looks > 1) noteDenied();
        return true;
      }
      if (!readIo(end)) return true;
      const others = w.ioOfOthers;
      for (let i = 0; i < IO.length; i++) {
        const place = IO[i]!;
        const before = w.numbers[place]!;
        // the first thread beside the main one: from here on the whole process counts, less what it had before
        if (others !== undefined && wasAlone && before >= 0) others[i] = Math.max(0, io[i]! - before);
        set(w, place, io[i]! - (others === undefined ? 0 : others[i]!));
      }
      return true;
    }

    /** Fills `io`; false when the file was cut off: the last number may have lost digits. */
    function readIo(end: number): boolean {
      const { bytes } = host;
      io[0] = number(bytes, 0, end);
      io[1] = number(bytes, scan.at, end);
      number(bytes, scan.at, end); // calls
      number(bytes, scan.at, end);
      io[2] = number(bytes, scan.at, end);
      io[3] = number(bytes, scan.at, end);
      return scan.at < end;
    }

    function readStatus(w: Watched, end: number): void {
      const { bytes } = host;
      for (let from = 0; from < end; ) {
        const stop = lineEnd(bytes, from, end);
        // the last line without its newline was cut off
        if (stop === end) break;
        const field = statusField(bytes, from);
        if (field !== undefined) {
          const value = number(bytes, from + field.word.length, stop);
          if (field.place === at.uid) setUser(w, value);
          else set(w, field.place, value * field.factor);
        } else if (spells(bytes, from, ALLOWED)) setAllowed(w, from + ALLOWED.length, stop);
        else if (w.looks === 1 && spells(bytes, from, NAMESPACE_IDS)) lookAtNamespace(w, from, stop);
        from = stop + 1;
      }
    }

    function setAllowed(w: Watched, from: number, stop: number): void {
      const { bytes } = host;
      const hash = hashOf(bytes, from, stop);
      if (hash === w.allowedHash) return;
      w.allowedHash = hash;
      w.allowed = bytes.toString('latin1', from, stop).trim();
      changed = true;
    }

    /** Records of a process in a namespace of its own name it by its id there. */
    function lookAtNamespace(w: Watched, from: number, to: number): void {
      const ids = host.bytes.toString('latin1', from + NAMESPACE_IDS.length, to);
      spaces.saw({ pid: w.pid, ppid: w.numbers[at.ppid]!, start: boot + w.start * TICK_MS }, ids);
    }

    function setUser(w: Watched, uid: number): void {
      if (w.numbers[at.uid] === uid || Number.isNaN(uid)) return;
      set(w, at.uid, uid);
      w.user = userName(uid);
    }

    /** True when it has turned out to be Tacho's own. */
    function lookAtName(w: Watched, anyway: boolean): boolean {
      const { bytes } = host;
      const hash = hashOf(bytes, stat.nameFrom, stat.nameEnd);
      if (hash === w.nameHash && !anyway) return false;
      const name = printable(bytes.toString('utf8', stat.nameFrom, stat.nameEnd));
      const command = scope.redact ? '' : readCommand(host, w.pid) || w.command;
      if (name !== w.name || command !== w.command) {
        // one that has its words a moment later is named at the next tick
        const whose = members.judgeAgain(w.pid);
        if (whose !== 'job') return whose === 'own';
        w.name = name;
        w.command = command;
        changed = true;
      }
      w.nameHash = hash;
      return false;
    }

    function noteDenied(): void {
      host.note({
        table: processTable.name,
        what: 'I/O of other users’ processes',
        why: '/proc/PID/io: permission denied',
        hint: 'record as the user who runs the job, or as root',
      });
    }

    function write(frame: Frame, w: Watched, full: boolean): void {
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
    function readShared(rounds: PssRounds<Watched>, frame: Frame): void {
      let shared = Number.NaN;
      rounds.read(frame.time, (w, pss) => {
        if (w.row === NO_ROW) write(frame, w, false);
        frame.numbers[w.row * NUMBERS + at.pss_bytes] = pss;
        shared = (shared || 0) + Math.max(0, w.numbers[at.rss_bytes]! - pss);
      });
      let sum = -shared;
      for (const w of watched.values()) sum += w.numbers[at.rss_bytes]! || 0;
      scope.memory!.pss_bytes = sum;
      scope.memory!.shared_bytes = shared;
    }

    return {
      table: processTable,
      read(frame) {
        const { time } = frame;
        members.update();
        rounds?.begin();
        for (const w of watched.values()) {
          w.row = NO_ROW;
          if (!look(w, time)) {
            if (watched.has(w.pid)) members.forget(w.pid);
            continue;
          }
          rounds?.saw(w);
          const due = time >= w.rowDue || w.rowDue - time > ROW_MICROSECONDS;
          // what has ended has said so, even if nobody collects it
          if (!changed && (!due || w.state === ENDED)) continue;
          // commands may be long: they are said when they are new, and once a minute
          const full = due || w.command !== w.commandSaid;
          if (full) {
            w.rowDue = time + ROW_MICROSECONDS - (w.looks === 1 ? (w.pid % 30) * 1e6 : 0);
            w.commandSaid = w.command;
          }
          write(frame, w, full);
        }
        if (rounds?.isTime(time)) readShared(rounds, frame);
        else if (rounds?.isWorthwhile() === false) scope.memory!.pss_bytes = Number.NaN;
        for (const w of gone.splice(0)) {
          w.state = GONE_STATE;
          write(frame, w, false);
        }
      },
      last() {
        for (const w of watched.values()) w.rowDue = 0;
        rounds?.last();
      },
      close() {
        for (const pid of [...watched.keys()]) unwatch(pid);
        members.close();
      },
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

const IO = [at.read_chars, at.written_chars, at.read_bytes, at.written_bytes];
const MEMORY = [at.rss_anon_bytes, at.rss_file_bytes, at.rss_shmem_bytes, at.swap_bytes];
/** X, the state of a process that has gone. */
const GONE_STATE = 88;
const LETTERS = Array.from({ length: 256 }, (_, c) => String.fromCharCode(c));

const ALLOWED = Buffer.from('Cpus_allowed_list:');

/** Tells whether a text has changed, without making one. */
function hashOf(bytes: Buffer, from: number, end: number): number {
  let hash = 0;
  for (let i = from; i < end; i++) hash = (hash * 31 + bytes[i]!) | 0;
  return hash;
}

const NAMESPACE_IDS = Buffer.from('NSpid:');

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
).map(([word, place, factor]) => ({ word: Buffer.from(word), place, factor }));

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
