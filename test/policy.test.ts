import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { archiveOf, HOUR, pastJob } from './made/policy-history.ts';
import { tacho } from './tacho.ts';

const NOW = Date.now() * 1000;

const POLICIES = `
[[policy]]
name = "low-cpu"
help = "Cores were idle"
per = "user"
total = ["cpu_use < 25%", "core_hours >= 50"]
`;

async function site(toml: string): Promise<{ archive: string; config: string }> {
  const jobs = [
    pastJob('1', NOW - 5 * HOUR, 10, 10),
    pastJob('2', NOW - 6 * HOUR, 10, 10, { user: 'bob', cpu_use: 0.9 }),
    pastJob('3', NOW - 40 * HOUR, 10, 10, { user: 'cleo' }),
  ];
  const archive = await archiveOf(jobs);
  const config = path.join(archive, 'site.toml');
  fs.writeFileSync(config, toml);
  return { archive, config };
}

test('policies are listed, tried on the past, and applied, without sending anything', async () => {
  const { archive, config } = await site(POLICIES);
  const ask = (...words: string[]): string => {
    const { code, out, err } = tacho(['policy', ...words, '--config', config]);
    assert.equal(code, 0, err);
    return out;
  };
  assert.match(
    ask('list'),
    /^low-cpu +on +user +7 d +list +jobs; per user in 7 d: cpu_use < 25% and core_hours >= 50$/m,
  );
  const run = JSON.parse(ask('run', '--archive', archive, '--format', 'json')) as {
    policy: string;
    jobs: number;
    cases: { user: string; totals: Record<string, number>; jobs: { job: string; figures: object }[] }[];
  }[];
  assert.deepEqual(
    run.map(({ policy, jobs, cases }) => [policy, jobs, cases.map(({ user, jobs: own }) => [user, own[0]!.job])]),
    [
      [
        'low-cpu',
        3,
        [
          ['ada', '1'],
          ['cleo', '3'],
        ],
      ],
    ],
  );
  assert.deepEqual(run[0]!.cases[0]!.totals.core_hours, 100);
  assert.match(ask('run', '--archive', archive), /^ada: 1 job, 100 core-hours \(90 not used\)/m);
  assert.match(
    ask('run', '--archive', archive, '--format', 'markdown'),
    /^\| ada \| 1 \| 100 core-hours \(90 not used\) \| 1 \|$/m,
  );
  assert.match(ask('run', 'low-cpu', '--archive', archive, '--format', 'csv'), /\nlow-cpu,\d+,ada,1,k,train,/);
  const past = ask('test', 'low-cpu', archive, '--from', '-14d');
  assert.match(past, /it would have sent 2 messages to 2 users about 2\s+jobs\./);
  assert.match(past, /These jobs had 200 core-hours \(180 not used\)\. 3 jobs looked at, 0 exempt/);
  const init = tacho(['policy', 'init']).out;
  const begin = path.join(archive, 'begin.toml');
  fs.writeFileSync(begin, init);
  const list = JSON.parse(tacho(['policy', 'list', '--config', begin, '--format', 'json']).out) as {
    enabled: boolean;
  }[];
  assert.ok(list.length >= 10);
  assert.ok(list.every(({ enabled }) => !enabled));
  assert.match(tacho(['policy', 'columns']).out, /^gpu_idle_seconds +seconds +most +How long a GPU did nothing/m);
});

test('what is wrong in a policy is said with its line', async () => {
  const { archive, config } = await site(POLICIES.replace('per =', 'pre ='));
  const { code, err } = tacho(['policy', 'run', '--config', config, '--archive', archive]);
  assert.equal(code, 2);
  assert.match(err, /site\.toml:5: unknown key "pre" in \[\[policy\]\]; did you mean "per"\?/);
  // nobody else is kept from working by it
  assert.equal(tacho(['jobs', archive, '--config', config]).code, 0);
});
