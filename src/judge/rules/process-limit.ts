import { formatDuration } from '../../base/duration.ts';
import { count, listed } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { sampleKey, sampleKeyAt } from '../../query/processes/sampled-cpu.ts';
import { hasFailed } from '../../query/processes/set.ts';
import { processEndTable, processTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence } from '../report-schema.ts';
import { high, low, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { recordedEnds } from './shared/processes.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { cpu_limit_seconds, virtual_limit_bytes, file_limit_bytes, virtual_bytes } = processTable.col;
const recorded = processEndTable.col;

type Column = TableColumn<'process', string, 'pid' | 'start'>;

const [KILL, XCPU, XFSZ] = [9, 24, 25];

const thresholds = {
  /** Seconds below its limit of CPU time at which a killed process had reached it: the kernel counts whole seconds. */
  cpu_seconds: 1,
  /** Share of the limit of address space in use when a process failed. */
  space: 0.8,
};

interface Limited {
  node: string;
  /** The program and its pid. */
  who: string;
  what: 'CPU time' | 'file size' | 'address space';
  /** It failed far below the limit that its parent does not have: a large allocation may have been refused. */
  isMaybe?: true;
  limit: number | undefined;
  used: number | undefined;
  /** By the process itself at its end, not by samples. */
  wasRecorded?: boolean;
}

export default rule({
  id: 'process-limit',
  title: 'processes ended by a limit of their own',
  help: 'A process was ended by SIGXCPU or SIGXFSZ, or killed at its limit of CPU time (RLIMIT_CPU). Or it failed with 80 % or more of its address space (RLIMIT_AS) in use. A process that failed far below such a limit is named, with low confidence, when its own parent has no such limit: one large allocation may have been refused. Limits are those that `ulimit` shows; they are inherited from the shell or the scheduler.',
  kind: 'trouble',
  order: 105,
  isExact: true,
  needs: [
    {
      ...recordedEnds,
      what: 'how processes ended (process_end), and their limits',
      columns: [cpu_limit_seconds, virtual_limit_bytes, file_limit_bytes, virtual_bytes],
    },
  ],
  thresholds,
  when(facts, limits) {
    const limited = limitedProcesses(facts, limits);
    return limited.length === 0 ? [] : [limited];
  },
  severity: (limited) => (limited.every(({ isMaybe }) => isMaybe) ? 'info' : 'warning'),
  say(limited) {
    if (limited.every(({ isMaybe }) => isMaybe)) {
      const [{ who, node, what, limit }] = limited as [Limited];
      const others =
        limited.length === 1 ? '' : `, as did ${count(limited.length - 1, 'other process', 'other processes')}`;
      return `${who} on ${node} failed under a limit of ${limitText(what, limit!)} of ${what}${others}: an allocation may have been refused`;
    }
    const whats = [...new Set(limited.map(({ what }) => what))];
    const [{ who, node }] = limited as [Limited];
    const which =
      limited.length === 1 ? `${who} on ${node} was` : `${count(limited.length, 'process', 'processes')} were`;
    return `${which} ended by a limit of ${listed(whats)}`;
  },
  evidence: (limited) =>
    shown(limited).map(
      ({ node, who, what, limit, used, wasRecorded }): Evidence => ({
        text: `${node}: ${who}: ${usedWords(what, used)}, limit ${limit === undefined ? 'not recorded' : limitText(what, limit)}`,
        from:
          what === 'address space'
            ? wasRecorded
              ? named(recorded.virtual_peak_bytes, recorded.virtual_limit_bytes)
              : named(virtual_bytes, virtual_limit_bytes)
            : named(processEndTable.col.exitsignal, what === 'CPU time' ? cpu_limit_seconds : file_limit_bytes),
        node,
        ...(used === undefined ? {} : { value: used }),
        ...(limit === undefined ? {} : { threshold: limit }),
      }),
    ),
  advise(limited) {
    const flags = new Set(limited.map(({ what }) => FLAGS[what]));
    return `Raise the limit in the job’s script before the program starts (ulimit ${[...flags].join(', ulimit ')}), or see who sets it: a login file, the scheduler, the program itself.`;
  },
  confidence: (limited) =>
    limited.some(({ isMaybe }) => isMaybe)
      ? low('it failed far below its limit; whether an allocation was refused is not recorded')
      : limited.some(({ what }) => what === 'address space')
        ? medium('it failed near its limit; whether an allocation did is not known')
        : high('the signal that ended it says so'),
});

const FLAGS = { 'CPU time': '-t', 'file size': '-f', 'address space': '-v' } as const;

const limitText = (what: Limited['what'], value: number): string =>
  what === 'CPU time' ? formatDuration(value) : formatBytes(value);

const usedWords = (what: Limited['what'], used: number | undefined): string =>
  used === undefined ? 'ended by SIGXFSZ' : `${limitText(what, used)} of ${what} used`;

function limitedProcesses(facts: RuleContext, { cpu_seconds, space }: typeof thresholds): Limited[] {
  const set = facts.allProcesses()!;
  const byKey = (column: Column): Map<string, number> =>
    new Map(
      facts
        .statistics(column)
        .map(({ node, keys, statistics }) => [`${node} ${sampleKey(keys.pid, keys.start)}`, statistics.max]),
    );
  const [cpu, files, spaces] = [cpu_limit_seconds, file_limit_bytes, virtual_limit_bytes].map(byKey);
  const virtual = spaces!.size === 0 ? undefined : byKey(virtual_bytes);
  const [ownLimit, ownPeak] = [recorded.virtual_limit_bytes, recorded.virtual_peak_bytes].map(({ name }) =>
    set.metrics.get(name),
  );
  const [limited, maybe]: Limited[][] = [[], []];
  // what the whole job inherited tells nothing of one of its processes
  const hasFreeParent = (i: number): boolean => {
    const parent = set.parent[set.process[i]!]!;
    if (parent < 0) return false;
    if (set.source[parent] === 'record' && ownLimit !== undefined) return Number.isNaN(ownLimit[parent]!);
    const key = `${set.node[parent]} ${sampleKeyAt(set, parent)}`;
    return virtual?.has(key) === true && !spaces!.has(key);
  };
  for (let i = 0; i < set.length; i++) {
    const signal = set.exitsignal[i]!;
    if (!(signal > 0) && !hasFailed(set, i)) continue;
    const node = set.node[i]!;
    const key = `${node} ${sampleKeyAt(set, i)}`;
    const who = `${commandOf(set, i) || 'a process'} (pid ${set.pid[i]})`;
    const used = set.cpu_time[i]! / 1e6;
    const limit = cpu!.get(key);
    const isSpent = limit !== undefined && used >= limit - cpu_seconds;
    if (signal === XCPU || (signal === KILL && isSpent))
      limited!.push({ node, who, what: 'CPU time', limit, used: Number.isNaN(used) ? undefined : used });
    else if (signal === XFSZ) limited!.push({ node, who, what: 'file size', limit: files!.get(key), used: undefined });
    else if (hasFailed(set, i) && signal !== KILL) {
      const wasRecorded = (ownLimit?.[i] ?? 0) > 0 && (ownPeak?.[i] ?? 0) > 0;
      const [most, taken] = wasRecorded ? [ownLimit![i], ownPeak![i]] : [spaces!.get(key), virtual?.get(key)];
      if (most === undefined || taken === undefined) continue;
      const limitedOne: Limited = { node, who, what: 'address space', limit: most, used: taken, wasRecorded };
      if (taken >= space * most) limited!.push(limitedOne);
      else if (hasFreeParent(i)) maybe!.push({ ...limitedOne, isMaybe: true });
    }
  }
  return limited!.length > 0 ? limited! : maybe!;
}
