import { smallest } from '../../base/extremes.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import { IDLE_UTILIZATION, isIdle } from '../facts/stragglers.ts';
import { cardName, ownCards } from './shared/cards.ts';
import { medium, sampled } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpuUtilization } from './shared/needs.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'gpu-unused',
  title: 'GPUs that did nothing',
  help: 'A GPU of the job stayed below 1 % utilisation, also in its busiest twentieth of the time.',
  kind: 'waste',
  order: 210,
  needs: gpuUtilization,
  thresholds: {
    /** Utilisation (0 to 1) below which a GPU did nothing. */
    idle: IDLE_UTILIZATION,
  },
  when(facts, limits) {
    const cards = ownCards(facts);
    const idle = cards.filter((g) => isIdle(g, limits.idle));
    const asked = facts.job.asked.gpus;
    // a node may show more cards than the job was given: only those that it must have had are held against it
    const certain =
      asked === undefined ? idle.length : Math.min(idle.length, Math.max(0, asked - (cards.length - idle.length)));
    return certain === 0 ? [] : [{ idle, certain, all: asked ?? cards.length }];
  },
  severity: 'warning',
  say({ idle, certain, all }) {
    if (all === certain) return `${certain === 1 ? 'The GPU was' : `All ${certain} GPUs were`} never used`;
    const which = certain === idle.length ? `: ${listed(idle.map(cardName))}` : '';
    return `${certain} of ${all} GPUs ${certain === 1 ? 'was' : 'were'} never used${which}`;
  },
  evidence({ idle, certain }, _, { idle: threshold }) {
    const seconds = idle.reduce((sum, g) => sum + g.recorded_seconds, 0);
    const hours = (certain * seconds) / idle.length / 3600;
    return [
      ...shown(idle).map((g) => ({
        text: `${cardName(g)}: mean ${percent(g.utilization_mean)}, at most ${percent(g.utilization_max)} busy`,
        from: named(gpuTable.col.utilization_percent),
        node: g.node,
        gpu: g.gpu,
        value: g.utilization_mean!,
        threshold,
      })),
      { text: `${figure(hours)} GPU-hours unused`, from: 'job.json' },
    ];
  },
  advise: ({ certain, all }) =>
    all === certain
      ? 'Ask for no GPU, or check that the program was built for GPUs and finds them (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES).'
      : `Ask for ${count(all - certain, 'GPU')}, or start one process for each (srun --ntasks=${all}) and check which card each one takes.`,
  confidence: ({ idle }, facts) =>
    facts.job.asked.gpus !== undefined || idle.every((g) => g.own === true)
      ? sampled(smallest(idle.map((g) => g.samples)))
      : medium('it is not known which of the cards were the job’s'),
});
