import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, describe, test } from 'node:test';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import { readProcesses } from '../../src/query/processes/processes.ts';
import { ranksOf, type World } from '../../src/query/ranks/ranks.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { buildRanks, MPIS, printedRanks, whyNoMpi } from '../mpi/programs.ts';
import { type Lab, read, sharedLab, whyNot } from './lab.ts';

const skip = MPIS.map(whyNoMpi).find((why) => why !== false) || whyNot();
let lab: Lab;

describe('ranks of MPI programs in a Slurm job on three nodes', { skip }, () => {
  before(() => {
    lab = sharedLab();
  });

  const submit = async (name: string, script: string) => {
    const workFolder = await lab.workFolder('tacho-a', name);
    for (const mpi of MPIS) fs.chmodSync(buildRanks(mpi, workFolder), 0o755);
    const whole = `tacho start --interval 0.5\neval "$(tacho env)"\n${script}\ntacho stop --no-report`;
    const id = await lab.submit('tacho-a', workFolder, whole, '-N3', '-n6', '--ntasks-per-node=2', '-t10');
    await lab.ended(id);
    const recording = openRecording(path.join(workFolder, `tacho-${id}`));
    const worlds = ranksOf(readProcesses([recording]), recording.job.steps);
    return { out: read(workFolder, 'out'), recording, worlds };
  };
  const shape = ({ launcher, step, size, ranks }: World) => [
    launcher,
    step,
    size,
    ranks.map(({ rank, node }) => `${rank}@${node}`).join(' '),
  ];

  test('by PMIx, PMI2, mpirun and without MPI: each step is a world, with its ranks on their nodes', async () => {
    // MPICH of Debian cannot talk to other nodes here, whoever starts it: it stays on one
    const script = `srun --mpi=pmix ./ranks.openmpi 0.4
      srun --mpi=pmi2 -N1 -n2 ./ranks.mpich 0.2
      mpirun.openmpi -n 6 ./ranks.openmpi 0.2
      mpirun.mpich -hosts c1 -n 2 ./ranks.mpich 0.2
      srun -N3 -n3 --ntasks-per-node=1 sh -c 'sleep 0.2; exit 0'`;
    const { out, recording, worlds } = await submit('ranks', script);
    const six = '0@c1 1@c1 2@c2 3@c2 4@c3 5@c3';
    assert.deepEqual(
      worlds.map(shape),
      [
        ['srun', '1', 6, six],
        ['srun', '2', 2, '0@c1 1@c1'],
        ['mpirun.openmpi', '', 6, six],
        ['mpiexec', '4', 2, '0@c1 1@c1'],
        ['srun', '5', 3, '0@c1 1@c2 2@c3'],
      ],
      out,
    );
    const [first] = worlds;
    const printed = printedRanks(out.slice(0, out.indexOf('rank', out.lastIndexOf(' of 6 ', out.indexOf(' of 2 ')))));
    for (const { rank, user, system } of printed) {
      const { cpu_seconds } = first!.ranks[rank]!;
      assert.ok(Math.abs(cpu_seconds / (user + system) - 1) <= 0.01, `rank ${rank}: ${cpu_seconds}, ${user + system}`);
    }
    const whole = report(gather(recording));
    assert.deepEqual([whole.ranks!.worlds, whole.ranks!.ranks], [5, 19]);
    // a step alone has its own
    assert.deepEqual(
      report(gather(recording, { step: '2' })).ranks!.largest.map(({ size, programs }) => [size, programs]),
      [[2, ['ranks.mpich']]],
    );
  });

  test('a rank that dies on another node is named', async () => {
    const { out, recording } = await submit('died', 'srun --mpi=pmix -K ./ranks.openmpi 0.3 exit=3:7 || true');
    const died = report(gather(recording)).findings.find(({ id }) => id === 'rank-died');
    assert.match(died?.text ?? out, /^Of the 6 ranks of ranks\.openmpi, rank 3 on c2 ended with exit code 7 after/);
  });
});
