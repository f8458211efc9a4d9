import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const MIB = 2 ** 20;
const noPython = spawnSync('python3', ['-c', '']).status !== 0 && 'needs python3';
const noRollup = !fs.existsSync('/proc/self/smaps_rollup') && 'needs /proc/PID/smaps_rollup';

/**
 * A parent with 150 MiB and three forks that read them all. When each has done so, the program adds up the shares of all
 * four (PSS), and they stay until the recording has a row of `process_memory`.
 */
const FORKS = `
import glob, mmap, os, sys, time
kind, recording = sys.argv[1:]
size = 150 << 20
flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if kind == 'shared' else mmap.MAP_PRIVATE)
memory = mmap.mmap(-1, size, flags=flags)
for at in range(0, size, 4096): memory[at] = 1
ready, tell = os.pipe()
wait, stop = os.pipe()
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        os.close(stop)
        sum(memory[at] for at in range(0, size, 4096))
        os.write(tell, b'.')
        os.read(wait, 1)
        os._exit(0)
    children.append(child)
seen = 0
while seen < 3: seen += len(os.read(ready, 3))
def pss(pid):
    with open(f'/proc/{pid}/smaps_rollup') as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith('Pss:')) * 1024
truth = sum(pss(pid) for pid in children + [os.getpid()])
def newest():
    rows = [line for name in glob.glob(f'{recording}/node=*/process_memory.csv') for line in open(name)]
    return int(rows[-1].split(',')[1]) + int(rows[-1].split(',')[2]) if len(rows) > 1 and rows[-1].endswith('\\n') else 0
end = time.time() + 60
while newest() < 4 * size and time.time() < end: time.sleep(0.05)
os.close(stop)
for child in children: os.waitpid(child, 0)
print(truth)
`;

function reportOf(folder: string) {
  return JSON.parse(tacho(['report', folder, '--format', 'json']).out);
}

/** True where Tacho finds a cgroup of the job's own: the kernel counts there. */
const isCounted = (jobReport: { summary: { memory_source: string } }): boolean =>
  jobReport.summary.memory_source === 'cgroup';

function forks(t: TestContext, kind: 'private' | 'shared'): void {
  const recording = path.join(temporaryFolder(t), 'r');
  const ran = spawnSync(TACHO, ['run', '--output', recording, '--', 'python3', '-c', FORKS, kind, recording], {
    encoding: 'utf8',
  });
  assert.equal(ran.status, 0, ran.stderr);
  const truth = Number(ran.stdout.split('\n')[0]);
  assert.ok(truth > 150 * MIB && truth < 250 * MIB, `${truth}`);
  const jobReport = reportOf(recording);
  if (isCounted(jobReport)) {
    t.skip('the job has a cgroup of its own');
    return;
  }
  const { memory_peak_bytes, memory_source, memory } = jobReport.summary;
  assert.equal(memory_source, 'pss');
  assert.ok(memory.process_peaks_sum > 600 * MIB, 'added up it is four times as much');
  assert.ok(Math.abs(memory.process_pss_max - truth) < 0.1 * truth, `${memory.process_pss_max} of ${truth}`);
  // Python may have run helpers of its own before
  assert.ok(memory_peak_bytes > 0.9 * truth && memory_peak_bytes < 1.3 * truth, `${memory_peak_bytes} of ${truth}`);
}

test('three forks that share what their parent has: memory counts once', { skip: noPython || noRollup }, (t) => {
  forks(t, 'private');
});

test('a mapping that four processes share counts once', { skip: noPython || noRollup }, (t) => {
  forks(t, 'shared');
});

test('a file in /dev/shm belongs to no process: nothing is called at most', { skip: noShm() }, (t) => {
  const folder = temporaryFolder(t);
  const file = fs.mkdtempSync('/dev/shm/tacho-test-');
  t.after(() => fs.rmSync(file, { recursive: true, force: true }));
  const recording = path.join(folder, 'r');
  // it stays until a sample of the node has it
  const script = `
    head -c 104857600 /dev/zero > "$1/large"
    recording=$2
    rows() { cat "$recording"/node=*/meminfo.csv | wc -l; }
    before=$(rows); tries=0
    while [ "$(rows)" -lt $((before + 2)) ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
    rm "$1/large"`;
  // others on the machine may free theirs meanwhile: then once more
  let grown = 0;
  for (let tries = 0; tries < 4 && !(grown > 80 * MIB); tries++) {
    fs.rmSync(recording, { recursive: true, force: true });
    const ran = tacho(['run', '--output', recording, '--', 'sh', '-c', script, 'sh', file, recording]);
    assert.equal(ran.code, 0, ran.err);
    const jobReport = reportOf(recording);
    if (isCounted(jobReport)) {
      t.skip('the job has a cgroup of its own');
      return;
    }
    grown = jobReport.summary.memory_shm_bytes;
  }
  assert.ok(grown > 80 * MIB, `${grown}`);
  const card = tacho(['report', recording]).out.replace(/\s+/g, ' ');
  assert.doesNotMatch(card, /memory \[[#.]*\] *(< )?[\d.]+ % at most/);
  assert.match(card, /; perhaps [\d.]+ [MG]iB more in \/dev\/shm\)/);
});

function noShm(): string | false {
  try {
    const { bavail, bsize, type } = fs.statfsSync('/dev/shm');
    return (type !== 0x01021994 || bavail * bsize < 200 * MIB) && 'needs 200 MiB in /dev/shm';
  } catch {
    return 'needs /dev/shm';
  }
}
