import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf, diskTable, frameOf, jobOf, loadTable, START } from '../../test/make-recording.ts';
import { gpu } from '../sources/gpu/gpu.ts';
import { exposition } from './exposition.ts';

const rows = [
  { time: START, disk: 'sda', read_bytes: 4096, busy_percent: 12.5, queue: 1, model: 'fast, "new"\\\n' },
  { time: START, disk: 'nvme0', read_bytes: 7, busy_percent: 50 },
];
const day = jobOf({ id: 'fleet-2026-11-15', user: '', uid: -1, scheduler: 'none' });
const samples = (text: string, word: string): string[] =>
  text.split('\n').filter((line) => line.includes(word) && !line.startsWith('#'));

test('the newest samples in base units, with their job, and no line for what is missing', () => {
  const text = exposition([{ job: jobOf(), agent: agentOf('c1', []), frames: [frameOf(diskTable, rows)] }]);
  assert.deepEqual(
    text.split('\n').filter((line) => line.includes('tacho_disk')),
    [
      '# HELP tacho_disk_read_bytes_total Bytes read.',
      '# TYPE tacho_disk_read_bytes_total counter',
      'tacho_disk_read_bytes_total{node="c1",job="17",user="ada",disk="sda"} 4096',
      'tacho_disk_read_bytes_total{node="c1",job="17",user="ada",disk="nvme0"} 7',
      '# HELP tacho_disk_busy_ratio Busy.',
      '# TYPE tacho_disk_busy_ratio gauge',
      'tacho_disk_busy_ratio{node="c1",job="17",user="ada",disk="sda"} 0.125',
      'tacho_disk_busy_ratio{node="c1",job="17",user="ada",disk="nvme0"} 0.5',
      '# HELP tacho_disk_queue Waiting requests.',
      '# TYPE tacho_disk_queue gauge',
      'tacho_disk_queue{node="c1",job="17",user="ada",disk="sda"} 1',
      '# HELP tacho_disk_info For tests.',
      '# TYPE tacho_disk_info gauge',
      'tacho_disk_info{node="c1",job="17",user="ada",disk="sda",model="fast, \\"new\\"\\\\\\n"} 1',
    ],
  );
});

test('OpenMetrics has units, families without suffixes, and an end', () => {
  const exposed = { job: jobOf(), agent: agentOf('c1', []), frames: [frameOf(diskTable, rows.slice(1))] };
  const text = exposition([exposed], { openMetrics: true });
  assert.ok(
    text.includes(
      '# HELP tacho_disk_read_bytes Bytes read.\n# TYPE tacho_disk_read_bytes counter\n# UNIT tacho_disk_read_bytes bytes\n' +
        'tacho_disk_read_bytes_total{node="c1",job="17",user="ada",disk="nvme0"} 7\n',
    ),
  );
  assert.ok(text.includes('# TYPE tacho_job info\ntacho_job_info{node="c1",job="17",user="ada",name="train",'));
  assert.ok(text.endsWith('\n# EOF\n'));
});

test('who runs what, and what was asked for', () => {
  const job = jobOf({ restart: 2, partition: 'gpu', asked: { cpus: 8, memory_bytes: 2 ** 30 } });
  const text = exposition([{ job, agent: agentOf('c1', []), frames: [] }]);
  assert.deepEqual(samples(text, 'tacho_job_info'), [
    'tacho_job_info{node="c1",job="17",restart="2",user="ada",name="train",scheduler="slurm",partition="gpu"} 1',
  ]);
  assert.deepEqual(samples(text, 'asked'), [
    'tacho_job_asked_cpus{node="c1",job="17",user="ada",restart="2"} 8',
    'tacho_job_asked_memory_bytes{node="c1",job="17",user="ada",restart="2"} 1073741824',
  ]);
  assert.deepEqual(samples(text, 'tacho_job_start'), [
    `tacho_job_start_timestamp_seconds{node="c1",job="17",user="ada",restart="2"} ${START / 1e6}`,
  ]);
});

test('a label of the site stands back behind one of the same name, except for the cluster', () => {
  const labels = [
    ['cluster', 'alps'],
    ['disk', 'x'],
  ] as const;
  const exposed = { job: jobOf({ cluster: 'daint' }), agent: agentOf('c1', []), frames: [frameOf(diskTable, rows)] };
  const text = exposition([exposed], { labels });
  assert.match(
    samples(text, 'tacho_job_info')[0]!,
    /^[^{]*\{node="c1",job="17",cluster="alps",disk="x",user=[^}]*\} 1$/,
  );
  assert.doesNotMatch(text, /daint/);
  const [nameless] = samples(exposition([{ ...exposed, job: jobOf() }], { labels }), 'tacho_job_info');
  assert.match(nameless!, /cluster="alps"/);
  assert.deepEqual(
    samples(text, 'read_bytes')[0],
    'tacho_disk_read_bytes_total{node="c1",job="17",user="ada",cluster="alps",disk="sda"} 4096',
  );
});

test('what belongs to the whole node is said once, of no job, when the node records itself', () => {
  const load = { time: START, load1: 0.25 };
  const cgroup = { ...loadTable, name: 'mine', scope: 'job' as const };
  const text = exposition([
    { job: day, agent: agentOf('c1', []), frames: [frameOf(loadTable, [load])] },
    { job: jobOf(), agent: agentOf('c1', []), frames: [frameOf(loadTable, [load]), frameOf(cgroup, [load])] },
  ]);
  assert.deepEqual(samples(text, 'load1'), [
    'tacho_load_load1{node="c1"} 0.25',
    'tacho_mine_load1{node="c1",job="17",user="ada"} 0.25',
  ]);
});

test("Omnistat's names and units for GPUs, and the series that joins them with their job", () => {
  const card = {
    time: START,
    gpu: '0',
    vendor: 'AMD',
    utilization_percent: 97,
    memory_used_bytes: 1e9,
    memory_total_bytes: 3e9,
    energy_mj: 1500,
    clock_mhz: 1700,
    temperature_celsius: 61,
    link_rx_bytes: 2048,
  };
  const exposed = { job: jobOf(), agent: agentOf('c1', []), frames: [frameOf(gpu.table, [card])] };
  const text = exposition([exposed], { omnistat: true });
  assert.deepEqual(samples(text, 'rocm_'), [
    'rocm_utilization_percentage{instance="c1",card="0"} 97',
    'rocm_vram_used_percentage{instance="c1",card="0"} 33.3333',
    'rocm_vram_total_bytes{instance="c1",card="0"} 3000000000',
    'rocm_energy_joules{instance="c1",card="0"} 1.5',
    'rocm_sclk_clock_mhz{instance="c1",card="0"} 1700',
    'rocm_temperature_celsius{instance="c1",card="0",location="edge"} 61',
    'rocm_xgmi_total_read_kilobytes{instance="c1",card="0"} 2',
  ]);
  assert.deepEqual(samples(text, 'rmsjob'), [
    'rmsjob_info{instance="c1",jobid="17",user="ada",nodes="1",batchflag="1",jobstep="-1",type="slurm"} 1',
  ]);
  assert.deepEqual(samples(text, 'tacho_gpu_clock'), [
    'tacho_gpu_clock_hertz{node="c1",job="17",user="ada",gpu="0"} 1700000000',
  ]);
  assert.ok(!exposition([exposed]).includes('rocm_'));
  const nvidia = frameOf(gpu.table, [{ ...card, vendor: 'NVIDIA' }]);
  assert.ok(exposition([{ ...exposed, frames: [nvidia] }], { omnistat: true }).includes('\nnvidia_energy_joules{'));
});
