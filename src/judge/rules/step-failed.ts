import { listed } from '../../base/readable.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { rule, together } from './shared/rule.ts';
import { hasOwnRule, stepEnd, stepName } from './shared/steps.ts';

export default rule({
  id: 'step-failed',
  title: 'how the steps ended',
  help: 'A step of the job (srun) failed, reached its time limit or lost a node, however the job ended.',
  kind: 'trouble',
  order: 120,
  isExact: true,
  needs: [
    {
      what: 'the job’s steps, from the scheduler',
      has: ({ job }) => job.steps !== undefined,
      otherwise: { skipped: 'the job has no steps, or it is not known how they ended' },
    },
  ],
  thresholds: {},
  when({ job }) {
    // those that memory ended are told with that
    return together((job.failed_steps ?? []).filter(({ state }) => state !== 'out_of_memory'));
  },
  // a job that ended badly itself says so already
  severity: (_, { job }) => (hasOwnRule(job.state) || job.state === 'failed' ? 'info' : 'warning'),
  say: (failed, { job }) =>
    failed.length === 1
      ? `Step ${stepName(failed[0]!)} ${stepEnd(failed[0]!)}`
      : `${failed.length} of ${job.steps} steps failed: ${listed(failed.map(stepName))}`,
  evidence: (failed) =>
    shown(failed).map((step) => ({ text: `step ${stepName(step)} ${stepEnd(step)}`, from: 'scheduler' })),
  advise: (failed, { confined }) =>
    `The job’s own output says more${confined === undefined ? `; tacho report --step ${failed[0]!.id} shows what it did` : ''}.`,
  confidence: high('said by the scheduler'),
});
