import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, describe, test } from 'node:test';
import { ours } from '../../src/base/ours.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { type Lab, read, sharedLab, whyNot } from './lab.ts';

const built = fs.existsSync(ours('native/build/libtacho-record.so'));
const skip = whyNot() || (!built && 'needs native/build/libtacho-record.so (no compiler when it was set up)');
let lab: Lab;
const NODES = ['c1', 'c2', 'c3'];

/** Arguments, rank, step, tags and exit code of every process of a program that has recorded its end on a node. */
function ends(recording: string, node: string, exename: string): (string | number)[][] {
  const nodeRecording = openRecording(recording).nodes.find(({ name }) => name === node)!;
  if (!nodeRecording.tables.has('process_end')) return [];
  const { rows, texts, numbers } = readTable(nodeRecording, 'process_end');
  const text = (name: string, row: number): string => texts.get(name)!.values[texts.get(name)!.codes[row]!]!;
  return Array.from({ length: rows }, (_, row) => row)
    .filter((row) => text('exename', row) === exename)
    .map((row) => {
      const [args, rank, step, tags] = ['args', 'rank', 'step', 'tags'].map((name) => text(name, row));
      return [args!, rank!, step!, tags!, numbers.get('exitcode')![row]!];
    });
}

describe('processes record themselves on every node of a Slurm job', { skip }, () => {
  before(() => {
    lab = sharedLab();
  });

  test('tacho start, tacho env, a step on three nodes, tacho stop', async () => {
    const workFolder = await lab.workFolder('tacho-a', 'env');
    const script = `set -e
      tacho start --interval 0.5
      eval "$(tacho env)"
      /bin/echo before >/dev/null
      TACHO_TAGS=op:step srun -N3 -n3 sh -c '/bin/sleep 0.1; /bin/echo on $SLURMD_NODENAME >/dev/null'
      tacho_pause
      /bin/echo paused >/dev/null
      ls /dev/shm/tacho-*/events >/dev/null
      tacho stop --no-report
      ls /dev/shm`;
    const id = await lab.submit('tacho-a', workFolder, script, '-N3', '-n3', '-t5');
    assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    const recording = path.join(workFolder, `tacho-${id}`);
    NODES.forEach((node, rank) => {
      const rows = ends(recording, node, 'echo');
      const step = [`on ${node}`, String(rank), '1', 'op:step', 0];
      assert.deepEqual(rows, node === 'c1' ? [['before', '0', '', '', 0], step] : [step], node);
    });
    assert.ok(ends(recording, 'c1', 'srun').length >= 1);
    assert.doesNotMatch(read(workFolder, 'out'), /tacho-\d+-|ld\.so/, 'nothing is left in memory, nobody complained');
  });

  test('steps side by side have their own processes in the report', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'steps');
    const script = `tacho start --interval 0.5
      eval "$(tacho env)"
      srun -N1 -n1 --exact --mem=50M sleep 2.5 & srun -N1 -n1 --exact --mem=50M sh -c 'sleep 3.5; exit 0' & wait
      tacho stop --no-report`;
    const id = await lab.submit('tacho-b', workFolder, script, '-N1', '-n3', '-t5');
    assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
    const recording = openRecording(path.join(workFolder, `tacho-${id}`));
    const slept = (step: string): (string | undefined)[] =>
      report(gather(recording, { step }))
        .processes.flatMap(({ command }) => (/sleep|srun/.test(command ?? '') ? command : []))
        .sort();
    const steps = recording.job.steps!.filter(({ name }) => name === 'sleep' || name === 'sh');
    const [short, long] = ['sleep', 'sh'].map((name) => steps.find((step) => step.name === name)!.id);
    assert.deepEqual(slept(short!), ['sleep 2.5']);
    assert.deepEqual(slept(long!), ["sh -c 'sleep 3.5; exit 0'", 'sleep 3.5']);
  });

  test('tacho run around srun, from a login node that is not part of the job', async () => {
    const workFolder = await lab.workFolder('tacho-b', 'run');
    const command = `cd ${workFolder} && tacho run --no-report -o r -- srun -N3 --ntasks-per-node=1 sh -c '/bin/true $SLURMD_NODENAME; exit 4'`;
    const { code, stderr } = await lab.salloc('tacho-b', command);
    assert.equal(code, 4, stderr);
    assert.doesNotMatch(stderr, /ld\.so|record themselves/);
    NODES.forEach((node, rank) => {
      assert.deepEqual(ends(path.join(workFolder, 'r'), node, 'true'), [[node, String(rank), '1', '', 0]], node);
    });
  });

  test('one node where the library cannot be used keeps it from all, and is named', async () => {
    const workFolder = await lab.workFolder('tacho-c', 'refused');
    const library = path.join(workFolder, 'record.so');
    // there it is, but on c2 another file lies over it
    fs.copyFileSync(ours('native/build/libtacho-record.so'), library);
    fs.writeFileSync(path.join(workFolder, 'broken'), 'no library');
    await lab.on('c2', 'root', 'mount', '--bind', path.join(workFolder, 'broken'), library);
    const command = `cd ${workFolder} && TACHO_RECORD_LIBRARY=${library} tacho run -o r -- srun -N3 --ntasks-per-node=1 sh -c 'echo "<$LD_PRELOAD>"'`;
    const { code, stdout, stderr } = await lab.salloc('tacho-c', command);
    await lab.on('c2', 'root', 'umount', library);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, '<>\n<>\n<>\n');
    assert.match(stderr, /processes do not record themselves: node c2: .*record\.so is not a library/);
    assert.deepEqual(ends(path.join(workFolder, 'r'), 'c1', 'sh'), []);
  });
});
