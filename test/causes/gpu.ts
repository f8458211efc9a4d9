import type { Cause } from './cause.ts';

/** Cards of the fake NVIDIA library (test/fake-gpu): what it says of them is the cause. */

/** A card that is well used, for as long as it takes. */
const good = (card: number): string =>
  [`set ${card} use 92`, `set ${card} memory 61440`, `set ${card} reasons 1`, `set ${card} watts 380`].join('\n');

const cards = (count: number, ...more: string[]): string =>
  `${[`cards ${count}`, ...Array.from({ length: count }, (_, card) => good(card)), ...more].join('\n')}\n`;

export const gpuCauses: readonly Cause[] = [
  {
    name: 'GPU idle at the end',
    what: 'a GPU that works for two thirds of the time, and does nothing from then on',
    needs: ['cc'],
    script: 'sleep 80',
    recorded: { gpus: cards(1, 'set 0 use 0 50') },
    must: ['gpu-idle-after-use'],
    may: ['slow-end'],
  },
  {
    name: 'one of two GPUs idle at the end',
    what: 'two GPUs, of which one has nothing to do in the second half',
    needs: ['cc'],
    script: 'sleep 60',
    recorded: { gpus: cards(2, 'set 1 use 0 25') },
    must: ['gpu-idle-after-use'],
    may: ['gpu-imbalance'],
  },
  {
    name: 'one of four GPUs hardly used',
    what: 'four GPUs, of which one is busy for 4 % of the time',
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: cards(4, 'set 2 use 4') },
    must: ['gpu-partly-used'],
    may: ['gpu-imbalance'],
  },
  {
    name: 'GPU too large',
    what: 'a GPU of 80 GiB that is busy for 30 % of the time, with 2 GiB in use',
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: cards(1, 'set 0 use 30', 'set 0 memory 2048') },
    must: ['gpu-overpowered'],
  },
  {
    name: 'PCIe with half of its lanes',
    what: 'a GPU whose PCIe link has 8 of 16 lanes',
    quick: true,
    needs: ['cc'],
    script: 'sleep 3',
    recorded: { gpus: cards(2, 'set 1 lanes 8') },
    must: ['gpu-link'],
  },
  {
    name: 'PCIe of an old generation',
    what: 'a busy GPU whose PCIe link never gets beyond generation 3 of 4',
    needs: ['cc'],
    script: 'sleep 3',
    recorded: { gpus: cards(1, 'set 0 generation 3') },
    must: ['gpu-link'],
  },
  {
    name: 'NVLink down',
    what: 'a GPU of whose four links to other cards one is down',
    needs: ['cc'],
    script: 'sleep 3',
    recorded: { gpus: cards(2, 'set 0 links 3') },
    must: ['gpu-link'],
  },
  {
    name: 'GPU memory errors, corrected',
    what: 'a GPU that corrects hundreds of memory errors',
    needs: ['cc'],
    script: 'sleep 10',
    recorded: { gpus: cards(1, 'set 0 corrected 400 2') },
    must: ['gpu-errors'],
  },
  {
    name: 'GPU memory errors, not corrected',
    what: 'a GPU with a memory error that could not be corrected',
    needs: ['cc'],
    script: 'sleep 10',
    recorded: { gpus: cards(1, 'set 0 uncorrected 2 2') },
    must: ['gpu-lost'],
  },
  {
    name: 'four good GPUs',
    what: 'four GPUs that are all well used',
    healthy: true,
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: cards(4) },
    must: [],
  },
  {
    name: 'GPU with a link that rests',
    what: 'a GPU that is well used, and lowers its PCIe generation when it has a moment of rest',
    healthy: true,
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: cards(1, 'set 0 generation 1 10', 'set 0 generation 4 14', 'set 0 corrected 8 10') },
    must: [],
  },
  {
    name: 'GPU with a short end',
    what: 'a GPU that works until the last seconds of the job, in which results are written',
    healthy: true,
    needs: ['cc'],
    script: 'sleep 40',
    recorded: { gpus: cards(1, 'set 0 use 0 37') },
    must: [],
  },
];
