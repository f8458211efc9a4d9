import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askMonitor, controlOf } from '../../src/dask/control.ts';
import { eventually } from '../made/eventually.ts';
import { temporaryFolder } from '../tacho.ts';
import { PYTHON, startCluster, whyNoDask } from './cluster.ts';
import { attachTo, rowsOf } from './record.ts';

const whyNotRoot = process.getuid?.() !== 0 && 'needs root, to mount a small disk';

/** A disk of so many KiB. */
function smallDisk(t: TestContext, kib: number): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tacho-test', folder]);
  assert.equal(status, 0, String(stderr));
  t.after(() => {
    spawnSync('umount', ['-l', folder]);
    fs.rmdirSync(folder);
  });
  return folder;
}

/** Writes until nothing fits any more. */
function fill(file: string): void {
  const fd = fs.openSync(file, 'w');
  try {
    for (;;) fs.writeSync(fd, Buffer.alloc(1024));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    fs.closeSync(fd);
  }
}

describe('full disks', { skip: whyNoDask || whyNotRoot }, () => {
  test('a recording on a full disk: rows are kept, told, and written once there is room', async (t) => {
    const disk = smallDisk(t, 4096);
    const cluster = await startCluster({ workers: 1, threads: 1 });
    t.after(() => cluster.end());
    const attached = await attachTo(cluster.address, disk, {
      hardware: { intervalSeconds: 60, only: ['cpu'], without: [], custom: [] },
    });
    const { recording } = attached;
    await eventually('a sample', () => rowsOf(recording, 'dask_worker').length > 0);
    fill(path.join(disk, 'full'));
    await cluster.run(['graphs']);
    const control = controlOf(recording)!;
    let refused: { table: string; why: string }[] = [];
    await eventually('what the disk refuses', async () => {
      refused = (await askMonitor(control, { op: 'status' })).disk as typeof refused;
      return refused.some(({ table }) => table === 'dask_task');
    });
    assert.match(refused[0]!.why, /no space left/);
    fs.rmSync(path.join(disk, 'full'));
    await eventually('all tasks on the disk', () => rowsOf(recording, 'dask_task').length === 31);
    attached.detach('detached');
    await attached.ended;
    assert.equal(rowsOf(recording, 'dask_task').filter(({ prefix }) => prefix === 'inc').length, 31);
  });

  test('dump files of workers on a full disk: measurements stay in memory, and none is lost', (t) => {
    const disk = smallDisk(t, 16);
    const folder = temporaryFolder(t);
    const done = spawnSync(PYTHON, ['-c', DUMPS, disk, folder], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: path.join(import.meta.dirname, '../../python'), PYTHONDONTWRITEBYTECODE: '1' },
    });
    assert.equal(done.status, 0, done.stderr);
    const { notes, dumped, samples, gaps, rising } = JSON.parse(done.stdout) as Record<string, unknown>;
    const [note, ...others] = notes as string[];
    // all of a write may be refused, or its end
    assert.match(note!, /^worker 0: metrics stay in memory: cannot write to .*: no space left( on device)?$/i);
    assert.deepEqual(
      others.filter((text) => !/no space left/i.test(text)),
      [],
    );
    assert.ok(Number(dumped) > 0 && Number(dumped) <= 16_384, `${dumped} bytes on a disk of 16 KiB`);
    assert.ok(Number(samples) > 60, `${samples}`);
    assert.equal(gaps, 0, 'each line of the file is whole');
    assert.equal(rising, true);
  });
});

/** Measures until the disk of its dump files is full, and then some more. */
const DUMPS = `
import json, os, sys, time, warnings
from distributed import Client, LocalCluster
from tacho.dask import Monitor, custom_metric
from tacho.dask.files import read_csv
disk, folder = sys.argv[1:]
@custom_metric("count", per_device=False)
def count(worker, handles):
    worker.tacho_count = getattr(worker, "tacho_count", 0) + 1
    return worker.tacho_count
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        monitor = Monitor(client)
        monitor.attach(tracking=["tasks"], custom_metrics=[count], polling_interval=5, mem_limit=2, dump_loc=disk)
        monitor.start()
        key = "k" * 400
        future = client.submit(time.sleep, 1.5, key=key)
        future.result()
        with warnings.catch_warnings(record=True) as all:
            warnings.simplefilter("always")
            monitor.stop()
        monitor.to_csv(folder)
        rows = read_csv(os.path.join(folder, "worker_0.csv"))
        times = [float(t) for t in rows["timestamp"]]
        counts = [int(c) for c in rows["count"] if c]
        lines = [open(os.path.join(disk, name)).read().splitlines() for name in os.listdir(disk)]
        for each in lines:
            for line in each: json.loads(line)
        print(json.dumps({
            "notes": sorted({str(each.message) for each in all if "memory" in str(each.message)}),
            "dumped": sum(os.path.getsize(os.path.join(disk, name)) for name in os.listdir(disk)),
            "samples": len(times),
            "gaps": len(counts) - len(set(counts)),
            "rising": times == sorted(times) and counts == sorted(counts),
        }))
`;
