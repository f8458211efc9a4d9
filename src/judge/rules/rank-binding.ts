import { count, cpusFigure, listed, percent } from '../../base/words.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import {
  BOUND_FROM,
  CROWDED,
  type CrowdedRanks,
  cpusOfRanks,
  crowdOf,
  hasLeftRecord,
  knownRanks,
  ranksByNode,
  someRanks,
  WAIT_FROM,
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
  help: 'Several ranks on a node may run on the same CPUs only, wanted more than these (1.25 times as many) and waited for them, while the job has other CPUs there.',
  kind: 'trouble',
  order: 412,
  needs: [
    knownRanks,
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
          if (crowd === undefined || crowd.wanted <= limits.wanted * cpus || crowd.waited < limits.waited) return [];
          return [{ ...crowd, list, cpus, all }];
        });
      }),
    );
    return together(bound.sort((a, b) => b.wanted / b.cpus - a.wanted / a.cpus));
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
    shown(bound, 4).flatMap(({ node, ranks, list, cpus, wanted, waited }) => [
      {
        text: `${node}: ranks ${listed(
          ranks.map(({ rank }) => String(rank)),
          8,
        )} may run on CPUs ${list} only, and wanted ${cpusFigure(wanted)} CPUs`,
        from: BOUND_FROM,
        node,
        value: wanted,
        threshold: limits.wanted * cpus,
      },
      {
        text: `${node}: they waited for a CPU ${percent(waited)} of the time in which they were ready to run`,
        from: WAIT_FROM,
        node,
        value: waited,
        threshold: limits.waited,
      },
    ]),
  advise:
    'Give every rank CPUs of its own: mpirun --bind-to core --map-by core (or --bind-to none), srun --cpu-bind=cores, no taskset around mpirun. Two mpiruns on one node must not both bind from its first CPU on.',
  confidence: (bound) =>
    bound.every(({ ranks }) => ranks.every(hasLeftRecord))
      ? high('the kernel says where they may run, and counted how long they waited')
      : medium('some ranks left no record: of these the main thread alone was sampled'),
});
