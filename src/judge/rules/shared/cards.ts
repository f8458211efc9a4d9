import { nodeList } from '../../../base/node-list.ts';
import { listed, percent } from '../../../base/readable.ts';
import { gpuTable } from '../../../sources/tables.ts';
import { undivided } from '../../facts/gpus.ts';
import { IDLE_UTILIZATION, isIdle } from '../../facts/stragglers.ts';
import type { Evidence, Facts, GpuReport } from '../../report-schema.ts';
import { shown } from './evidence.ts';
import { named } from './rule.ts';

/** GPUs as findings speak of them. */

export const cardName = (g: GpuReport): string => `${g.node} GPU ${g.gpu}`;

/** Those of the job. */
export const ownCards = ({ gpus }: Facts): GpuReport[] => undivided(gpus).filter((g) => g.own !== false);

/** Those of the job that did something. */
export const workingCards = (facts: Facts, idle = IDLE_UTILIZATION): GpuReport[] =>
  ownCards(facts).filter((g) => !isIdle(g, idle));

/** How busy each of them was. */
export const cardEvidence = (cards: readonly GpuReport[]): Evidence[] =>
  shown(cards).map((g) => ({
    text: `${cardName(g)}: busy ${percent(g.utilization_mean)} of the time`,
    from: named(gpuTable.col.utilization_percent),
    node: g.node,
    gpu: g.gpu,
    value: g.utilization_mean!,
  }));

/** "all of node03", or the cards by name. */
export function cardList(facts: Facts, cards: readonly GpuReport[]): string {
  const nodes = [...new Set(cards.map((g) => g.node))];
  const whole = nodes.every((node) => ownCards(facts).every((g) => g.node !== node || cards.includes(g)));
  return whole && cards.length > nodes.length ? `all of ${nodeList(nodes)}` : listed(cards.map(cardName));
}
