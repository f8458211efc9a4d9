import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testJob } from '../../../test/made/spool.ts';
import type { NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import type { Ending } from '../../jobs/schedulers/scheduler.ts';
import type { Job } from '../../recording/folder/job.ts';
import { lostEpilogs } from './lost-epilogs.ts';

const BEGIN = 1_700_000_000_000_000;

function setUp(scheduler: Job['scheduler'] = 'slurm') {
  const state = { now: 0, processes: true, said: { state: 'running' } as Ending | undefined, asked: 0 };
  const ends: NodeJobEnd[] = [];
  const watched = {
    job: testJob('17', { scheduler }),
    hasProcesses: () => state.processes,
    lastProcess: BEGIN + 24e6,
  };
  const jobs = new Map([['17', watched]]);
  const look = lostEpilogs({
    jobs: () => jobs,
    async ask() {
      state.asked++;
      return state.said;
    },
    ended(name, end) {
      jobs.delete(name);
      ends.push(end);
    },
    steady: () => state.now,
  });
  return {
    state,
    ends,
    async pass(seconds: number): Promise<void> {
      for (let i = 0; i < seconds; i += 10) {
        state.now += 10_000;
        await look();
      }
    },
  };
}

test('a job without its epilog is found out a minute after its last process, with the end that the scheduler has', async () => {
  const { state, ends, pass } = setUp();
  await pass(300);
  assert.equal(state.asked, 0, 'it has processes');
  state.processes = false;
  state.said = { state: 'completed', end: BEGIN + 25e6 };
  await pass(50);
  assert.deepEqual([state.asked, ends], [0, []]);
  await pass(30);
  assert.deepEqual(ends, [{ id: '17', end: BEGIN + 25e6, guessed: true }]);
});

test('a daemon that outlives its job does not keep it for ever, whatever the scheduler is', async () => {
  for (const scheduler of ['slurm', 'pbs', 'flux'] as const) {
    const { state, ends, pass } = setUp(scheduler);
    await pass(3610);
    assert.equal(state.asked, 6, 'once in ten minutes');
    state.said = { state: 'completed', end: BEGIN + 25e6 };
    await pass(600);
    assert.deepEqual(ends, [{ id: '17', end: BEGIN + 25e6, guessed: true }]);
  }
});

test('where the scheduler knows no end it is the last process', async () => {
  const { state, ends, pass } = setUp();
  state.processes = false;
  state.said = { state: 'unknown' };
  await pass(80);
  assert.deepEqual(ends, [{ id: '17', end: BEGIN + 24e6, guessed: true }]);
});

test('a job that runs and does nothing here is asked for less and less often', async () => {
  const { state, ends, pass } = setUp();
  state.processes = false;
  await pass(3600);
  assert.ok(state.asked >= 5 && state.asked <= 10, `${state.asked} times in an hour`);
  state.said = undefined;
  await pass(1200);
  assert.deepEqual(ends, []);
});
