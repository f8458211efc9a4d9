import { figure } from '../../base/readable.ts';
import type { ProcessReport } from '../report-schema.ts';
import { ofCpuTime } from './shared/confidence.ts';
import { isGpuJob, isSerial, SERIAL } from './shared/cpu-waiting.ts';
import { busiestEvidence, cpuFrom, idleHours } from './shared/evidence.ts';
import { usedCpus } from './shared/needs.ts';
import { isSlurm } from './shared/request.ts';
import { rule } from './shared/rule.ts';

export default rule({
  id: 'cpu-serial',
  title: 'a serial program on many CPUs',
  help: 'One CPU was busy all the time and the others never: the program runs one thread.',
  kind: 'waste',
  order: 430,
  needs: usedCpus,
  thresholds: SERIAL,
  when(facts, limits) {
    const { cpus, cpus_busy } = facts.summary;
    return cpus! < 2 || !isSerial(facts, limits) || isGpuJob(facts) ? [] : [{ cpus: cpus!, busy: cpus_busy! }];
  },
  severity: 'warning',
  say: ({ cpus }) => `One CPU worked, ${figure(cpus - 1)} stood idle: the program ran as if serial`,
  evidence: ({ cpus, busy }, facts, { to }) => [
    {
      text: `${figure(busy)} CPUs busy on average, of ${figure(cpus)}`,
      from: cpuFrom(facts),
      value: busy,
      threshold: to,
    },
    idleHours(facts, cpus),
    ...busiestEvidence(facts),
  ],
  advise(_, facts) {
    const asked = facts.job.environment.OMP_NUM_THREADS;
    const note = asked === undefined ? '' : ` (OMP_NUM_THREADS was ${asked})`;
    const busiest = facts.processes.reduce(
      (most, p) => (p.cpu_seconds! > (most.cpu_seconds ?? -1) ? p : most),
      {} as Partial<ProcessReport>,
    );
    const threads = busiest.threads_max ?? 1;
    const use =
      threads < 2
        ? `let the program use threads${note}`
        : `see why its ${threads} threads${note} run one at a time (a lock, as Python has one; then use processes)`;
    return `Ask for one CPU${isSlurm(facts) ? ' (#SBATCH --ntasks=1 --cpus-per-task=1)' : ''}, or ${use}.`;
  },
  confidence: (_, facts) => ofCpuTime(facts),
});
