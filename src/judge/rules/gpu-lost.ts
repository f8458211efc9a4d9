import { formatDuration } from '../../base/duration.ts';
import { count, listed } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import { cardName } from './shared/cards.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpus } from './shared/needs.ts';
import { rule } from './shared/rule.ts';

export default rule({
  id: 'gpu-lost',
  title: 'GPUs that failed',
  help: 'A GPU stopped answering while the job ran, or counted memory errors that could not be corrected.',
  kind: 'trouble',
  order: 200,
  needs: [gpus],
  thresholds: {},
  when({ gpus }) {
    const lost = gpus.filter((g) => g.lost !== undefined);
    const broken = gpus.filter((g) => (g.uncorrected_errors ?? 0) > 0);
    const cards = [...new Set([...lost, ...broken])];
    return cards.length === 0 ? [] : [{ cards, isCounted: broken.length > 0 }];
  },
  severity: 'critical',
  say: ({ cards }) => `${count(cards.length, 'GPU')} failed while the job ran: ${listed(cards.map(cardName))}`,
  evidence: ({ cards }, { job }) =>
    shown(cards).map((g) => ({
      text:
        g.lost !== undefined
          ? `${cardName(g)}: no values after ${formatDuration((g.lost - job.start) / 1e6)}`
          : `${cardName(g)}: ${count(g.uncorrected_errors!, 'uncorrected memory error')}`,
      from: gpuTable.name,
      node: g.node,
      gpu: g.gpu,
    })),
  advise: 'Tell the administrators, and run again without this node (--exclude).',
  confidence: ({ isCounted }) =>
    isCounted ? high('counted by the card itself') : medium('the driver may have stopped answering, not the card'),
});
