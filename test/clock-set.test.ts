import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { hasCompiler } from './fake-gpu/build.ts';
import { startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, temporaryFolder } from './tacho.ts';

const skip = hasCompiler() ? false : 'needs gcc';

test('a clock that is set forward and back by an hour loses no sample of a running job', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  const library = at('set_clock.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, path.join(import.meta.dirname, 'clock/set_clock.c')]);
  const set = (seconds: number): void => {
    fs.writeFileSync(at('clock.new'), `${seconds}`);
    fs.renameSync(at('clock.new'), at('clock'));
  };
  set(0);
  const hub = await startHubProcess(t, at('archive'), ['--trust', 'none']);
  const child = spawn(
    TACHO,
    [
      'agent',
      '--spool',
      at('spool'),
      '--jobs',
      at('jobs'),
      '--node',
      'c1',
      '--job-interval',
      '2s',
      '--idle-interval',
      '2s',
      '--hooks-only',
    ].concat(['--hub', hub.address, '--trust', 'none']),
    { env: { ...process.env, LD_PRELOAD: library, TEST_CLOCK: at('clock') }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  t.after(() => {
    child.kill('SIGKILL');
  });
  await eventually('the agent records', () => output.includes('records c1'));
  const write = (name: string, text: string): void => {
    fs.writeFileSync(at(`jobs/.${name}`), text);
    fs.renameSync(at(`jobs/.${name}`), at(`jobs/${name}`));
  };
  const began = Date.now() / 1000;
  const facts = `SLURM_JOB_ID=17\nSLURM_JOB_UID=${process.getuid!()}\nSLURM_JOB_USER=${os.userInfo().username}\nTACHO_SCHEDULER=none\n`;
  write('17', `${facts}SLURM_NODELIST=c1\nBEGIN=${began.toFixed(3)}\n`);
  const archived = at(`archive/user=${os.userInfo().username}/job=17`);
  const samples = (): number => {
    const file = path.join(archived, 'node=c1/agent.csv');
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').length - 2 : 0;
  };
  await eventually('the first samples are at the hub', () => samples() >= 2);
  for (const seconds of [3600, -3600, 0]) {
    const before = samples();
    set(seconds);
    // long enough for several looks at what may go from the spool
    await eventually(`samples come after the clock was set to ${seconds} s`, () => samples() >= before + 6);
    assert.ok(fs.existsSync(at('spool/job-17/node=c1')), output);
  }
  const end = Date.now() / 1000;
  set(-3600);
  write('17.end', `SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:0\nEND=${(end - 3600).toFixed(3)}\n`);
  await eventually('the job has left the spool', () => !fs.existsSync(at('spool/job-17')));
  const recording = openRecording(archived);
  const node = recording.nodes[0]!;
  const record = node.agent as AgentRecord;
  const { rows, time } = readTable(node, 'agent');
  assert.equal(rows, record.ticks);
  assert.equal(record.lost_samples, undefined);
  assert.equal(record.missed_ticks, 0);
  for (let row = 1; row < rows; row++) assert.ok(time[row]! > time[row - 1]!, 'time goes on');
  assert.equal(recording.job.state, 'completed');
  assert.ok(Math.abs(recording.job.end! / 1e6 - end) < 5, 'the end is by the same time as the samples');
  assert.deepEqual(
    record.clock_jumps?.map(({ seconds }) => Math.round(seconds / 100) * 100),
    [3600, -7200, 3600, -3600],
  );
});
