/** Which rank of a parallel program a process is, as native/record-rank.c writes it. */
export interface RecordedRank {
  rank: string;
  /** How many ranks its launcher started; NaN: nobody says. */
  ranks: number;
  /** What the launcher calls them together; '': nobody says. */
  world: string;
}

interface Launcher {
  rank: string;
  sizes: readonly string[];
  world?: string;
}

/** The variables of launchers; the first that names a rank counts. */
const LAUNCHERS: readonly Launcher[] = [
  { rank: 'PMIX_RANK', sizes: ['OMPI_COMM_WORLD_SIZE', 'SLURM_STEP_NUM_TASKS'], world: 'PMIX_NAMESPACE' },
  { rank: 'OMPI_COMM_WORLD_RANK', sizes: ['OMPI_COMM_WORLD_SIZE'], world: 'PMIX_NAMESPACE' },
  { rank: 'PMI_RANK', sizes: ['PMI_SIZE', 'SLURM_STEP_NUM_TASKS'], world: 'PMI_JOBID' },
  { rank: 'SLURM_PROCID', sizes: ['SLURM_STEP_NUM_TASKS'] },
];

const NUMBER = /^\d{1,9}$/;
const LONGEST_WORLD = 64;

/** `3/4:1452605441`: the rank, how many there are, and what the launcher calls them together. */
export function rankText(env: Readonly<Record<string, string | undefined>>): string {
  const launcher = LAUNCHERS.find((each) => env[each.rank]);
  if (launcher === undefined) return '';
  const rank = env[launcher.rank]!;
  const size = launcher.sizes.map((name) => env[name] ?? '').find((value) => NUMBER.test(value));
  if (!NUMBER.test(rank) || size === undefined) return rank;
  const world = (launcher.world && env[launcher.world]) || '';
  return world === '' || Buffer.byteLength(world) > LONGEST_WORLD ? `${rank}/${size}` : `${rank}/${size}:${world}`;
}

const FORM = /^(\d{1,9})\/(\d{1,9})(?::(.+))?$/s;

export function parseRank(text: string): RecordedRank {
  const [, rank = text, ranks, world = ''] = FORM.exec(text) ?? [];
  return { rank, ranks: ranks === undefined ? Number.NaN : Number(ranks), world };
}
