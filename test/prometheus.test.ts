import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../src/base/free-port.ts';
import { exposition } from '../src/prometheus/exposition.ts';
import { serveMetrics } from '../src/prometheus/metrics-server.ts';
import { sources } from '../src/sources/index.ts';
import { Unavailable } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';
import { fixture, openOn } from './frozen.ts';
import { eventually } from './made/eventually.ts';
import { agentOf, diskTable, frameOf, jobOf, START } from './make-recording.ts';
import { temporaryFolder } from './tacho.ts';

const lacks = (program: string, args: string[]): boolean => spawnSync(program, args, { stdio: 'ignore' }).status !== 0;
const noPromtool = lacks('promtool', ['--version']) && 'promtool (package prometheus)';
const noClient =
  lacks('/usr/bin/python3', ['-c', 'import prometheus_client']) && 'python3-prometheus-client, which reads OpenMetrics';

/** Everything that a machine gives, and a row with every sign that needs care. */
function everything(machine: string): { frames: Frame[]; values: number } {
  const host = fixture(machine);
  const frames: Frame[] = [];
  for (const kind of sources) {
    try {
      const source = openOn(kind, host);
      const frame = new Frame(source.table);
      frame.clear(START);
      source.read(frame);
      source.close();
      frames.push(frame);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }
  const odd = frameOf({ ...diskTable, name: 'odd' }, [
    { time: START, disk: 'a "b"\\c\nd', read_bytes: 2 ** 53, busy_percent: 1e-7, model: 'µ ∞ {}' },
  ]);
  frames.push(odd);
  let values = 0;
  for (const frame of frames) {
    if (frame.table.events || frame.table.sparse) continue;
    for (let i = 0; i < frame.rows * frame.numberWidth; i++) if (!Number.isNaN(frame.numbers[i])) values++;
  }
  return { frames, values };
}

const exposed = (frames: Frame[]) => [
  { job: jobOf({ asked: { cpus: 4, time_limit_seconds: 3600 }, exit_code: 0 }), agent: agentOf('c1', []), frames },
];

for (const machine of ['host-small', 'host-gpu-node', 'host-cray']) {
  test(`promtool accepts what is exposed of ${machine}`, { skip: noPromtool }, () => {
    const text = exposition(exposed(everything(machine).frames), { omnistat: true });
    const { stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    // it also judges style: names of the kernel's own stay as the kernel writes them, as in other exporters
    const style = /^tacho_(meminfo_\S+ metric names should be written in 'snake_case'|vmstat_\S+ .*abbreviated units)/;
    const complaints = `${stderr}${stdout}`.split('\n').filter((line) => line !== '' && !style.test(line));
    assert.deepEqual(complaints, []);
  });

  test(`the Prometheus client reads every value of ${machine} in both formats`, { skip: noClient }, () => {
    const { frames, values } = everything(machine);
    const reader = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
given = json.load(sys.stdin)
answer = []
for parse, words in ((text, given[0]), (openmetrics, given[1])):
    samples = [s for f in parse(words) for s in f.samples]
    odd = [(s.labels['disk'], s.value) for s in samples if s.name == 'tacho_odd_read_bytes_total']
    count = [s for s in samples if not s.name.endswith('_info') and not s.name.startswith(('tacho_job', 'tacho_node'))]
    answer.append([len(count), len(set((s.name, tuple(sorted(s.labels.items()))) for s in samples)) == len(samples), odd])
json.dump(answer, sys.stdout)
`;
    const input = JSON.stringify([exposition(exposed(frames)), exposition(exposed(frames), { openMetrics: true })]);
    const { stdout, stderr } = spawnSync('/usr/bin/python3', ['-c', reader], { input, encoding: 'utf8' });
    assert.equal(stderr, '');
    const odd = [['a "b"\\c\nd', 2 ** 53]];
    assert.deepEqual(JSON.parse(stdout), [
      [values, true, odd],
      [values, true, odd],
    ]);
  });
}

test('a real Prometheus, configured as docs/prometheus.md says, has the labels that it says', {
  skip: lacks('prometheus', ['--version']) && 'Prometheus (package prometheus)',
}, async (t) => {
  const folder = temporaryFolder(t);
  const token = path.join(folder, 'token');
  fs.writeFileSync(token, 'open sesame\n', { mode: 0o600 });
  const day = jobOf({ id: 'fleet-2026-11-15', user: '', uid: -1 });
  const row = { time: START, disk: 'sda', read_bytes: 1 };
  const server = await serveMetrics({ listen: '127.0.0.1:0', tokenFile: token }, () => [
    { job: day, agent: agentOf('c1', []), frames: [frameOf(diskTable, [row])] },
    { job: jobOf(), agent: agentOf('c1', []), frames: [frameOf({ ...diskTable, name: 'own', scope: 'job' }, [row])] },
  ]);
  t.after(() => server.close());
  const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/prometheus.md'), 'utf8');
  const target = new URL(server.address).host;
  const configuration = /```yaml\n(# prometheus.yml\n[^`]*)```/
    .exec(page)![1]!
    .replace('scheme: https', 'scheme: http')
    .replace(/credentials_file: .*/, `credentials_file: ${token}`)
    .replace(/targets: .*/, `targets: ["${target}"]`);
  const file = path.join(folder, 'prometheus.yml');
  fs.writeFileSync(file, `global: { scrape_interval: 1s }\n${configuration}`);
  const port = await freePort();
  const options = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const prometheus = spawn('prometheus', options, { stdio: 'ignore' });
  const over = new Promise((resolve) => prometheus.on('exit', resolve));
  t.after(async () => {
    prometheus.kill('SIGKILL');
    await over;
  });
  const names = encodeURIComponent('{__name__=~"tacho_(disk|own)_read_bytes_total|tacho_job_info|up"}');
  let series: Record<string, string>[] = [];
  // it waits some seconds before it scrapes for the first time
  await eventually('four series', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${names}`).catch(() => undefined);
    if (response?.ok !== true) return false;
    const { data } = (await response.json()) as { data: { result: { metric: Record<string, string> }[] } };
    // in no order that it promises
    series = data.result.map(({ metric }) => metric).sort((a, b) => (a.__name__! < b.__name__! ? -1 : 1));
    return series.length >= 4;
  });
  assert.deepEqual(series, [
    { __name__: 'tacho_disk_read_bytes_total', instance: target, node: 'c1', disk: 'sda' },
    {
      __name__: 'tacho_job_info',
      instance: target,
      node: 'c1',
      job: '17',
      user: 'ada',
      name: 'train',
      scheduler: 'slurm',
    },
    { __name__: 'tacho_own_read_bytes_total', instance: target, node: 'c1', job: '17', user: 'ada', disk: 'sda' },
    { __name__: 'up', instance: target, job: 'tacho' },
  ]);
});
