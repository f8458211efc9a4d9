import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { userNames } from '../../sources/host/user-names.ts';
import type { Host } from '../../sources/host.ts';
import { processTable } from '../../sources/process/table.ts';
import { processView } from '../../sources/process/view.ts';
import { type SourceKind, watched } from '../../sources/source.ts';

/** Of very many processes those that have gone are forgotten now and then. */
const MANY = 4096;
const LONGEST = 200;
const MOST = 20;

export type Remembered = ReturnType<typeof rememberProcesses>;

/** Remembers which processes a job had, so that those that outlive it can be named, whoever their parent is by then. */
export function rememberProcesses(kind: SourceKind, host: Host) {
  /** By pid: when it started, as the kernel has it. */
  const startTimes = new Map<number, string>();
  let lastSeen: number | undefined;
  let threshold = MANY;
  const forgetGone = (): void => {
    for (const [pid, started] of startTimes) if (startOf(host, pid) !== started) startTimes.delete(pid);
  };
  return {
    /** The kind that tells the job's processes, which are remembered as they are read. */
    kind: watched(kind, (frame, first) => {
      if (frame.rows > first) lastSeen = frame.time;
      for (let row = first; row < frame.rows; row++) {
        const pid = Number(frame.texts[row * frame.textWidth + processTable.at.pid]);
        if (startTimes.has(pid)) continue;
        const started = startOf(host, pid);
        if (started !== undefined) startTimes.set(pid, started);
      }
      if (startTimes.size < threshold) return;
      forgetGone();
      threshold = Math.max(MANY, startTimes.size * 2);
    }),
    /** When the job was last seen to have a process, in epoch microseconds. */
    get lastSeen() {
      return lastSeen;
    },
    /** Whether a process was seen as the job's. */
    has: (pid: number): boolean => startTimes.has(pid),
    /** Whether any of them is still there. */
    isAny: (): boolean => [...startTimes].some(([pid, started]) => startOf(host, pid) === started),
    /**
     * Processes of the job that are still there; of them those that began after process `pid` did, without those that
     * end the recording: `time tacho stop | tee log` is three.
     */
    alive(redact: boolean, pid?: number): NonNullable<AgentRecord['left_running']> {
      forgetGone();
      const since = Number((pid !== undefined && startOf(host, pid)) || -1);
      const later = [...startTimes].flatMap(([pid, started]) => (Number(started) > since ? pid : []));
      if (later.length === 0) return [];
      const ending = pid === undefined ? new Set<number>() : endRecording(host, since, later);
      const left = later.filter((each) => !ending.has(each));
      if (left.length === 0) return [];
      const userName = userNames(host);
      return left.slice(0, MOST).map((pid) => {
        const status = host.text(`/proc/${pid}/status`) ?? '';
        const name = /^Name:\s*(.*)$/m.exec(status)?.[1] ?? '';
        const line = redact ? '' : (host.text(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
        return {
          pid,
          command: Buffer.from(line || name, 'latin1')
            .toString('utf8')
            .slice(0, LONGEST),
          user: userName(Number(/^Uid:\s*(\d+)/m.exec(status)?.[1] ?? Number.NaN)),
        };
      });
    },
  };
}

/** Those of the processes that wait for a `tacho stop` that began after `since`, or read what it prints. */
function endRecording(host: Host, since: number, pids: readonly number[]): Set<number> {
  const view = processView(host);
  const ancestors = new Set<number>();
  const written = new Set<string>();
  for (const pid of view.pids()) {
    const origin = view.origin(pid);
    if (origin === undefined || origin.start <= since || view.variable(pid, 'TACHO_OWN') === undefined) continue;
    if (host.text(`/proc/${pid}/cmdline`)?.split('\0').includes('stop') !== true) continue;
    for (const pipe of outputs(host, pid)) written.add(pipe);
    for (let above = origin.parent; above > 1; above = view.origin(above)?.parent ?? 0) ancestors.add(above);
  }
  // a reader may have a reader in turn
  for (let before = -1; before !== ancestors.size; ) {
    before = ancestors.size;
    for (const pid of pids) {
      if (ancestors.has(pid) || !written.has(pipeAt(host, pid, 0) ?? '')) continue;
      ancestors.add(pid);
      for (const pipe of outputs(host, pid)) written.add(pipe);
    }
  }
  return ancestors;
}

const outputs = (host: Host, pid: number): string[] => [1, 2].flatMap((fd) => pipeAt(host, pid, fd) ?? []);

function pipeAt(host: Host, pid: number, fd: number): string | undefined {
  const link = host.link(`/proc/${pid}/fd/${fd}`);
  return link?.startsWith('pipe:') ? link : undefined;
}

/** Undefined: it has gone; one that has ended and was not collected yet counts as gone. */
function startOf(host: Host, pid: number): string | undefined {
  const stat = host.text(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}
