import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { makeHistoryArchive } from './made/history-archive.ts';
import { temporary } from './make-recording.ts';
import { type Answer, tacho } from './tacho.ts';

const archive = temporary();
const PERIOD = ['--from', '2024-03-01T00:00:00Z', '--to', '2024-11-01T00:00:00Z'];

const ask = (verb: string, ...args: string[]): Answer =>
  tacho([verb, archive, ...args], { env: { ...process.env, TZ: 'UTC', COLUMNS: '200' } });

/** What a verb prints when all is well. */
function outputOf(verb: string, ...args: string[]): string {
  const { code, out, err } = ask(verb, ...args);
  assert.deepEqual([code, err], [0, ''], `${verb} ${args.join(' ')}`);
  return out;
}

const lines = (text: string): string[] => text.trimEnd().split('\n');
/** Lines of text with single spaces. */
const squeezed = (text: string): string[] => lines(text).map((line) => line.trim().replaceAll(/\s+/g, ' '));
// biome-ignore lint/suspicious/noExplicitAny: answers of any verb
const json = (verb: string, ...args: string[]): any => JSON.parse(outputOf(verb, ...args, '--format', 'json'));

before(() => makeHistoryArchive(archive));

test('index: a damaged recording is named, the others are in it; jobs then answers', () => {
  const { code, out, err } = ask('index');
  assert.equal(code, 1);
  assert.equal(out, `${archive}: 8 recordings, 8 new, 0 changed, 0 removed, 1 left out\n`);
  assert.match(err, /^tacho: left out: .*\/job-8\/job\.json was written by a newer Tacho \(format 99;/);
  const again = ask('index', '--format', 'json');
  assert.equal(again.code, 1);
  const { recordings, added, changed, removed, troubles } = JSON.parse(again.out);
  assert.deepEqual([recordings, added, changed, removed], [8, 0, 0, 0]);
  assert.deepEqual(
    troubles.map((one: { recording: string }) => one.recording),
    ['job-8'],
  );
  assert.equal(
    outputOf('index', '--verify'),
    `${archive}: ok; 8 recordings, rows: 7 in jobs, 7 in job_nodes, 12 in node_hours, 4 in findings\n`,
  );
});

test('jobs: figures of every job, newest first, as CSV, JSON and text', () => {
  const columns =
    'job,user,account,partition,state,program,nodes,cpus,wall_seconds,core_hours,cpu_use,core_hours_wasted';
  assert.deepEqual(lines(outputOf('jobs', '--format', 'csv', '--columns', columns)), [
    columns,
    '7,ada,physics,cpu,completed,night,1,4,7200,8,1,0',
    '3,bob,chem,gpu,completed,train.py,1,4,14400,16,0.5,8',
    '4,eve,bio,shared,completed,greedy,1,2,3600,2,1.5,0',
    '5,dan,bio,shared,completed,modest,1,2,3600,2,0.5,1',
    '6,bob,chem,cpu,failed,broken,1,4,1800,2,1,0',
    '2,ada,physics,cpu,completed,sim,1,4,3600,4,1,0',
    '1,ada,physics,cpu,completed,sim,1,4,7200,8,0.25,6',
  ]);
  const [third] = json('jobs', '--job', '3');
  assert.deepEqual(
    [third.cpu_seconds, third.gpus, third.gpu_hours, third.gpu_use, third.gpus_unused, third.gpu_hours_wasted],
    [28_800, 1, 4, 0, 1, 4],
  );
  assert.equal(third.time, Date.parse('2024-03-30T23:00:00Z') * 1000);
  assert.equal(third.end_time, Date.parse('2024-03-31T03:00:00Z') * 1000);
  assert.equal('energy_joules' in third, false, 'what was not measured is not there');
  assert.deepEqual(squeezed(outputOf('jobs', '--job', '1')), [
    'job user name program state start elapsed nodes CPUs CPU core-h unused findings',
    '1 ada sim sim completed 2024-03-04 08:00 2 h 00 min 1 4 25 % 8 6 cpu-serial',
  ]);
});

test('jobs: filters', () => {
  const ids = (...args: string[]): string =>
    json('jobs', ...args, '--columns', 'job')
      .map(({ job }: { job: string }) => job)
      .join(' ');
  assert.equal(ids('--user', 'ada'), '7 2 1');
  assert.equal(ids('--user', 'b*,e?e'), '3 4 6');
  assert.equal(ids('--exclude-user', 'ada', '--exclude-program', 'greedy'), '3 5 6');
  assert.equal(ids('--account', 'bio'), '4 5');
  assert.equal(ids('--partition', 'cpu'), '7 6 2 1');
  assert.equal(ids('--node', 'c[1-2]'), '7 6 2 1');
  assert.equal(ids('--program', 'train.py'), '3');
  assert.equal(ids('--name', 'sim'), '2 1');
  assert.equal(ids('--state', 'failed'), '6');
  assert.equal(ids('--finding', 'cpu-*'), '5 1');
  assert.equal(ids('--tag', 'case:b'), '2');
  assert.equal(ids('--some-gpu'), '3');
  assert.equal(ids('--no-gpu', '--min', 'wall_seconds=2h'), '7 1');
  assert.equal(ids('--max', 'cpu_use=50%', '--sort', 'core_hours_wasted'), '3 1 5');
  // a job belongs to the period in which it ended
  assert.equal(ids('--from', '2024-03-31T00:00:00Z', '--to', '2024-04-01T00:00:00Z'), '3');
  assert.equal(ids('--to', '2024-03-04T10:00:00Z'), '');
  assert.equal(ids('--limit', '2'), '7 3');
  assert.equal(ids('--per-user', '1'), '7 3 4 5');
});

test('jobs: a column that is not there is named, with the one that was meant', () => {
  for (const args of [
    ['--max', 'cpu_yse=1'],
    ['--sort', 'cpu_yse'],
    ['--columns', 'cpu_yse'],
  ]) {
    const { code, err } = ask('jobs', ...args);
    assert.equal(code, 2);
    assert.match(err, /"cpu_yse"; did you mean "cpu_use"\?/);
  }
});

test('jobs --by: sums, with use weighed by core-hours', () => {
  const sums = json('jobs', '--by', 'user');
  assert.deepEqual(
    sums.map((sum: Record<string, unknown>) => [
      sum.group,
      sum.jobs,
      sum.failed,
      sum.core_hours,
      sum.core_hours_wasted,
    ]),
    [
      ['ada', 3, 0, 20, 6],
      ['bob', 2, 1, 18, 8],
      ['eve', 1, 0, 2, 0],
      ['dan', 1, 0, 2, 1],
    ],
  );
  // (8 × 0.25 + 4 × 1 + 8 × 1) / 20
  assert.ok(Math.abs(sums[0].cpu_use - 0.7) < 1e-9);
  assert.deepEqual(squeezed(outputOf('jobs', '--by', 'account'))[1], 'physics 3 0 20 70 % 6 - -');
});

test('history: by user, by day in a time zone, and only the part of a job that lies in the period', () => {
  const users = lines(outputOf('history', ...PERIOD, '--format', 'csv'));
  assert.deepEqual(users, ['group,value,jobs,hours', 'ada,20,3,', 'bob,18,2,', 'dan,2,1,', 'eve,2,1,']);
  assert.match(outputOf('history', ...PERIOD), /42 core-hours, 7 jobs\n\n.*\nada +20 +48 % +3 +#+\nbob +18 +43 % +2 /);
  const { total, rows, unit } = json('history', ...PERIOD, '--metric', 'cpu-use', '--by', 'account');
  assert.equal(unit, 'share');
  const uses = Object.fromEntries(rows.map((row: { group: string; value: number }) => [row.group, row.value]));
  // 14 of 20, 10 of 18, 4 of 4 core-hours were used, and 27 of 42 with what cannot be more than all of it
  assert.ok(Math.abs(uses.physics - 0.7) < 1e-9, String(uses.physics));
  assert.ok(Math.abs(uses.chem - 10 / 18) < 1e-9, String(uses.chem));
  assert.equal(total.jobs, 7);
  // job 3 runs four hours from 23:00 on, 4 core-hours in each
  const day = ['--from', '2024-03-31T00:00:00Z', '--to', '2024-03-31T02:00:00Z', '--format', 'csv'];
  assert.deepEqual(lines(outputOf('history', ...day)), ['group,value,jobs,hours', 'bob,8,1,']);
  const days = ['--from', '2024-03-30T12:00:00Z', '--to', '2024-03-31T12:00:00Z', '--by', 'day', '--format', 'csv'];
  assert.deepEqual(lines(outputOf('history', ...days, '--timezone', 'UTC')), [
    'group,value,jobs,hours',
    '2024-03-30,4,,12',
    '2024-03-31,12,,12',
  ]);
  // at 23:00 UTC it is midnight in Oslo
  assert.deepEqual(lines(outputOf('history', ...days, '--timezone', 'Europe/Oslo')), [
    'group,value,jobs,hours',
    '2024-03-30,,,11',
    '2024-03-31,16,,13',
  ]);
  // the day is one of Oslo, which had 23 hours
  const oslo = ['--from', '2024-03-31', '--to', '2024-04-01', '--timezone', 'Europe/Oslo', '--by', 'day'];
  assert.deepEqual(lines(outputOf('history', ...oslo, '--format', 'csv')), [
    'group,value,jobs,hours',
    '2024-03-31,16,,23',
  ]);
  assert.match(outputOf('history', ...oslo), /2024-03-31 00:00 to 2024-04-01 00:00 \(hours of Europe\/Oslo\)/);
});

test('history: CO2 is written in any case; energy that no job has is missing, not 0', () => {
  const asked = [...PERIOD, '--co2', '400', '--metric'];
  const { metric, unit, rows } = json('history', ...asked, 'co2');
  assert.deepEqual([metric, unit], ['CO2', 'kg CO2e']);
  assert.deepEqual(rows, json('history', ...asked, 'CO2').rows);
  assert.ok(rows.every((row: { value?: number }) => row.value === undefined));
});

test('history: the hour that clocks skip has nothing, the one that they repeat has two hours', () => {
  const byHour = (from: string, to: string): string[] => {
    const zone = ['--by', 'hour', '--timezone', 'Europe/Oslo', '--format', 'csv'];
    return lines(outputOf('history', '--from', from, '--to', to, ...zone)).filter((line) => /^\d\d,\d/.test(line));
  };
  assert.deepEqual(byHour('2024-03-30T23:00:00Z', '2024-03-31T22:00:00Z'), [
    '00,4,,1',
    '01,4,,1',
    '03,4,,1',
    '04,4,,1',
  ]);
  assert.deepEqual(byHour('2024-10-26T22:00:00Z', '2024-10-27T23:00:00Z'), ['02,8,,2']);
  const heat = json('history', ...PERIOD, '--by', 'hour-weekday', '--timezone', 'Europe/Oslo');
  const filledCells = heat.rows.filter(({ value }: { value?: number }) => value !== undefined);
  assert.deepEqual(
    filledCells.map(({ group, value }: { group: string; value: number }) => `${group} ${value}`),
    [
      ...['Monday 09 4', 'Monday 10 4', 'Monday 11 4', 'Tuesday 13 4', 'Thursday 01 2'],
      ...['Sunday 00 4', 'Sunday 01 4', 'Sunday 02 8', 'Sunday 03 4', 'Sunday 04 4'],
    ],
  );
});

test('waste: what was reserved and not used, the most first', () => {
  const rows = lines(outputOf('waste', ...PERIOD, '--format', 'csv'));
  assert.deepEqual(rows.slice(1), [
    'bob,,,2,18,8,4,4,,0,,gpu-unused',
    'ada,,,3,20,6,,,,0,,cpu-serial',
    'dan,,,1,2,1,,,,0,,cpu-underused',
    'eve,,,1,2,0,,,,0,,',
  ]);
  const jobs = json('waste', ...PERIOD, '--by', 'job', '--user', 'ada', '--limit', '1');
  assert.deepEqual([jobs.length, jobs[0].group, jobs[0].core_hours, jobs[0].core_hours_wasted], [1, '1', 8, 6]);
  assert.equal(squeezed(outputOf('waste', ...PERIOD, '--user', 'ada'))[1], 'ada 3 20 6 30 % cpu-serial');
});

test('hogs: more than the part that was given, on a full node, while somebody else was there', () => {
  const [row, ...others] = json('hogs', ...PERIOD);
  assert.deepEqual(others, []);
  assert.deepEqual([row.group, row.jobs, row.nodes, row.core_hours_used, row.contended_hours], ['eve', 1, 1, 3, 1]);
  // 3 CPUs of 2, of which 5 % more are nobody’s trouble
  assert.ok(Math.abs(row.core_hours_hogged - 0.9) < 1e-9);
  assert.match(lines(outputOf('hogs', ...PERIOD, '--format', 'csv'))[1]!, /^eve,,1,1,3,1,0\.(9|89)/);
  assert.match(outputOf('hogs', ...PERIOD, '--user', 'ada'), /^no user took more than a fair share of a full node/);
});

test('load: time that two jobs cover counts once', () => {
  const rows = json('load', '--from', '2024-03-12T00:00:00Z', '--to', '2024-03-13T00:00:00Z');
  assert.equal(rows.length, 1);
  const [{ node, seconds, cpus, cpu_use, jobs, cpus_allocated, time }] = rows;
  assert.deepEqual([node, seconds, cpus, cpu_use, jobs, cpus_allocated], ['c4', 3600, 4, 1, 2, 4]);
  assert.equal(time, Date.parse('2024-03-12T12:00:00Z') * 1000);
  const monday = ['--from', '2024-03-04T00:00:00Z', '--to', '2024-03-05T00:00:00Z'];
  assert.deepEqual(squeezed(outputOf('load', ...monday)).slice(1), [
    '2024-03-04 08:00 c1 1 h 00 min 4 25 % 4 1',
    '2024-03-04 09:00 c1 1 h 00 min 4 25 % 4 1',
    '2024-03-04 10:00 c2 1 h 00 min 4 100 % 4 1',
  ]);
  const days = json('load', ...monday, '--every', 'day', '--node', 'c1');
  assert.deepEqual([days.length, days[0].seconds, days[0].cpu_use], [1, 7200, 0.25]);
});

test('uptime: when samples came', () => {
  const period = ['--from', '2024-03-04T07:00:00Z', '--to', '2024-03-04T12:00:00Z', '--node', 'c1'];
  const hour = (micros: number): number => (micros / 1e6 - Date.parse('2024-03-04T00:00:00Z') / 1e3) / 3600;
  const spans = json('uptime', ...period);
  assert.deepEqual(
    spans.map(({ node, state, start, end }: Record<string, never>) => [node, state, hour(start), hour(end)]),
    [
      ['c1', 'silent', 7, 8],
      ['c1', 'up', 8, 10],
      ['c1', 'silent', 10, 12],
    ],
  );
  assert.equal(lines(outputOf('uptime', ...period, '--only-up', '--format', 'csv')).length, 2);
  assert.deepEqual(
    squeezed(outputOf('uptime', ...period, '--only-up'))[1],
    'c1 node up 2024-03-04 08:00 2024-03-04 10:00 2 h 00 min',
  );
});

test('sql: the tables of the index', () => {
  const query = 'select "user", sum(core_hours) as hours from jobs group by 1 order by 1';
  const sql = (...args: string[]): Answer => tacho(['sql', ...args], { env: { ...process.env, TZ: 'UTC' } });
  assert.equal(sql(query, archive, '--format', 'csv').out, 'user,hours\nada,20\nbob,18\ndan,2\neve,2\n');
  assert.deepEqual(JSON.parse(sql('select finding, job from findings order by 2', archive, '--format', 'json').out), [
    { finding: 'cpu-serial', job: '1' },
    { finding: 'gpu-unused', job: '3' },
    { finding: 'cpu-underused', job: '5' },
    { finding: 'job-failed', job: '6' },
  ]);
  assert.deepEqual(squeezed(sql('select count(*) as n from node_hours', archive).out), ['n', '12']);
  const refused = sql('drop table jobs', archive);
  assert.equal(refused.code, 2);
});

test('a period without data says when there are some', () => {
  for (const verb of ['history', 'waste', 'hogs']) {
    const { code, out, err } = ask(verb, '--from', '2020-01-01T00:00:00Z', '--to', '2020-02-01T00:00:00Z');
    assert.deepEqual([code, out], [1, ''], verb);
    assert.match(err, /no job ran between 2020-01-01 .* and 2020-02-01 .* that matches/);
    assert.match(err, /jobs started between 2024-03-04 08:00.* and 2024-10-27 00:00/);
  }
  const none = ask('jobs', '--from', '2020-01-01T00:00:00Z', '--to', '2020-02-01T00:00:00Z');
  assert.deepEqual([none.code, none.out], [0, '']);
  assert.match(none.err, /no job matches; jobs started between 2024-03-04 08:00.* and 2024-10-27 00:00/);
  const nodes = ask('uptime', '--from', '2020-01-01T00:00:00Z', '--to', '2020-02-01T00:00:00Z');
  assert.deepEqual([nodes.code, nodes.out], [1, '']);
  assert.match(nodes.err, /no node was recorded before 2020-02-01/);
  const wrong = ask('history', '--from', '2024-03-02', '--to', '2024-03-01');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /the period ends before it begins/);
});
