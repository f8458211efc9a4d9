import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fakeGpu, hasCompiler } from '../fake-gpu/build.ts';
import { temporaryFolder } from '../tacho.ts';
import { PYTHON, whyNoDask } from './cluster.ts';

const MANUAL = path.join(import.meta.dirname, '../fixtures/dask/dask-metrics.md');
const PACKAGE = path.join(import.meta.dirname, '../../python');

/** The blocks of code of a manual, by their titles. */
const examples = (manual: string): Record<string, string> =>
  Object.fromEntries(
    [...manual.matchAll(/^## (.*)\n\n```python\n([\s\S]*?)```/gm)].map(([, title, code]) => [title, code]),
  );

test('the examples of the manual of dask-metrics run as they are printed', {
  skip: whyNoDask || (!hasCompiler() && 'needs gcc, for the fake library of NVIDIA'),
}, (t) => {
  fakeGpu(
    t,
    'nvml',
    'cards 2\nset 0 use 90\nset 0 memory 1024\nset 0 watts 60\nset 1 use 100\nset 1 memory 512\nset 1 watts 70\n',
  );
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'pynvml.py'), PYNVML);
  fs.writeFileSync(path.join(folder, 'examples.json'), JSON.stringify(examples(fs.readFileSync(MANUAL, 'utf8'))));
  fs.writeFileSync(path.join(folder, 'run.py'), RUN);
  const done = spawnSync(PYTHON, ['run.py'], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...process.env,
      PYTHONPATH: `${PACKAGE}:${folder}`,
      PYTHONDONTWRITEBYTECODE: '1',
      MPLBACKEND: 'Agg',
      // Dask itself would use more of pynvml
      DASK_DISTRIBUTED__DIAGNOSTICS__NVML: 'False',
      MPLCONFIGDIR: folder,
    },
  });
  assert.equal(done.status, 0, done.stderr);
  const { ran, files, header, peaks, from_csv, power } = JSON.parse(done.stdout.split('\n').at(-2)!) as Record<
    string,
    unknown
  >;
  assert.deepEqual(ran, Object.keys(examples(fs.readFileSync(MANUAL, 'utf8'))));
  assert.deepEqual(
    files,
    Array.from({ length: 9 }, (_, i) => `worker_${i}.csv`),
  );
  assert.equal(header, 'job,dag,timestamp,mem-util,compute-util');
  // two workers, and of each the peaks of its two GPUs while nothing ran and in the first job
  assert.deepEqual(peaks, Array(2).fill({ 0: [90, 100], 1: [90, 100] }));
  assert.deepEqual(from_csv, peaks);
  assert.deepEqual(power, Array(9).fill([60_000, 70_000]));
});

/** What pynvml has of it, on the fake library. */
const PYNVML = `
import ctypes, os
lib = ctypes.CDLL(os.environ["TACHO_NVML"])
def nvmlInit(): assert lib.nvmlInit_v2() == 0
def nvmlDeviceGetHandleByIndex(index):
    handle = ctypes.c_void_p()
    assert lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0
    return handle
def nvmlDeviceGetPowerUsage(handle):
    milliwatts = ctypes.c_uint()
    assert lib.nvmlDeviceGetPowerUsage(handle, ctypes.byref(milliwatts)) == 0
    return milliwatts.value
`;

/** A cluster of nine workers; what the manual leaves to its reader stands between its blocks. */
const RUN = `
import json, os, shutil, time
from importlib.util import find_spec
from distributed import Client as RealClient, LocalCluster
import pynvml

def main():
    examples = json.load(open("examples.json"))
    ran = []
    with LocalCluster(n_workers=9, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        def Client(address):
            assert address == "[scheduler address]"
            return RealClient(cluster)
        names = {"Client": Client, "pynvml": pynvml}
        def run(title):
            ran.append(title)
            exec(compile(examples[title], title, "exec"), names)
        def value(title):
            ran.append(title)
            return eval(examples[title].strip(), names)
        def work():
            with RealClient(cluster) as client:
                client.gather(client.map(lambda i: time.sleep(0.5), range(18)))
        run("Attach and start")
        work()
        run("Stop and export")
        files = sorted(os.listdir("path/to/folder"))
        shutil.copytree("path/to/folder", "path/to/csv/directory")
        os.makedirs("path/to/worker")
        shutil.copy("path/to/folder/worker_0.csv", "path/to/worker/file.csv")
        client = names["client"] = RealClient(cluster)
        monitor = names["monitor"] = names["Monitor"](client)
        peaks = value("Peaks of a monitor")
        from_csv = value("Peaks of files")
        for title in ("What peaks look like", "What peaks look like, per job"):
            value(title)
        if find_spec("matplotlib"): run("Lines")
        else: ran.append("Lines")
        run("A custom metric")
        run("Attach with it")
        monitor.start()
        time.sleep(1)
        monitor.stop()
        power = monitor.get_peaks("power", per_job=False)
        client.close()
    header = open("path/to/folder/worker_0.csv").readline().strip()
    print(json.dumps({"ran": ran, "files": files, "header": header, "peaks": peaks, "from_csv": from_csv, "power": power}))

main()
`;
