import { count, cpusFigure, listed } from '../../base/readable.ts';
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
} from './shared/ranks.ts';
import { rule, together } from './shared/rule.ts';

interface Bound extends CrowdedRanks {
  /** As a list, and how many; the job has more there. */
  list: string;
  cpus: number;
  all: number;
}

export default rule({
  id: 'rank-binding',
  title: 'ranks bound to the same CPUs',
  help: 'Several ranks on a node were bound to the same CPUs, wanted 1.25 times as many and waited for them, while the job has other CPUs there.',
  kind: 'trouble',
  order: 412,
  needs: [
    recordedRanks,
    {
      what: 'where ranks may run',
      has: (facts) => facts.worlds().some(({ ranks }) => ranks.some(({ allowed_cpus }) => allowed_cpus !== '')),
      otherwise: { skipped: 'ranks were too short to be sampled, so that where they may run is not known' },
    },
  ],
  thresholds: CROWDED,
  when(facts, limits) {
    const cpusOn = new Map(facts.nodes.map(({ node, cpus }) => [node, cpus]));
    const bound = facts.worlds().flatMap((world) =>
      [...ranksByNode(world)].flatMap(([node, ranks]) => {
        const all = cpusOn.get(node);
        return [...Map.groupBy(ranks, ({ allowed_cpus }) => allowed_cpus)].flatMap(([list, same]): Bound[] => {
          const cpus = cpusOfRanks(same);
          if (cpus === undefined || all === undefined || cpus >= all) return [];
          const crowd = crowdOf(world, same, limits);
          return crowd !== undefined && isCrowd(crowd, cpus, limits) ? [{ ...crowd, list, cpus, all }] : [];
        });
      }),
    );
    return together(bound.sort(byCrowd));
  },
  severity: 'warning',
  say(bound) {
    const [{ world, ranks, node, list, cpus, all }] = bound as [Bound];
    const nodes = [...new Set(bound.map((each) => each.node))];
    const more = nodes.length === 1 ? '' : ` (and likewise on ${listed(nodes.slice(1))})`;
    const some = someRanks(world, ranks.length);
    return `${some[0]!.toUpperCase()}${some.slice(1)} are bound to ${cpus === 1 ? 'CPU' : 'CPUs'} ${list} of ${node}, where the job has ${count(all, 'CPU')}${more}`;
  },
  evidence: (bound, _, limits) =>
    shown(bound, 4).flatMap(({ list, cpus, ...crowd }) => [
      {
        text: `${crowd.node}: ranks ${listed(
          crowd.ranks.map(({ rank }) => String(rank)),
          8,
        )} may run on CPUs ${list} only, and wanted ${cpusFigure(crowd.wanted)} CPUs`,
        from: BOUND_FROM,
        node: crowd.node,
        value: crowd.wanted,
        threshold: limits.wanted * cpus,
      },
      crowdEvidence(crowd, limits),
    ]),
  advise:
    'Give every rank CPUs of its own: mpirun --bind-to core --map-by core (or --bind-to none), srun --cpu-bind=cores, no taskset around mpirun. Two mpiruns on one node must not both bind from its first CPU on.',
  confidence: (bound) =>
    surenessOfCrowds(bound, 'the kernel says where they may run, and counted how long they waited'),
});
