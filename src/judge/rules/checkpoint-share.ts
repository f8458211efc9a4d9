import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { markerTable } from '../../sources/tables.ts';
import type { Evidence, Facts } from '../report-schema.ts';
import { high } from './shared/confidence.ts';
import { rule } from './shared/rule.ts';

/** Names that people give to writing the state of a program. */
const CHECKPOINT = /check-?point|ckpt|snapshot|restart[-_ ]?(file|dump|write)|save[-_ ]?(state|model)/i;

interface Saving {
  name: string;
  times: number;
  seconds: number;
}

export default rule({
  id: 'checkpoint-share',
  title: 'time spent on checkpoints',
  help: 'Phases or operations that are named after checkpoints (checkpoint, ckpt, snapshot, save-state …) took a tenth of the job’s time or more.',
  kind: 'trouble',
  order: 555,
  needs: [
    {
      what: 'phases or operations named after checkpoints',
      has: (facts) => savingsOf(facts).length > 0,
      otherwise: { skipped: 'no phase or operation is named after checkpoints (tacho mark)' },
    },
  ],
  thresholds: {
    /** Share of the job’s duration that checkpoints took. */
    share: 0.1,
    /** Jobs that ran for fewer seconds are not judged. */
    seconds: 30,
  },
  when(facts, { share, seconds }) {
    const wall = facts.summary.wall_seconds;
    const [most] = savingsOf(facts).sort((a, b) => b.seconds - a.seconds);
    return most === undefined || !(wall >= seconds) || most.seconds < share * wall
      ? []
      : [{ ...most, share: most.seconds / wall }];
  },
  severity: 'advice',
  say: ({ name, times, share }) => `${percent(share)} of the time went into ${count(times, 'checkpoint')} (${name})`,
  evidence: ({ name, times, seconds, share }, { job }, { share: threshold }): Evidence[] => [
    {
      text: `${name}: ${formatDuration(seconds)} total, ${formatDuration(seconds / times)} each${times > 1 ? `, one every ${formatDuration(((job.end ?? Number.NaN) - job.start) / 1e6 / times)}` : ''}`,
      from: markerTable.name,
      value: share,
      threshold,
    },
  ],
  advise:
    'Write checkpoints less often (with a failure every few days, once an hour is enough for most jobs), in the background, to a local disk first, or from fewer and larger files.',
  confidence: high('phases as the job named them'),
});

/** Phases, else operations, by their names without numbers: "checkpoint 3" is a checkpoint. */
function savingsOf({ phases, operations = [] }: Facts): Saving[] {
  const named = phases.filter(({ name }) => CHECKPOINT.test(name));
  if (named.length === 0)
    return operations
      .filter(({ name }) => CHECKPOINT.test(name))
      .map(({ name, runs, seconds }) => ({ name, times: runs, seconds }));
  const groups = Map.groupBy(named, ({ name }) => name.replace(/[\s_#-]*\d+$/, ''));
  return [...groups].map(([name, all]) => ({
    name,
    times: all.length,
    seconds: all.reduce((sum, { seconds }) => sum + seconds, 0),
  }));
}
