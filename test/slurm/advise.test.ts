import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Advice } from '../../src/advise/advise.ts';
import { type Lab, read, sharedLab, whyNot } from './lab.ts';

let lab: Lab;

describe('advice on a real Slurm', { skip: whyNot() }, () => {
  before(() => {
    lab = sharedLab();
  });

  test('the tasks of an array are recorded, and Slurm takes the advised request', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'advise');
    const id = await lab.submit(
      'tacho-a',
      workFolder,
      'tacho run --no-report -- sleep 1',
      '--array=1-3',
      '-c2',
      '-t60',
      '--mem=500M',
    );
    for (const task of [1, 2, 3]) assert.equal(await lab.ended(`${id}_${task}`), 'COMPLETED', read(workFolder, 'out'));
    const asked = await lab.on('login', 'tacho-a', 'tacho', 'advise', workFolder, '--format', 'json');
    assert.equal(asked.code, 0, asked.stderr);
    const [advice, ...others] = JSON.parse(asked.stdout) as Advice[];
    assert.deepEqual(others, []);
    assert.deepEqual([advice!.arrays, advice!.runs, advice!.completed], [[id], 3, 3]);
    const of = (name: string) => advice!.resources.find(({ resource }) => resource === name)!;
    assert.deepEqual([of('time').asked, of('time').advised], [3600, 300]);
    assert.deepEqual([of('memory').asked, of('memory').verdict], [500 * 2 ** 20, 'less']);
    assert.deepEqual([of('CPUs').asked, of('CPUs').advised], [2, 1]);
    // the script as a user would start it
    const next = await lab.submit('tacho-a', workFolder, `${advice!.script.join('\n')}\ntrue`);
    assert.equal(await lab.ended(next), 'COMPLETED');
    const { stdout } = await lab.on('login', 'root', 'scontrol', 'show', 'job', next);
    assert.match(stdout, /TimeLimit=00:05:00/);
    assert.match(stdout, /NumNodes=1 NumCPUs=1 /);
    assert.match(stdout, /MinMemoryNode=256M/);
  });
});
