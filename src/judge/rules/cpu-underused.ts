import { count, cpusFigure, figure, listed, percent } from '../../base/readable.ts';
import { low, ofCpuTime } from './shared/confidence.ts';
import {
  HELD_UP,
  hasWaited,
  isGpuJob,
  isHeldUp,
  isMaybeStarved,
  isSerial,
  SERIAL,
  waitEvidence,
  wantedCpus,
} from './shared/cpu-waiting.ts';
import { cpuFrom, idleHours, shown } from './shared/evidence.ts';
import { usedCpus } from './shared/needs.ts';
import { isSlurm } from './shared/request.ts';
import { rule } from './shared/rule.ts';

export default rule({
  id: 'cpu-underused',
  title: 'CPUs that were asked for and not used',
  help: 'The job kept less than 65 % of its CPUs busy, one CPU included. What its threads wanted and did not get counts as used: then it waited for CPUs, which has a finding of its own. Jobs with GPUs are reported only below 25 %, and only as information.',
  kind: 'waste',
  order: 420,
  needs: usedCpus,
  thresholds: {
    /** Share of the CPUs that were busy, below which there is a finding. */
    low: 0.65,
    /** Share of the CPUs that were busy, below which it is a warning. */
    very_low: 0.25,
    ...HELD_UP,
    ...SERIAL,
  },
  when(facts, limits) {
    const { low, very_low } = limits;
    const { cpu_utilization: used, cpus_busy: busy, cpus_measured: measured } = facts.summary;
    if (isSerial(facts, limits)) return { skipped: 'the job is serial, which has a finding of its own' };
    const least = isGpuJob(facts) ? very_low : low;
    if (used! >= least) return [];
    // what was not measured may have been busy: nothing is said of it
    const unmeasured = facts.nodes.filter((n) => n.cpu_utilization === undefined).map((n) => n.node);
    const cpus = unmeasured.length === 0 ? facts.summary.cpus! : measured!;
    const needed = wantedCpus(facts) ?? busy!;
    const heldUp = facts.nodes.filter((n) => isHeldUp(n, limits));
    const isWaiting = heldUp.length === facts.nodes.length || (needed === busy && heldUp.length > 0);
    if (needed >= least * cpus || isWaiting)
      return { skipped: 'the job’s CPUs were not idle: it waited for them, which has a finding of its own' };
    return [
      {
        used: used!,
        busy: busy!,
        least,
        cpus,
        unmeasured,
        which: unmeasured.length === 0 ? '' : ' that were measured',
        enough: Math.max(1, Math.ceil(needed * 1.1)),
        waited: facts.nodes.filter((n) => hasWaited(n, limits) && !isHeldUp(n, limits)),
        isUnsure: isMaybeStarved(facts, limits),
      },
    ];
  },
  severity({ isUnsure, used, cpus }, facts, { very_low }) {
    if (isGpuJob(facts) || isUnsure) return 'info';
    // nobody can ask for less than one CPU
    return used < very_low && cpus > 1 ? 'warning' : 'advice';
  },
  say: ({ busy, cpus, which, used }) =>
    `${cpusFigure(busy)} of ${count(cpus, 'CPU')}${which} ${cpus === 1 ? 'was' : 'were'} busy on average (${percent(used)})`,
  evidence: ({ used, least, cpus, which, waited, unmeasured }, facts, limits) => [
    {
      text: `CPU utilisation ${percent(used)} of the ${which === '' ? 'allocation' : `CPUs${which}`}`,
      from: cpuFrom(facts),
      value: used,
      threshold: least,
    },
    idleHours(facts, cpus),
    ...shown(waited).map((n) => waitEvidence(n, limits)),
    ...(which === '' ? [] : [{ text: `not measured: ${listed(unmeasured)}`, from: cpuFrom(facts) }]),
  ],
  advise({ isUnsure, enough, cpus, unmeasured, waited }, facts) {
    if (isUnsure)
      return 'See what else ran on the node before you ask for fewer CPUs. In a cgroup of its own, or with processes that record themselves (tacho env), a job’s waiting is known.';
    const { nodes } = facts.summary;
    const each = unmeasured.length > 0 ? ' for these nodes' : nodes > 1 ? ' in total' : '';
    if (isGpuJob(facts))
      return `The GPUs may need them for short bursts${enough < cpus ? `; if not, ${count(enough, 'CPU')}${each} would do` : ''}.`;
    const option = isSlurm(facts) && nodes === 1 ? ` (#SBATCH --cpus-per-task=${enough} for one task)` : '';
    if (enough < cpus)
      return `Ask for ${count(enough, 'CPU')}${each}${option}, or use them: more threads or ranks, and check that they are not all bound to the same CPUs.`;
    if (cpus <= 1)
      return `The program waited ${waited.length > 0 ? 'most of the time ' : ''}for something else than a CPU: files, the network, another program or a fixed time. Look at what that is; if it has to be so, run several of them in one job, or where jobs share CPUs.`;
    return `Fewer than ${figure(cpus)} would not do: at times it used more than ${figure(enough - 1)}. Divide the work more evenly, or see what its threads wait for: locks, each other, files.`;
  },
  confidence: ({ isUnsure }, facts) =>
    isUnsure
      ? low('others kept all CPUs of the node busy: whether the job waited for them is not known')
      : ofCpuTime(facts),
});
