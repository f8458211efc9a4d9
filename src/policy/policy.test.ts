import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../test/make-recording.ts';
import { Fault } from '../base/fault.ts';
import { readConfigFile } from '../config/file.ts';
import { EXAMPLE_POLICIES } from './examples.ts';
import { chosenPolicies, type Policy, policiesFrom } from './policy.ts';

async function policiesIn(toml: string): Promise<Policy[]> {
  const file = path.join(temporary(), 'tacho.toml');
  fs.writeFileSync(file, toml);
  const content = await readConfigFile(file);
  return policiesFrom(content!.policies);
}

/** What is refused, without the folder. */
async function refused(toml: string): Promise<string> {
  try {
    await policiesIn(toml);
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    assert.equal(error.exit, 2);
    return `${error.message}\n${error.hint}`.replaceAll(/\/\S*\/tacho\.toml/g, 'tacho.toml');
  }
  return 'accepted';
}

test('a policy, and what it is when little is said', async () => {
  const [one, two] = await policiesIn(`
interval = "2s"
[[policy]]
name = "idle"
when = ["cpu_use < 25%", "wall_seconds > 2h", "asked_memory_bytes >= 4GiB", "state != failed", "findings has gpu-*"]
unless = ["node_busy < 50%"]
users = ["a*"]
except_accounts = ["staff"]
gpu = false
[[policy]]
name = "sum"
per = "user"
window = "30d"
total = ["core_hours >= 50", "jobs > 3"]
actions = ["mail", "webhook"]
`);
  assert.deepEqual(
    one!.when.map(({ figure, operator, value }) => [figure.name, operator, value]),
    [
      ['cpu_use', '<', 0.25],
      ['wall_seconds', '>', 7200],
      ['asked_memory_bytes', '>=', 2 ** 32],
      ['state', '!=', 'failed'],
      ['findings', 'has', 'gpu-*'],
    ],
  );
  assert.deepEqual(one!.scope, { users: ['a*'], gpu: false, not: { accounts: ['staff'] } });
  assert.deepEqual(
    [one!.per, one!.jobs, one!.window_seconds, one!.period_seconds, one!.enabled, one!.actions, one!.to, one!.cancel],
    ['job', 'ended', 604_800, 604_800, true, ['list'], 'user', undefined],
  );
  assert.deepEqual([two!.period_seconds, two!.actions], [30 * 86_400, ['mail', 'webhook']]);
  assert.match(one!.origin, /tacho\.toml:3$/);
});

test('the policies to begin with are right, off, and never cancel', async () => {
  const all = await policiesIn(EXAMPLE_POLICIES);
  assert.ok(all.length >= 10, `${all.length}`);
  assert.deepEqual(chosenPolicies(all, []), []);
  assert.deepEqual(
    all.filter(({ cancel }) => cancel !== undefined),
    [],
  );
});

const WRONG: [string, string, RegExp][] = [
  ['an unknown key', 'windw = "1d"', /^tacho\.toml:4: unknown key "windw" in \[\[policy\]\]; did you mean "window"\?/],
  [
    'an unknown column',
    'unless = [\n  "cpu_use > 99%",\n  "cpu_usage < 1%",\n]',
    /^tacho\.toml:6: "cpu_usage < 1%": jobs have no column "cpu_usage"; did you mean "cpu_use"\?/,
  ],
  ['a wrong value', 'window = 7', /^tacho\.toml:4: window must be a duration such as "7d", not 7/],
  ['a wrong choice', 'per = "node"', /^tacho\.toml:4: per must be "job" or "user", not "node"/],
  ['a percentage without its sign', 'unless = ["cpu_use < 25"]', /is a share from 0 to 1\nwrite cpu_use < 25%/],
  ['no condition', 'unless = ["cpu"]', /^tacho\.toml:4: "cpu" is no condition/],
  ['no amount', 'unless = ["wall_seconds > 2x"]', /"2x" is no amount\nwrite a number, or one with s, m, min, h, d/],
  ['a text that is compared', 'unless = ["state < 3"]', /state is a text: compare it with = or !=/],
  ['a list that is none', 'unless = ["state has failed"]', /state is no list\nwrite state = failed/],
  ['a total without users', 'total = ["core_hours > 5"]', /^tacho\.toml:4: total is about all jobs of a user together/],
  ['a total among jobs', 'unless = ["jobs > 5"]', /jobs is known of all jobs of a user together/],
  [
    'a period beyond the window',
    'window = "1d"\nperiod = "7d"',
    /^tacho\.toml:5: the period is longer than the window/,
  ],
  ['everything exempt', 'unless = ["core_hours > 1"]', /^tacho\.toml:4: "core_hours > 1" is in when, too/],
  ['warnings without cancel', 'warnings = 2', /^tacho\.toml:4: warnings is stated, and cancel is not/],
  ['cancel without warnings', 'cancel = true', /^tacho\.toml:4: cancel needs warnings/],
  ['cancelling what is over', 'cancel = true\nwarnings = 1', /only jobs that run can be cancelled/],
  ['cancelling in silence', 'cancel = true\nwarnings = 1\njobs = "running"', /cancel needs a way to warn before/],
  [
    'a command without a job',
    'cancel = true\nwarnings = 1\njobs = "running"\nactions = ["mail"]\ncancel_command = ["true"]',
    /^tacho\.toml:8: the command does not name the job/,
  ],
];

for (const [what, line, message] of WRONG)
  test(`refused: ${what}`, async () => {
    assert.match(await refused(`[[policy]]\nname = "a"\nwhen = ["core_hours > 1"]\n${line}\n`), message);
  });

test('refused: thresholds that contradict each other, no name, no condition, two of one name', async () => {
  const when = (list: string): Promise<string> => refused(`[[policy]]\nname = "a"\nwhen = [${list}]\n`);
  assert.match(
    await when('"cpu_use < 25%", "cpu_use > 50%"'),
    /^tacho\.toml:3: "cpu_use < 25%" and "cpu_use > 50%" never hold/,
  );
  assert.match(await when('"cpus > 4", "cpus <= 4"'), /never hold together/);
  assert.match(await when('"state = failed", "state = timeout"'), /never hold together/);
  assert.equal(await when('"cpus >= 4", "cpus <= 4"'), 'accepted');
  assert.equal(await when('"cpu_use > 10%", "cpu_use < 10.5%"'), 'accepted');
  assert.match(await refused('[[policy]]\nwhen = ["cpus > 1"]\n'), /^tacho\.toml:1: a \[\[policy\]\] needs a name/);
  assert.match(await refused('[[policy]]\nname = "a"\n'), /has no condition: it would report every job/);
  const twice = '[[policy]]\nname = "a"\nwhen = ["cpus > 1"]\n';
  assert.match(
    await refused(twice + twice),
    /^tacho\.toml:4: the name "a" is taken by the \[\[policy\]\] at tacho\.toml:1/,
  );
  assert.match(await refused('policy = "x"\n'), /^tacho\.toml:1: policy must be a list of sections: \[\[policy\]\]/);
  assert.throws(() => chosenPolicies([], ['a']), /there is no policy "a"/);
});
