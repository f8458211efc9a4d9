import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, ids, outcome, single } from '../../../test/made/findings.ts';
import { testJob, testSet } from '../../../test/made/processes.ts';
import { agent, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, level, series, table } from '../../../test/made/report-statistics.ts';
import type { Material } from '../../query/material.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import type { TableColumn } from '../../table/table.ts';
import { report } from '../report.ts';

process.env.TZ = 'UTC';

const MIB = 2 ** 20;
const HOUR = span(3600);

const add = (jobMaterial: Material, ...tables: ReturnType<typeof table>[]): Material => {
  for (const [name, rows] of tables) (jobMaterial.nodes[0]!.tables as Map<string, unknown>).set(name, rows);
  return jobMaterial;
};

test('small-io: hundreds of thousands of calls for a few bytes each', () => {
  const calls = (syscw: number, wchar: number, systemtime = 4e6): Material => ({
    ...single(),
    processes: testSet(
      [
        {
          ...{ pid: 7, from: 0, to: 60, cpu: 8, exename: 'convert', args: 'in out' },
          metrics: { syscr: 0, rchar: 0, syscw, wchar, systemtime },
        },
      ],
      [testJob()],
    ),
  });
  const { text, severity, evidence } = finding(calls(1e6, 20e6), 'small-io');
  assert.equal(text, 'convert in out (pid 7) on c1 made 1,000,000 reads and writes of 20 bytes on average');
  assert.equal(severity, 'advice');
  assert.match(evidence[0]!.text, /1,000,000 calls, 19.1 MiB total, 4 s of CPU time in the kernel$/);
  assert.ok(!ids(calls(1e6, 1e6 * 65_536)).includes('small-io'), 'large pieces');
  assert.ok(!ids(calls(50_000, 1e6)).includes('small-io'), 'few calls');
  assert.ok(!ids(calls(1e6, 20e6, 0.5e6)).includes('small-io'), 'they cost little');
});

test('metadata-storm: requests to file servers that are no data', () => {
  const lustre = (opens: number, bytes: number): Material =>
    add(
      single(),
      table('lustre', [
        series(
          HOUR,
          { filesystem: 'work' },
          {
            open: count(HOUR, opens),
            close: count(HOUR, opens),
            getattr: count(HOUR, 2 * opens),
            read_bytes: count(HOUR, bytes),
            written_bytes: count(HOUR, 0),
          },
        ),
      ]),
    );
  const { text, evidence } = finding(lustre(2e6, 1e9), 'metadata-storm');
  assert.equal(text, '2,222 requests a second for names and attributes of files went to work from c1');
  assert.match(evidence[0]!.text, /^c1: 8,000,000 requests to work, 2,222 a second, 0 KiB of data for each$/);
  assert.ok(!ids(lustre(2e6, 2e6 * 4 * MIB)).includes('metadata-storm'), 'each is for much data');
  assert.ok(!ids(lustre(20_000, 1e9)).includes('metadata-storm'), 'few');
  const nfs = add(
    single(),
    table('nfs', [
      series(
        HOUR,
        { mount: '/home' },
        {
          operations: count(HOUR, 4e6),
          read_operations: count(HOUR, 1e6),
          write_operations: count(HOUR, 1e6),
          read_bytes: count(HOUR, 1e9),
          written_bytes: count(HOUR, 1e9),
        },
      ),
    ]),
  );
  assert.match(finding(nfs, 'metadata-storm').text, /^556 requests a second .* went to \/home/);
  assert.match(outcome(single(), 'metadata-storm')?.why ?? '', /neither NFS nor Lustre/);
});

const steps = (column: TableColumn, value: (i: number) => number, keys: Record<string, string>): ColumnSeries => {
  const step = 36e6;
  const time = Float64Array.from({ length: 100 }, (_, i) => START + i * step);
  const mean = Float64Array.from({ length: 100 }, (_, i) => value(i));
  return { node: 'c1', keys, step, time, count: mean, min: mean, mean, max: mean, column } as unknown as ColumnSeries;
};

test('network-bound: a link that carried all it could', () => {
  const rate = 12.5e9;
  const busy = (share: number, mine = 'infiniband'): Material => {
    const jobMaterial = add(
      single(),
      table('network', [
        series(
          HOUR,
          { interface: 'mlx5_0:1' },
          {
            received_bytes: count(HOUR, 3600e6),
            sent_bytes: count(HOUR, share * 0.95 * rate * 3600),
            link_rate_bytes: level(HOUR, rate),
          },
          { class: mine },
        ),
        series(HOUR, { interface: 'eth0' }, { received_bytes: count(HOUR, 1e6) }, { class: 'ethernet' }),
      ]),
    );
    jobMaterial.series = ((column: TableColumn) => [
      steps(column, (i) => (i < share * 100 ? 0.95 * rate : 0), { interface: 'mlx5_0:1' }),
    ]) as never;
    return jobMaterial;
  };
  const { text, evidence } = finding(busy(0.6), 'network-bound');
  assert.equal(text, 'The network was full in 60 % of the time on c1: mlx5_0:1 sent as much as its link can carry');
  assert.match(evidence[0]!.text, /of 11.6 GiB\/s; above 80 % in 60 % of the time$/);
  assert.ok(!ids(busy(0.1)).includes('network-bound'));
  assert.ok(!ids(busy(0.6, 'virtual')).includes('network-bound'), 'it repeats what hardware counts');
  assert.match(outcome(single(), 'network-bound')?.why ?? '', /no network interface says/);
});

test('checkpoint-share: phases that are named after checkpoints', () => {
  const marked = (seconds: number, name = 'checkpoint'): Material => {
    const jobMaterial = single();
    jobMaterial.markers = [1, 2, 3].flatMap((i) => [
      { node: 'c1', name: `${name} ${i}`, action: 'begin' as const, time: START + i * 600e6 },
      { node: 'c1', name: `${name} ${i}`, action: 'end' as const, time: START + (i * 600 + seconds) * 1e6 },
    ]);
    return jobMaterial;
  };
  const { text, evidence } = finding(marked(200), 'checkpoint-share');
  assert.equal(text, '17 % of the time went into 3 checkpoints (checkpoint)');
  assert.equal(evidence[0]!.text, 'checkpoint: 10 min 00 s total, 3 min 20 s each, one every 20 min 00 s');
  assert.ok(!ids(marked(20)).includes('checkpoint-share'));
  assert.ok(!ids(marked(200, 'epoch')).includes('checkpoint-share'));
});

test('clock-skew: a node that begins and ends at other times than the others', () => {
  const four = (skew: number, longer = 0): Material => {
    const names = ['c1', 'c2', 'c3', 'c4'];
    const nodes = names.map((name, i) => {
      const lifetime = span(3600 + (i === 1 ? longer : 0), 1, START + (i === 1 ? skew * 1e6 : i * 2e5));
      return node(name, agent(name, lifetime), [
        table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 15) })]),
      ]);
    });
    return material(job(3600, { nodes: names, asked: { nodes: 4 } }), nodes);
  };
  const { text, evidence, confidence } = finding(four(40), 'clock-skew');
  assert.match(text, /^The clock of c2 was 39\.\d s ahead of those of the other nodes$/);
  assert.match(evidence[0]!.text, /^c2: first sample \+39\.\d s, last sample \+39\.\d s/);
  assert.equal(confidence, 'medium');
  assert.match(finding(four(-40), 'clock-skew').text, /behind/);
  assert.ok(!ids(four(0.5)).includes('clock-skew'));
  assert.ok(!ids(four(40, -80)).includes('clock-skew'), 'it came late and went early');
  assert.equal(outcome(single(), 'clock-skew')?.why, 'the job has one node');
});

/** 40 writes of 4 KiB a second for an hour, which took so many milliseconds each. */
const writesOf = (ms: number) => ({
  writes: count(HOUR, 3600 * 40),
  write_ms: count(HOUR, 3600 * 40 * ms),
  written_bytes: count(HOUR, 3600 * 40 * 4096),
});
const withDisk = (figures: Parameters<typeof series>[2]): Material =>
  add(single(), table('disk', [series(HOUR, { disk: 'sda' }, figures, { class: 'disk' })]));

test('slow-file-system: requests that take longer and longer', () => {
  const disk = (late: number, size = 4096): Material => {
    const jobMaterial = withDisk(writesOf(20));
    jobMaterial.series = ((column: TableColumn) => {
      const value = (i: number): number => {
        if (column.name === 'writes') return 40;
        if (column.name === 'written_bytes') return 40 * (i < 60 ? 4096 : size);
        return 40 * (i < 60 ? 2 : late);
      };
      return [steps(column, value, { disk: 'sda' })];
    }) as never;
    return jobMaterial;
  };
  const { text, evidence, severity } = finding(disk(30), 'slow-file-system');
  assert.equal(text, 'The file system became slower on c1: writes to sda took 30 ms instead of 2 ms');
  assert.equal(severity, 'advice');
  assert.match(evidence[0]!.text, /2 ms each in the first third of the job, 30 ms from 40 min 12 s after its start$/);
  assert.ok(!ids(disk(6)).includes('slow-file-system'));
  assert.ok(!ids(disk(30, 1 * MIB)).includes('slow-file-system'), 'the job asks for more at once');
  assert.equal(report(single()).checks.find(({ id }) => id === 'slow-file-system')?.outcome, 'skipped');
});

test('slow-file-system: others that keep the disk busy while the job’s own calls stay as they were', () => {
  const disk = (own: number): Material => {
    const [writes, write_ms] = [count(HOUR, 3600 * 900), count(HOUR, 3600 * 900 * 20)];
    const jobMaterial = withDisk({ writes, write_ms, written_bytes: count(HOUR, 1e12) });
    jobMaterial.series = ((column: TableColumn) => {
      const isLate = (i: number): boolean => i >= 60;
      const value = (i: number): number => {
        if (column.table === 'process') return column.name === 'write_calls' ? 40 : isLate(i) ? own : 40 * 4096;
        if (column.name === 'writes') return isLate(i) ? 900 : 40;
        if (column.name === 'written_bytes') return isLate(i) ? 900 * MIB : 40 * 4096;
        return isLate(i) ? 900 * 30 : 40 * 2;
      };
      return [steps(column, value, column.table === 'disk' ? { disk: 'sda' } : { pid: '6', start: '1' })];
    }) as never;
    return jobMaterial;
  };
  assert.match(
    finding(disk(40 * 4096), 'slow-file-system').evidence[0]!.text,
    /; others moved 900 MiB a second there, the job’s own calls stayed as they were$/,
  );
  assert.ok(!ids(disk(900 * MIB)).includes('slow-file-system'), 'it is the job that asks for more');
});

test('slow-file-system: slow all the time, beside earlier jobs of the same folder', () => {
  const jobs = (each: readonly number[], where = 'c1'): Material => {
    const jobMaterial = withDisk(writesOf(40));
    jobMaterial.series = () => [];
    jobMaterial.past = (name) =>
      each.map((ms, i) => ({ job: `${name} ${i}`, node: where, series: series(HOUR, { disk: 'sda' }, writesOf(ms)) }));
    return jobMaterial;
  };
  const { text, evidence } = finding(jobs([2, 3, 4]), 'slow-file-system');
  assert.equal(text, 'The file system was slow on c1: writes to sda took 40 ms, in earlier jobs 3 ms');
  assert.equal(
    evidence[0]!.text,
    'c1: writes to sda: 3 ms each in 3 earlier jobs of the same folder, 40 ms in this one',
  );
  assert.ok(!ids(jobs([2, 3])).includes('slow-file-system'), 'two jobs are too few');
  assert.ok(!ids(jobs([20, 30, 40])).includes('slow-file-system'), 'it is always like that');
  assert.ok(!ids(jobs([2, 3, 4], 'c2')).includes('slow-file-system'), 'the disk of another node is another disk');
});
