import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programOf } from './program.ts';

test('the program that a command is about', () => {
  const cases: [string, string | undefined][] = [
    ['./solver in.nml', 'solver'],
    ['srun -n 4 --cpu-bind=cores /opt/app/bin/solver in.nml', 'solver'],
    ['mpirun -np 4 -x OMP_NUM_THREADS numactl --localalloc ./xhpl', 'xhpl'],
    ['python3 -u train.py --epochs 3', 'train.py'],
    ['python3.12 -m torch.distributed.run x.py', 'torch.distributed.run'],
    ['env OMP_NUM_THREADS=4 nice -n 5 ./a.out', 'a.out'],
    ['OMP_NUM_THREADS=4 ./a.out', 'a.out'],
    ['timeout -k 5 60 ./slow', 'slow'],
    ['taskset -c 0-3 ./pinned', 'pinned'],
    ['flux run -n 4 ./app', 'app'],
    ['bash job.sh', 'job.sh'],
    ['java -cp lib.jar -jar app.jar', 'app.jar'],
    ['python3 -c pass', 'python3'],
    ['bash -c echo', undefined],
    ['', undefined],
  ];
  for (const [command, program] of cases)
    assert.equal(programOf(command === '' ? [] : command.split(' ')), program, command);
});
