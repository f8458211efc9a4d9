import { edgeRule } from './shared/edge-rule.ts';

export default edgeRule('start', {
  order: 331,
  advise:
    'See what the job does first: loading modules and libraries from a slow file system, downloading or unpacking data, waiting for a licence or for other nodes, compiling. Do it before the job, in a smaller job of its own, or on all CPUs.',
});
