import { count, figure, listed } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence, GpuReport } from '../report-schema.ts';
import { cardName, ownCards } from './shared/cards.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { gpus, ownGpus } from './shared/needs.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { ecc_corrected, retired_pages, remapped_rows, remap_failed, pcie_replays } = gpuTable.col;

const COUNTED = [ecc_corrected, retired_pages, remapped_rows, remap_failed, pcie_replays];

const thresholds = {
  /** Corrected memory errors per hour; single ones come from cosmic rays. */
  corrected_per_hour: 100,
  /** Corrected memory errors of a GPU in total. */
  corrected: 10,
  /** PCIe packets sent again per hour. */
  replays_per_hour: 1000,
  /** PCIe packets sent again in total. */
  replays: 100,
};

type Column = TableColumn<'gpu', string, 'gpu'>;

interface Fault {
  card: GpuReport;
  column: Column;
  value: number;
  text: string;
  /** Only the rate makes it worth a word. */
  isMany?: true;
}

export default rule({
  id: 'gpu-errors',
  title: 'errors that GPUs corrected',
  help: 'While the job ran, a GPU corrected many memory errors (more than 10, and 100 an hour), or retired pages or remapped rows of its memory. Or it could not remap a row, or sent many PCIe packets again (more than 100, and 1,000 an hour). gpu-lost reports errors that could not be corrected.',
  kind: 'trouble',
  order: 205,
  needs: [
    gpus,
    ownGpus,
    {
      what: 'counted errors',
      columns: COUNTED,
      has: (facts) => COUNTED.some((column) => facts.statistics(column).length > 0),
      otherwise: { skipped: 'the cards count no errors' },
    },
  ],
  thresholds,
  when(facts, limits) {
    const faults = ownCards(facts).flatMap((card) => faultsOf(facts, card, limits));
    return faults.length === 0 ? [] : [faults];
  },
  severity: (faults) => (faults.every(({ isMany }) => isMany) ? 'advice' : 'warning'),
  say(faults) {
    const cards = [...new Set(faults.map(({ card }) => cardName(card)))];
    return `${count(cards.length, 'GPU')} had errors: ${listed(cards)}, ${faults[0]!.text}`;
  },
  evidence: (faults) =>
    shown(faults).map(
      ({ card, column, value, text }): Evidence => ({
        text: `${cardName(card)}: ${text}`,
        from: named(column),
        node: card.node,
        gpu: card.gpu,
        value,
      }),
    ),
  advise:
    'Results are right: the card corrected them. Tell the administrators, as such cards fail more often; a reset of the card takes retired memory out of use.',
  confidence: high('counted by the card itself'),
});

function faultsOf(facts: RuleContext, card: GpuReport, limits: typeof thresholds): Fault[] {
  const hours = Math.max(card.recorded_seconds, 1) / 3600;
  const of = (column: Column) =>
    facts.statistics(column, { gpu: card.gpu }).find(({ node }) => node === card.node)?.statistics;
  const faults: Fault[] = [];
  const add = (column: Column, value: number, text: string, isMany = false): void => {
    faults.push({ card, column, value, text, ...(isMany ? { isMany } : {}) });
  };
  if ((of(remap_failed)?.max ?? 0) > 0)
    add(remap_failed, 1, 'a row of its memory could not be replaced by a spare one');
  for (const [column, what] of [
    [retired_pages, 'page of its memory retired'],
    [remapped_rows, 'row of its memory remapped'],
  ] as const) {
    const faultCounts = of(column);
    const more = faultCounts === undefined ? 0 : faultCounts.last - faultCounts.first;
    if (more > 0) add(column, more, `${figure(more)} more ${more === 1 ? what : what.replace(' of', 's of')}`);
  }
  const corrected = of(ecc_corrected)?.increase ?? 0;
  if (corrected > limits.corrected && corrected / hours > limits.corrected_per_hour)
    add(ecc_corrected, corrected, `${count(corrected, 'corrected memory error')}`, true);
  const replays = of(pcie_replays)?.increase ?? 0;
  if (replays > limits.replays && replays / hours > limits.replays_per_hour)
    add(pcie_replays, replays, `${count(replays, 'PCIe packet')} sent again`, true);
  return faults;
}
