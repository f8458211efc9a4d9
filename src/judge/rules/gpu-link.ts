import { figure, listed } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import { cardName, ownCards } from './shared/cards.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpus, ownGpus } from './shared/needs.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { pcie_width, pcie_width_max, pcie_generation, pcie_generation_max, links_up, links } = gpuTable.col;

type Column = TableColumn<'gpu', string, 'gpu'>;

/** A link of a card that is slower than it could be. */
interface SlowLink {
  card: GpuReport;
  what: 'lanes' | 'generation' | 'links';
  now: number;
  most: number;
}

export default rule({
  id: 'gpu-link',
  title: 'links of GPUs below their speed',
  help: 'A GPU’s PCIe link had fewer lanes than card and slot can do all the time; or a card that worked never reached the generation that both can do; or NVLink or xGMI links were down. Cards lower the generation while they are idle, so that is reported only of cards that worked.',
  kind: 'trouble',
  order: 245,
  needs: [
    gpus,
    ownGpus,
    {
      what: 'the width or generation of PCIe, or the state of links',
      columns: [pcie_width, pcie_width_max, pcie_generation, pcie_generation_max, links_up, links],
      has: (facts) => [pcie_width, pcie_generation, links_up].some((column) => facts.statistics(column).length > 0),
      otherwise: { skipped: 'the cards do not say how fast their links are' },
    },
  ],
  thresholds: {
    /** Utilisation (0 to 1) in the busiest 5 % of the samples, from which a GPU needed the full speed of its link. */
    busy: 0.3,
  },
  when(facts, { busy }) {
    const slow = ownCards(facts).flatMap((card): SlowLink[] => {
      const { node, gpu, utilization_p95 = 0 } = card;
      const isBusy = utilization_p95 >= busy;
      const of = (top: Column, reached: Column, what: SlowLink['what']): SlowLink[] => {
        const [most, now] = [top, reached].map((each) => highest(facts, each, node, gpu));
        return most === undefined || now === undefined || now >= most ? [] : [{ card, what, now, most }];
      };
      return [
        ...of(pcie_width_max, pcie_width, 'lanes'),
        ...(isBusy ? of(pcie_generation_max, pcie_generation, 'generation') : []),
        ...of(links, links_up, 'links'),
      ];
    });
    return slow.length === 0 ? [] : [slow];
  },
  severity: (slow) => (slow.every(({ what }) => what === 'generation') ? 'advice' : 'warning'),
  say(slow) {
    const cards = [...new Set(slow.map(({ card }) => cardName(card)))];
    const [first] = slow as [SlowLink];
    return `${cards.length === 1 ? 'A GPU has a link' : `${cards.length} GPUs have links`} below its speed: ${listed(cards)}, ${linkText(first)}`;
  },
  evidence: (slow) =>
    shown(slow).map(
      (link): Evidence => ({
        text: `${cardName(link.card)}: ${linkText(link)}`,
        from: named(link.what === 'lanes' ? pcie_width : link.what === 'generation' ? pcie_generation : links_up),
        node: link.card.node,
        gpu: link.card.gpu,
        value: link.now,
        threshold: link.most,
      }),
    ),
  advise:
    'Tell the administrators: a card that is badly seated, a riser or a bridge that is broken, or a setting of the firmware slows transfers down. Until then leave these nodes out for work that moves much data (--exclude).',
  confidence: (slow) =>
    slow.some(({ what }) => what !== 'generation')
      ? high('read from the card itself')
      : medium('the card may not have needed more'),
});

function highest(facts: RuleContext, column: Column, node: string, gpu: string): number | undefined {
  return facts.statistics(column, { gpu }).find((each) => each.node === node)?.statistics.max;
}

function linkText({ what, now, most }: SlowLink): string {
  if (what === 'lanes') return `PCIe with ${figure(now)} of ${figure(most)} lanes`;
  if (what === 'generation') return `PCIe generation ${figure(now)} instead of ${figure(most)}`;
  return `${figure(now)} of ${figure(most)} links to other cards are up`;
}
