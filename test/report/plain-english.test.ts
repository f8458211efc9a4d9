import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import type { Material } from '../../src/query/material.ts';
import { footer, memoryLines } from '../../src/show/report/head.ts';
import { meters } from '../../src/show/report/meters.ts';
import { nodeRows, phaseRows, processRows, recordsText } from '../../src/show/report/rows.ts';
import { verdict } from '../../src/show/report/verdict.ts';
import { processTable } from '../../src/sources/process/table.ts';
import { testSet } from '../made/processes.ts';
import { agent, cgroup, job, material, node, START, sleep, span, training } from '../made/report-jobs.ts';
import { count, level, series, table } from '../made/report-statistics.ts';
import { reportText } from '../made/report-text.ts';

/** What the card says of small, short and idle jobs. */

const MIB = 2 ** 20;

/** Nodes with two CPUs each, so many of them busy. */
function nodes(wall: number, busy: number[], asked = {}) {
  const sampledSpan = span(wall);
  const names = busy.map((_, i) => `c${i + 1}`);
  return material(
    job(wall, { nodes: names, asked: { nodes: busy.length, cpus: 2 * busy.length, ...asked } }),
    busy.map((cpus, i) => node(names[i]!, agent(names[i]!, sampledSpan), [cgroup(sampledSpan, cpus, 80 * MIB)])),
  );
}

const findingOf = (findingOf: ReturnType<typeof nodes>, id: string) =>
  report(findingOf).findings.find((f) => f.id === id);

test('nobody is told to ask for 0 nodes', () => {
  assert.doesNotMatch(findingOf(nodes(600, [0.001, 0.001]), 'node-idle')!.advice, /ask for/);
  assert.match(findingOf(nodes(600, [1.9, 0.001, 0.001]), 'node-idle')!.advice, /or ask for 1 node\.$/);
});

test('busy CPUs have digits that matter', () => {
  assert.match(findingOf(nodes(600, [0.00019]), 'cpu-underused')!.text, /^< 0\.01 of 2 CPUs/);
  assert.match(findingOf(nodes(600, [0.123456]), 'cpu-underused')!.text, /^0\.12 of 2 CPUs/);
});

test('evidence that is left out is not miscounted', () => {
  const card = reportText([report(nodes(600, [1.9, 0.001, 0.001]))]).replace(/\s+/g, ' ');
  assert.match(card, /c2: CPU < 0\.1 %; c3: CPU < 0\.1 %; 0\.33 node-hours idle \(/);
});

test('in a pipe, what Tacho says is ASCII, and what people have named is as they wrote it', () => {
  const jobMaterial = nodes(600, [1.9]);
  jobMaterial.job.name = 'Größe – 5 µm → 3 µm';
  jobMaterial.markers = [{ time: START + 1e6, node: 'c1', action: 'begin', name: 'Übergang · ü' }];
  const card = reportText([report(jobMaterial)]);
  assert.match(card, /^4711 Größe – 5 µm → 3 µm /);
  assert.match(card, /^ {2}Übergang · ü /m);
  const rest = card.replaceAll(jobMaterial.job.name, '').replaceAll('Übergang · ü', '');
  assert.doesNotMatch(rest, /[^\x00-\x7f]/);
});

test('a job of some seconds gets no word about its time limit', () => {
  const short = nodes(5, [1], { time_limit_seconds: 86400 });
  assert.equal(findingOf(short, 'time-limit'), undefined);
  assert.equal(findingOf(nodes(600, [1], { time_limit_seconds: 86400 }), 'time-limit')?.severity, 'info');
});

test('only a job of less than half a minute is too short to judge waste', () => {
  assert.match(verdict(report(nodes(29, [1.9]))), /; too short to judge waste/);
  assert.doesNotMatch(verdict(report(nodes(56, [1.9]))), /too short/);
});

test('where a job was seen in part, nothing wrong is said of that part only', () => {
  const partlyJudged = /^Recorded only in part: \d+ checks found nothing wrong; \d+ could not be made\.$/;
  const verdictOf = (verdictOf: Material): string => verdict(report(verdictOf));
  assert.match(verdictOf(nodes(600, [1.9, 1.9])), /^Nothing wrong found by \d+ checks/);
  const damaged = nodes(600, [1.9, 1.9]);
  damaged.unread = [{ node: 'c1', table: 'disk', file: 'disk.csv.zst', why: 'it is cut off', whole: true, lines: 0 }];
  assert.match(verdictOf(damaged), partlyJudged);
  // only the second half was recorded
  const late = nodes(600, [1.9]);
  assert.match(verdictOf({ ...late, job: { ...late.job, start: late.job.start - 600e6 } }), partlyJudged);
  assert.ok(verdictOf(damaged).length <= 80, verdictOf(damaged));
  const absent = nodes(600, [1.9, 1.9]);
  assert.doesNotMatch(verdictOf({ ...absent, nodes: absent.nodes.slice(1) }), /^Nothing wrong/);
});

test('CPUs of a process count from its beginning, and not at all when it was too short', () => {
  const sampledSpan = { start: START + 1e6, end: START + 1.01e6, samples: 2 };
  const process = (pid: string, began: number) =>
    series(
      sampledSpan,
      { pid, start: String((START + began) / 1000) },
      { user_ms: { ...count(sampledSpan, 20), last: 160 } },
    );
  const jobMaterial = sleep();
  jobMaterial.nodes[0]!.tables = new Map([table('process', [process('1', 0.7e6), process('2', 1e6)])]);
  delete jobMaterial.processes;
  const { columns, rows } = processRows(report(jobMaterial), 5);
  const pid = columns.findIndex(({ head }) => head === 'pid');
  const cells = rows.map((row) => [row[pid], row[2]]);
  assert.deepEqual(cells, [
    ['1', '0.5'],
    ['2', '-'],
  ]);
});

test('the share of the CPU time that no record explains is told, why only when it matters', () => {
  const card = report(sleep());
  const records = {
    records: 0,
    starts: 1,
    samples: 0,
    by_parent: 0,
    threads: 0,
    failed: 0,
    cpu_seconds: 0,
    sampled_cpu_seconds: 0,
  };
  const lineOf = (cpu_seconds: number, unexplained: number, starts = 1) =>
    recordsText({ ...card, records: { ...records, starts, unexplained }, summary: { ...card.summary, cpu_seconds } });
  const left = (share: string): string => `no record explains ${share} of the job’s CPU time (wait4)`;
  const all = 'records explain all of the job’s CPU time (wait4)';
  assert.equal(lineOf(100, 0, 0), all);
  // nobody has counted what it used, unless a cgroup did
  const waited = 'records explain all that wait4 counted; what nobody waited for is not in it';
  assert.equal(lineOf(100, 0), `1 process killed or still running; ${waited}`);
  const lost_samples = [{ node: 'n1', table: 'process_end', rows: 1, why: 'no space left on the device' }];
  const full = { ...card, records: { ...records, unexplained: 0 }, quality: { ...card.quality, lost_samples } };
  assert.equal(recordsText(full), `1 process whose end was not recorded; ${waited}`);
  const summary = { ...card.summary, cpu_seconds: 100, cpu_source: 'cgroup' as const };
  assert.match(
    recordsText({ ...card, records: { ...records, unexplained: 0 }, summary })!,
    /explain all of .* \(cgroup\)$/,
  );
  assert.equal(lineOf(0.06, 0.18), `1 process killed or still running; ${left('11 ms (18 %)')}`);
  assert.equal(lineOf(0.0016, 0.19), `1 process killed or still running; ${left('0.3 ms (19 %)')}`);
  // processes use a little to end, after they have told what they used
  assert.equal(lineOf(0.31, 0.001, 0), all);
  const sleeper = { ...card, records: { ...records, starts: 0, records: 1, threads: 1, unexplained: 0.23 } };
  assert.equal(
    recordsText({ ...sleeper, summary: { ...card.summary, cpu_seconds: 0.0016 } }),
    `1 process recorded to the end, with 1 thread; ${all} but 0.4 ms`,
  );
  assert.equal(lineOf(0.01, 1, 0), left('10 ms (100 %)'));
  assert.equal(lineOf(0.011, 1, 0), left('11 ms (100 %)'));
  assert.equal(lineOf(1e7, 0.099), `1 process killed or still running; ${left('9.9 %')}`);
  const others = 'it was used by processes that were killed or cannot record themselves, or by others to end';
  assert.equal(lineOf(100, 0.5), `1 process killed or still running; ${left('50 %')}: ${others}`);
  // a script that started the recording and not that of its processes
  const nobody = 'no process recorded itself (eval "$(tacho env)" in the script has them do so)';
  assert.equal(lineOf(100, 1, 0), `${left('100 %')}: ${nobody}`);
});

test('what sampling saw is of the processes that left no record', () => {
  const card = report(sleep());
  const records = {
    records: 2,
    starts: 0,
    by_parent: 0,
    threads: 2,
    failed: 0,
    cpu_seconds: 1,
    sampled_cpu_seconds: 6,
  };
  const lineOf = (samples: number) => recordsText({ ...card, records: { ...records, samples } });
  assert.match(lineOf(5)!, /, 5 processes only sampled, sampling saw 6\.0 s of their CPU time$/);
  assert.match(lineOf(1)!, /, 1 process only sampled, sampling saw 6\.0 s of its CPU time$/);
});

test('equal shares are not told as a range', () => {
  const card = reportText([
    report(
      nodes(
        600,
        Array.from({ length: 40 }, () => 1.78),
      ),
    ),
  ]);
  assert.match(card, /more nodes, all 89 % of their CPUs busy/);
});

test('nodes without a process of the job count with the CPUs that were asked for', () => {
  const sampledSpan = span(600);
  const busy = table('process', [
    series(sampledSpan, { pid: '5', start: '0' }, { user_ms: count(sampledSpan, 300_000) }),
  ]);
  const names = ['c1', 'c2', 'c3'];
  const jobMaterial = material(
    job(600, { nodes: names, asked: { nodes: 3, cpus: 3 } }),
    names.map((name, i) => {
      const record = agent(name, sampledSpan, { scope: { members: 'tree' }, tables: [processTable] });
      return node(name, record, [
        table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]),
        ...(i === 0 ? [busy] : []),
      ]);
    }),
  );
  const { summary } = report(jobMaterial);
  assert.deepEqual([summary.cpus_busy, summary.cpus_measured], [0.5, 3]);
  const record = jobMaterial.nodes[2]!.agent!;
  record.unmeasured = [{ table: 'process', what: 'process', why: 'not allowed' }];
  assert.equal(report(jobMaterial).summary.cpus_measured, 2);
  assert.match(meters(report(jobMaterial))[1]!.text, /^0\.5 of 2 CPUs, .*, 2 of 3 nodes measured$/);
});

test('where nothing of the work was measured, what the command itself used is told as its own', () => {
  const sampledSpan = span(100);
  const usage = { ...sleep().job.usage!, user_seconds: 0.25, system_seconds: 0.05, max_rss_bytes: 3 * MIB };
  const reported = (nodes: string[], elsewhere?: true) => {
    const facts = job(100, { nodes, asked: { cpus: 4 }, usage: { ...usage, ...(elsewhere && { elsewhere }) } });
    const loads = table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]);
    const recorded = nodes.map((name) => node(name, agent(name, sampledSpan, { scope: { members: 'tree' } }), [loads]));
    return meters(report(material(facts, recorded)))
      .slice(1)
      .map(({ text }) => text);
  };
  const own = [
    'not measured; the command itself used 300 ms (wait4)',
    'not measured; the command’s own largest process had 3.0 MiB (wait4)',
  ];
  assert.deepEqual([reported(['c1', 'c2']), reported(['c1'], true)], [own, own]);
});

test('little memory is told in MiB', () => {
  const [reported] = report(nodes(600, [1], { memory_bytes: 100 * MIB })).nodes;
  const { columns, rows } = nodeRows([reported!]);
  assert.deepEqual([columns[3]!.head, rows[0]![3], rows[0]![4]], ['MiB', '80.0', '100.0']);
  assert.equal(nodeRows(report(training()).nodes).columns[3]!.head, 'GiB');
});

test('the card is ASCII also where only a part of the job was recorded', () => {
  const jobMaterial = nodes(600, [1]);
  jobMaterial.nodes[0]!.tables = new Map([table('loadavg', [series(span(300), {}, { load1: level(span(300), 1) })])]);
  const card = reportText([report(jobMaterial)], { all: true });
  assert.match(card, /of the job's time recorded/);
  assert.match(card, /^[\n\x20-\x7e]*$/);
  assert.match(card, /MiB memory at its peak/);
});

test('what recording took of the memory is told without the files that all share, where that is known', () => {
  const jobReport = report(nodes(600, [1]));
  const lineOf = (cost: Partial<typeof jobReport.cost>): string =>
    footer({ ...jobReport, cost: { ...jobReport.cost, max_rss_bytes: 60 * MIB, ...cost } }).join(' ');
  assert.match(lineOf({}), /, 60\.0 MiB memory at its peak[,.]/);
  const own = { max_own_bytes: 24 * MIB };
  assert.match(lineOf(own), /, 24\.0 MiB memory at its peak \(60\.0 MiB with shared files\)[,.]/);
  assert.match(
    lineOf({ ...own, in_memory_peak: true }),
    /\(60\.0 MiB with shared files; counted in the job’s by its cgroup\)/,
  );
});

test('peaks of which the largest is missing are not called those of all processes', () => {
  const jobReport = report(nodes(600, [1]));
  const lineOf = (process_peaks_sum: number) =>
    memoryLines({
      ...jobReport,
      summary: { ...jobReport.summary, memory: { process_peaks_sum, process_peak_max: 201 } },
    })[0]![0];
  assert.deepEqual([lineOf(8), lineOf(210)], ['peaks of sampled processes, added', 'peaks of all processes added']);
});

test('the card adds up the processes of a program, and has the largest', () => {
  const wrote = (wchar: number) => ({ usertime: 1.5e5, systemtime: 5e4, rchar: 0, wchar, time_waiting: 1e8 });
  const made = material(
    job(100, { nodes: ['c1'] }),
    [node('c1', agent('c1', span(100)), [cgroup(span(100), 1, MIB)])],
    {
      processes: testSet([
        { pid: 1, from: 0, to: 100, exename: 'sh', args: 'files.sh', cpu: 4 },
        ...Array.from({ length: 400 }, (_, i) => ({
          pid: 10 + i,
          ppid: 1,
          from: 1,
          to: 2,
          exename: 'dd',
          args: `of=f${i}`,
          cpu: 0.2,
          metrics: { ...wrote(262_144), rssmax: 2048 },
        })),
        ...Array.from({ length: 5 }, (_, i) => ({ pid: 500 + i, from: 3, to: 9, exename: `tool${i}`, cpu: 1 })),
        {
          pid: 600,
          from: 3,
          to: 9,
          exename: 'python3',
          args: '/x/load.py',
          cpu: 0.01,
          metrics: { rssmax: 9 * 2 ** 20 },
        },
      ]),
    },
  );
  const card = reportText([report(made)]);
  assert.match(card, /^ {2}dd +x 400 +1 min 20 s +80 % +2\.0 MiB/m);
  assert.match(card, /^ {2}python3 \/x\/load\.py .*9\.0 GiB/m);
  assert.match(card, /^ {2}job, by calls +0 B +100 MiB/m);
  assert.match(card, /^ +user 1 min 00 s, system 20\.0 s, 40\.0 s waiting for a CPU$/m);
  assert.match(card, /407 processes total, 11 % of the CPU time is that of processes/);
});

test('the line of the CPU time fits, whoever counted', () => {
  const jobReport = report(nodes(600, [1.9]));
  const summary = { ...jobReport.summary, cpu_source: 'records and samples' as const, cpus_measured: 128 };
  const card = reportText([{ ...jobReport, summary }]).split('\n');
  assert.match(card.find((line) => line.startsWith('  CPU '))!, / 1\.9 of 128 CPUs, 19 min 00 s$/);
});

test('the card of a job that was started again says so beside its id', () => {
  const card = (restart: number) => {
    const made = nodes(600, [1.9]);
    const jobReport = report({ ...made, job: { ...made.job, restart } });
    assert.equal(jobReport.job.restart, restart || undefined);
    return reportText([jobReport]).split(' COMPLETED')[0]!.trim();
  };
  assert.deepEqual([card(0), card(2)], ['4711 job', '4711 (restart 2) job']);
});

test('a long interval is told in minutes', () => {
  const head = (seconds: number) => {
    const made = sleep();
    return /sampled every (.*)/.exec(
      reportText([report({ ...made, job: { ...made.job, interval_seconds: seconds } })]),
    )![1];
  };
  assert.deepEqual([head(0.1), head(10), head(600)], ['0.1 s', '10 s', '10 min 00 s']);
});

test('of a phase that is not all in a part of the job the card tells when it began and how long it lasted', () => {
  const phases = [
    { name: 'run', start: 5e6, seconds: 5, began: 1e6, whole_seconds: 99 },
    { name: 'step', start: 5e6, end: 8e6, seconds: 3 },
    { name: 'sum', start: 8e6, end: 10e6, seconds: 2, whole_seconds: 4 },
  ];
  assert.deepEqual(
    phaseRows(phases, 0, 8).rows.map(([name, began, lasted, , , mark]) => [name, began, lasted, mark]),
    [
      ['run', '+1.0 s', '5.0 s', 'of 1 min 39 s total, never ended'],
      ['step', '+5.0 s', '3.0 s', ''],
      ['sum', '+8.0 s', '2.0 s', 'of 4.0 s total'],
    ],
  );
});

test('what samples alone tell of CPU time is called so: at least, and of a phase or a part about', () => {
  const phase = { name: 'run', start: 0, end: 1e6, seconds: 1, cpu_utilization: 0.5 };
  const shown = (cpu_source: 'processes' | 'cgroup', most: number) => {
    const { columns, rows } = phaseRows([{ ...phase, cpu_source }], 0, most);
    return rows[0]![columns.findIndex(({ head }) => head === 'CPU %')];
  };
  assert.deepEqual([shown('processes', 8), shown('processes', 0), shown('cgroup', 8)], ['about 50', 'about 50', '50']);
  const card = report(sleep());
  const used = (cpu_seconds: number, cpu_source: 'processes' | 'cgroup', confined = {}) => {
    const { cpu_utilization: _, ...summary } = { ...card.summary, cpu_seconds, cpu_source };
    return meters({ ...card, ...confined, summary }).find(({ name }) => name === 'CPU')!.text;
  };
  assert.equal(used(1.4, 'processes'), 'at least 1.4 s (sampled)');
  assert.equal(used(1.4, 'processes', { confined: { what: 'phase run' } }), 'about 1.4 s (sampled)');
  assert.equal(used(0, 'processes'), '0 s (sampled)');
  assert.equal(used(1.4, 'cgroup'), '1.4 s (cgroup)');
});
