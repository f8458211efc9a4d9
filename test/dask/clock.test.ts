import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { samplerSource } from '../../src/dask/code/worker.ts';
import { prefixUse } from '../../src/query/dask/prefixes.ts';
import { daskUse } from '../../src/query/dask/task-use.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { temporaryFolder } from '../tacho.ts';
import { PYTHON, startCluster, whyNoDask } from './cluster.ts';
import { attachTo, type Row, rowsOf } from './record.ts';

/** By how many microseconds tasks of one thread overlap at most. */
function longestOverlap(tasks: readonly Row[]): number {
  let longest = Number.NEGATIVE_INFINITY;
  for (const own of Map.groupBy(tasks, ({ worker, thread }) => `${worker} ${thread}`).values()) {
    const sorted = own.toSorted((a, b) => Number(a.start_time) - Number(b.start_time));
    for (const [i, { start_time }] of sorted.entries())
      if (i > 0) longest = Math.max(longest, sorted[i - 1]!.time - Number(start_time));
  }
  return longest;
}

describe('tasks of one thread never overlap, whatever the heartbeats say of the clock', { skip: whyNoDask }, () => {
  for (const [workers, threads] of [
    [2, 1],
    [1, 3],
  ] as const)
    test(`${workers} × ${threads} threads`, async (t) => {
      const cluster = await startCluster({ workers, threads });
      t.after(() => cluster.end());
      const attached = await attachTo(cluster.address, temporaryFolder(t));
      const from = Date.now() * 1000;
      await cluster.run(['wrong_clock']);
      const to = Date.now() * 1000;
      await attached.opened.way.settle();
      attached.detach('detached');
      await attached.ended;
      const tasks = rowsOf(attached.recording, 'dask_task').filter(({ prefix }) => prefix === 'inc');
      assert.equal(tasks.length, 100);
      // of several threads a task may go to one that has not told its end yet; wrong clocks are off by up to 500 ms
      assert.ok(longestOverlap(tasks) <= (threads === 1 ? 0 : 20_000), `${longestOverlap(tasks)} µs`);
      for (const { time, start_time } of tasks) assert.ok(Number(start_time) >= from && time <= to, 'in time');
      const [use] = prefixUse(daskUse(openRecording(attached.recording)));
      if (threads === 1) assert.equal(use!.shared, 0);
      else assert.ok(use!.shared > 0.5, `${use!.shared}`);
    });
});

/** A worker on another host whose clock is 7 s behind, and whose answers take up to a second, each way as it comes. */
const OTHER_HOST = `
import json, random, sys, types
random.seed(5)
ns = {"__name__": "sampler"}
exec(compile(sys.stdin.read(), "sampler", "exec"), ns)
local = [1000.0]
ns["time"] = types.SimpleNamespace(time=lambda: local[0], monotonic=lambda: local[0])
step = {"action": "compute"}
task = types.SimpleNamespace(startstops=[step])
worker = types.SimpleNamespace(
    address="tcp://10.0.0.2:4000", scheduler=types.SimpleNamespace(address="tcp://10.0.0.1:8786"),
    latency=0.001, scheduler_delay=7.4, state=types.SimpleNamespace(tasks={"x": task}))
clock = ns["Clock"](worker)
def heartbeat():
    there, back = random.uniform(0.0005, 0.5), random.uniform(0.0005, 0.5)
    worker.latency = 0.05 * (there + back) + 0.95 * worker.latency
    worker.scheduler_delay = 7 + (there - back) / 2
    clock.learn()
rows = []
for i in range(2000):
    local[0] += 0.001
    if i % 20 == 0: heartbeat()
    clock.begins("x")
    # a heartbeat may come before Dask takes the guess for this task
    local[0] += 0.001
    if random.random() < 0.1: heartbeat()
    used, task.start_time = worker.scheduler_delay, local[0]
    local[0] += 0.0001
    start = local[0]
    local[0] += 0.005
    step.update(start=start + used, stop=local[0] + used)
    if random.random() < 0.3: heartbeat()
    shift = clock.shift("x")
    rows.append((step["start"] + shift - start - 7, clock.error))
print(json.dumps({"errors": [(e, None if u > 1e9 else u) for e, u in rows], "left": len(clock.started)}))
`;

test('the clock of another host is known as well as its quickest heartbeat says', { skip: whyNoDask }, () => {
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', OTHER_HOST], {
    input: samplerSource({ id: 'test', intervalSeconds: 0.2 }),
    encoding: 'utf8',
  });
  const { errors, left } = JSON.parse(stdout || `"${stderr}"`) as { errors: [number, number | null][]; left: number };
  assert.equal(left, 0);
  // a thread begins 0.1 ms after it got the task; of the first guess nobody knows how long it took
  for (const [i, [error, uncertainty]] of errors.entries())
    assert.ok(uncertainty === null || Math.abs(error) <= uncertainty + 0.00011, `${i}: ${error} s, ${uncertainty} s`);
  assert.ok(errors.at(-1)![1]! < 0.05, 'the quickest of many');
});
