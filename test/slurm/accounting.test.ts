import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, describe, test } from 'node:test';
import type { JobSummary } from '../../src/history/tables/summary.ts';
import { eventually } from '../made/eventually.ts';
import { type Lab, read, sharedLab, whyNot } from './lab.ts';

let lab: Lab;

describe('accounting of a real Slurm', { skip: whyNot() }, () => {
  before(() => {
    lab = sharedLab();
  });

  test('sacct itself, its text and its JSON tell the same of jobs that were never recorded', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'accounting');
    const submit = (script: string, ...options: string[]): Promise<string> =>
      lab.submit('tacho-a', workFolder, script, ...options);
    const busy = await submit(`srun -n2 sh -c 'timeout 2 sh -c "while :; do :; done"; true'`, '-N2', '-n2', '-t10');
    const array = await submit('exit 3', '--array=1-2', '-t5');
    const recorded = await submit('tacho run --no-report -- sleep 1', '-t5');
    for (const id of [busy, recorded]) assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    for (const task of [1, 2]) assert.equal(await lab.ended(`${array}_${task}`), 'FAILED');
    const saved = { text: path.join(workFolder, 'sacct.txt'), json: path.join(workFolder, 'sacct.json') };
    const sacct = async (...args: string[]): Promise<string> => {
      const { stdout, stderr } = await lab.on('login', 'root', 'sacct', '-aD', ...args);
      assert.equal(stderr, '');
      return stdout;
    };
    // slurmdbd hears of the end a moment later
    await eventually('the accounting of all jobs', async () => {
      const states = await sacct('-nPX', '-o', 'State,End');
      return states.trim().split('\n').length >= 4 && !/RUNNING|PENDING|Unknown/.test(states);
    });
    fs.writeFileSync(saved.text, await sacct('-P', '-o', 'ALL'));
    fs.writeFileSync(saved.json, await sacct('--json'));

    const jobsOf = async (archive: string): Promise<Map<string, JobSummary>> => {
      const asked = await lab.on('login', 'root', 'tacho', 'jobs', archive, '--format', 'json');
      assert.equal(asked.code, 0, asked.stderr);
      return new Map((JSON.parse(asked.stdout) as JobSummary[]).map((job) => [job.job, job]));
    };
    const rows = new Map<string, Map<string, JobSummary>>();
    for (const [name, files] of Object.entries({ text: [saved.text], json: [saved.json], asked: [] })) {
      const archive = path.join(lab.folder, name);
      const { code, stdout, stderr } = await lab.on(
        'login',
        'root',
        'tacho',
        'import',
        'slurm',
        ...files,
        '--archive',
        archive,
        '--format',
        'json',
      );
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout).notes, [], name);
      rows.set(name, await jobsOf(archive));
    }
    const of = (from: string, job: string): JobSummary => rows.get(from)!.get(job)!;
    for (const from of ['text', 'json', 'asked']) {
      assert.deepEqual([...rows.get(from)!.keys()].sort(), [busy, `${array}_1`, `${array}_2`, recorded].sort(), from);
      const job = of(from, busy);
      assert.deepEqual(
        [job.origin, job.user, job.state, job.nodes, job.cpus, job.time_limit_seconds, job.ranks],
        ['accounting', 'tacho-a', 'completed', 2, 2, 600, 2],
        from,
      );
      for (const name of [
        'time',
        'end_time',
        'submit_time',
        'wall_seconds',
        'asked_memory_bytes',
        'node_list',
      ] as const)
        assert.equal(job[name], of('text', busy)[name], `${from}: ${name}`);
      assert.ok(Math.abs(job.cpu_seconds! - of('text', busy).cpu_seconds!) < 0.01, from);
      assert.deepEqual([of(from, `${array}_1`).state, of(from, `${array}_1`).array], ['failed', array]);
    }
    assert.equal(of('asked', `${array}_1`).exit_code, 3);

    // beside the recording of one of them
    const { code, stderr, stdout } = await lab.on(
      'login',
      'root',
      'tacho',
      'import',
      'slurm',
      '--archive',
      workFolder,
      '--format',
      'json',
    );
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).recorded, 1);
    const beside = await jobsOf(workFolder);
    assert.equal(beside.get(recorded)!.origin, 'recorded');
    assert.equal(beside.get(busy)!.origin, 'accounting');
    assert.equal(beside.size, 4);
  });
});
