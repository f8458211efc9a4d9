import { cpusFigure, figure, listed } from '../../base/readable.ts';
import { processEndTable, processTable } from '../../sources/tables.ts';
import type { NodeReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import {
  busyOn,
  hasWaitRecord,
  isBound,
  isFullOfOthers,
  isHeldUp,
  isOwnCrowd,
  isThrottled,
  isUndisturbed,
  neighbourEvidence,
  neighbourName,
  othersEvidence,
  WAITING,
  waitEvidence,
  waitedShare,
} from './shared/cpu-waiting.ts';
import { shown } from './shared/evidence.ts';
import { rule, SHORT_JOB_SECONDS } from './shared/rule.ts';

export default rule({
  id: 'cpu-starved',
  title: 'waiting for CPUs that others used',
  help: 'The job’s threads were ready to run and had no CPU in a quarter of the time or more. Less than 90 % of its CPUs worked for it, though it wanted at least half of them. Neither a quota nor its own binding explains that, nor that its own threads wanted more CPUs than it has: others used them, a tenth of them or more. Programs of others are named as far as /proc shows them. A job of less than 5 s, or that waited for less than 3 s in total, is not judged.',
  kind: 'trouble',
  order: 400,
  needs: [
    {
      what: 'the waiting of processes, or the pressure in the job’s own cgroup',
      columns: [processEndTable.col.time_waiting, processTable.col.wait_ms],
      has: ({ nodes }) => nodes.some(hasWaitRecord),
      otherwise: ({ summary }) =>
        summary.wall_seconds < SHORT_JOB_SECONDS
          ? { skipped: 'the waiting of its processes was not recorded, and the job was short' }
          : {
              unmeasurable:
                'neither the waiting of the job’s processes nor the pressure in a cgroup of its own was recorded',
            },
    },
  ],
  thresholds: {
    ...WAITING,
    /** Jobs that ran for fewer seconds are not judged. */
    seconds: 5,
    /** Seconds that its threads waited for a CPU in total. */
    waited_seconds: 3,
  },
  when({ nodes, summary }, limits) {
    if (summary.wall_seconds < limits.seconds) return { skipped: 'the job was too short to tell' };
    const isHeld = (n: NodeReport): boolean =>
      hasWaitRecord(n) &&
      isHeldUp(n, limits) &&
      (n.cpu_wait_seconds ?? Number.POSITIVE_INFINITY) >= limits.waited_seconds &&
      !isThrottled(n, limits) &&
      !isBound(n, limits) &&
      !isOwnCrowd(n, limits) &&
      !isUndisturbed(n, limits);
    const held = nodes.filter(isHeld);
    if (held.length === 0) return [];
    const isFull = held.every((n) => isFullOfOthers(n, limits));
    return [{ held, isFull, isCounted: held.every((n) => waitedShare(n) !== undefined) }];
  },
  severity: 'warning',
  say({ held, isFull }) {
    const had = held.reduce((sum, n) => sum + busyOn(n), 0);
    const cpus = held.reduce((sum, n) => sum + n.cpus!, 0);
    const where = listed(held.map((n) => n.node));
    const who = held.flatMap(({ neighbours = [] }) => neighbours).sort((a, b) => b.cpu_seconds - a.cpu_seconds)[0];
    const most = who === undefined ? '' : `, most of all ${neighbourName(who)}`;
    return isFull
      ? `The job waited for CPUs on ${where}: others used them${most}; it had ${cpusFigure(had)} of ${figure(cpus)}`
      : `The job waited for CPUs on ${where}, and had ${cpusFigure(had)} of ${figure(cpus)}`;
  },
  evidence: ({ held }, _, limits) =>
    shown(held).flatMap((n) => [waitEvidence(n, limits), ...othersEvidence(n, limits), ...neighbourEvidence(n)]),
  advise: ({ isFull }) =>
    isFull
      ? 'Asking for fewer CPUs would not help: run where nobody else uses them (an exclusive node, or CPUs that the scheduler binds jobs to), and tell the administrators that this node is overbooked.'
      : 'Others used the same CPUs, or more threads than CPUs wanted to run at the same moments: see what else ran on the node, and start no more threads than there are CPUs.',
  confidence({ isFull, isCounted }) {
    if (!isFull) return medium('not all CPUs of the node were busy: it is not known who used those of the job');
    return isCounted
      ? high('the kernel counted how long its threads waited')
      : medium('by the pressure in the job’s own cgroup');
  },
});
