import { count, cpusFigure, figure, listed } from '../../base/readable.ts';
import type { NodeReport } from '../report-schema.ts';
import { shown } from './shared/evidence.ts';
import {
  BOUND_FROM,
  byCrowd,
  CROWDED,
  type CrowdedRanks,
  cpusOfRanks,
  crowdEvidence,
  crowdOf,
  isCrowd,
  ranksByNode,
  recordedRanks,
  someRanks,
  surenessOfCrowds,
  WAIT_FROM,
} from './shared/ranks.ts';
import { rule, together } from './shared/rule.ts';

interface Oversubscribed extends CrowdedRanks {
  cpus: number;
}

export default rule({
  id: 'rank-oversubscribed',
  title: 'more ranks than CPUs',
  help: 'The ranks on a node, with their threads, wanted 1.25 times the CPUs that the job has there. They waited for a CPU in a quarter of the time in which they were ready to run.',
  kind: 'trouble',
  order: 442,
  needs: [recordedRanks],
  thresholds: CROWDED,
  when(facts, limits) {
    const cpusOn = new Map(facts.nodes.map((node: NodeReport) => [node.node, node.cpus]));
    const crowded = facts.worlds().flatMap((world) =>
      [...ranksByNode(world)].flatMap(([node, ranks]): Oversubscribed[] => {
        const crowd = crowdOf(world, ranks, limits);
        const cpus = cpusOn.get(node) ?? cpusOfRanks(ranks);
        if (crowd === undefined || cpus === undefined) return [];
        return isCrowd(crowd, cpus, limits) ? [{ ...crowd, cpus }] : [];
      }),
    );
    return together(crowded.sort(byCrowd));
  },
  severity: 'warning',
  say(crowded) {
    const [{ world, ranks, node, wanted, cpus }] = crowded as [Oversubscribed];
    const nodes = [...new Set(crowded.map((each) => each.node))];
    const where = nodes.length === 1 ? node : `${node} (and on ${listed(nodes.slice(1))})`;
    const threads = Math.round(wanted / ranks.length);
    const each = threads > 1 ? ` × ${threads} busy threads` : '';
    return `Too many ranks: ${someRanks(world, ranks.length)}${each} ran on ${count(cpus, 'CPU')} of ${where}`;
  },
  evidence: (crowded, _, limits) =>
    shown(crowded, 4).flatMap(({ cpus, ...crowd }) => [
      {
        text: `${crowd.node}: ${count(crowd.ranks.length, 'rank')} wanted ${cpusFigure(crowd.wanted)} CPUs, the job has ${figure(cpus)} there`,
        from: WAIT_FROM,
        node: crowd.node,
        value: crowd.wanted,
        threshold: limits.wanted * cpus,
      },
      crowdEvidence(crowd, limits),
      ...crowd.ranks
        .slice(0, 1)
        .flatMap(({ rank, allowed_cpus, node }) =>
          allowed_cpus === ''
            ? []
            : [{ text: `${node}: rank ${rank} may run on CPUs ${allowed_cpus}`, from: BOUND_FROM, node }],
        ),
    ]),
  advise:
    'Start no more ranks × threads than there are CPUs: fewer ranks (mpirun -n, srun --ntasks), OMP_NUM_THREADS=1, or more CPUs. Ranks that wait in MPI calls take the CPU from those that work.',
  confidence: (crowded) => surenessOfCrowds(crowded, 'the kernel counted how long their threads waited'),
});
