import { edgeRule } from './shared/edge-rule.ts';

export default edgeRule('end', {
  order: 333,
  advise:
    'See what the job does last: writing results from one process, copying or packing files, waiting for one straggler. Do it in a smaller job of its own that begins when this one ends, or in parallel.',
});
