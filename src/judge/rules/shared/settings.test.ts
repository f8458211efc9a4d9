import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { single } from '../../../../test/made/findings.ts';
import { Fault } from '../../../base/fault.ts';
import { loadConfig } from '../../../config/config.ts';
import { report } from '../../report.ts';
import { type RuleSettings, readRules, ruleSettingsOf, writtenRules } from './settings.ts';

let folder: string;
before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-rules-'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const configOf = (text: string) => {
  fs.writeFileSync(path.join(folder, 'tacho.toml'), text);
  const environment = {};
  return loadConfig({}, undefined, { folder, environment, site: path.join(folder, 'site'), uid: process.getuid!() });
};

async function wrong(text: string): Promise<string> {
  try {
    ruleSettingsOf(await configOf(text));
  } catch (error) {
    assert.ok(error instanceof Fault);
    return `${error.message}\n${error.hint}`.replaceAll(`${folder}/`, '');
  }
  return 'fine';
}

test('thresholds and rules that are off count in a report', async () => {
  // 9 of 16 CPUs are busy
  const jobMaterial = single({ busy: 9 });
  const reportWith = (settings?: RuleSettings) =>
    report(jobMaterial, settings).checks.find(({ id }) => id === 'cpu-underused') as { outcome: string; why?: string };
  assert.equal(reportWith().outcome, 'found');
  const lenient = ruleSettingsOf(await configOf('[rules.cpu-underused]\nlow = 0.5\n'));
  assert.deepEqual(lenient.thresholds.get('cpu-underused')!.very_low, 0.25);
  assert.equal(reportWith(lenient).outcome, 'fine');
  const off = ruleSettingsOf(await configOf('\n[rules]\noff = ["cpu-underused"]\n'));
  assert.deepEqual(reportWith(off), {
    id: 'cpu-underused',
    title: 'CPUs that were asked for and not used',
    outcome: 'skipped',
    why: `switched off by ${path.join(folder, 'tacho.toml')}:3`,
  });
});

test('unknown rules and thresholds are refused with the line and the nearest name', async () => {
  assert.match(
    await wrong('# mine\n[rules.cpu-seriall]\nfrom = 0.9\n'),
    /^tacho\.toml:3: there is no rule "cpu-seriall"; did you mean "cpu-serial"\?\ndocs\/configuration\.md lists the rules/,
  );
  assert.match(
    await wrong('[rules]\n[rules.cpu-serial]\nfrom = 0.9\nform = 0.8\n'),
    /^tacho\.toml:4: the rule cpu-serial has no threshold "form"; did you mean "from"\?\nit has from, to, /,
  );
  assert.match(
    await wrong('[rules.left-running]\nmost = 1\n'),
    /^tacho\.toml:2: the rule left-running has no threshold "most"\nit has none$/,
  );
  assert.match(
    await wrong('rules.off = ["swap", "swapp"]\n'),
    /^tacho\.toml:1: there is no rule "swapp"; did you mean "swap"\?/,
  );
  assert.equal(await wrong('[rules.swap]\n'), 'fine');
});

test('what is forgiven is told and not used', async () => {
  const warnings: string[] = [];
  const config = await configOf('[rules.cpu-serial]\nfrom = 0.9\nform = 0.8\n[rules]\noff = ["none", "swap"]\n');
  const { thresholds, off } = ruleSettingsOf(config, ({ message }) => warnings.push(message));
  assert.equal(warnings.length, 2);
  assert.equal(thresholds.get('cpu-serial')!.from, 0.9);
  assert.ok(!('form' in thresholds.get('cpu-serial')!));
  assert.deepEqual([...off.keys()], ['swap']);
});

test('another process judges with the same rules', async () => {
  const settings = ruleSettingsOf(
    await configOf('[rules]\nshortest = "9s"\noff = ["swap"]\n[rules.cpu-serial]\nfrom = 0.9\n'),
  );
  assert.deepEqual(readRules(JSON.parse(JSON.stringify(writtenRules(settings)))), settings);
});
