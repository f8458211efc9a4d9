import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programName as programOf } from '../../query/processes/program.ts';
import { shapeOf } from './shape.ts';

test('what differs from run to run is not in the shape', () => {
  const same: [string, string][] = [
    ['-o /data/run17/out_0017.nc', '-o /data/run18/out_0018.nc'],
    ['--job=4711 in.nc', '--job=4712 in.nc'],
    ['/tmp/tmp.aBcDeF/x', '/tmp/other'],
    ['-o /scratch/ccHP713g.s', '-o /scratch/cchthbfg.s'],
    ['-rf /scratch/work_NZU21J_build', '-rf /scratch/work_RqwTv8_build'],
    ['1.nc 2.nc 3.nc all.nc', '1.nc 2.nc all.nc'],
    ['checkout 3f786850e387550f', 'checkout 89e6c98d92887913'],
  ];
  for (const [a, b] of same) assert.equal(shapeOf('x', a), shapeOf('x', b), `${a} | ${b}`);
});

test('what says which work it is stays', () => {
  assert.notEqual(shapeOf('cc1', 'kernel/fork.c'), shapeOf('cc1', 'kernel/exit.c'));
  assert.notEqual(shapeOf('cp', 'a b'), shapeOf('mv', 'a b'));
  assert.notEqual(shapeOf('x', '--fast'), shapeOf('x', '--slow'));
  assert.equal(shapeOf('ls', ''), 'ls');
});

test('a program that runs scripts is named with the script', () => {
  assert.equal(programOf('cc1', '-quiet a.c'), 'cc1');
  assert.equal(programOf('bash', '-e /opt/tools/step.sh 17'), 'bash step.sh');
  assert.equal(programOf('python3.11', 'train.py --lr 1'), 'python3.11 train.py');
  assert.equal(programOf('sh', ''), 'sh');
});

test('a command has the same shape whether its arguments are quoted or, in older recordings, only joined', () => {
  const quoted = shapeOf('sh', `-c 'cp /tmp/abc123/x.nc out-7.nc; echo '\\''done'\\''' '' 12`);
  assert.equal(quoted, shapeOf('sh', `-c cp /tmp/zz9/x.nc out-8.nc; echo 'done' 13`));
  assert.equal(quoted, 'sh -c cp #.nc out-#.nc; echo done #');
  assert.notEqual(quoted, shapeOf('sh', `-c 'mv /tmp/abc123/x.nc out-7.nc'`));
  assert.equal(programOf('sh', `-e 'run 7.sh' x`), programOf('sh', '-e run 7.sh x'));
});
