import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Host } from '../sources/host.ts';
import { checkMachine, type MachineCheck } from './check.ts';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-check-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const item = (check: MachineCheck, name: string) => {
  const checkItem = check.items.find((each) => each.name === name);
  assert.ok(checkItem, `no ${name}`);
  return checkItem;
};

test('on this machine a job can be recorded', async () => {
  const check = await checkMachine({ host: new Host(), folder, custom: [], environment: {} });
  assert.equal(check.records, true, JSON.stringify(check.items));
  for (const name of ['loadavg', 'meminfo', 'cpu', 'process']) assert.equal(item(check, name).state, 'ok');
  assert.match(item(check, 'process').text, /, [1-9]\d* row/);
  // what only agents add up says nothing about a machine
  assert.equal(check.items.filter(({ name }) => name === 'process_total').length, 0);
  assert.match(item(check, 'folder').text, new RegExp(`^${folder} can be written, .*iB free$`));
  assert.deepEqual(fs.readdirSync(folder), []);
});

test('a table that the configuration leaves out, or that must be named, is said to be not recorded', async () => {
  const tables = { only: [], without: ['loadavg'], also: [] };
  const check = await checkMachine({ host: new Host(), folder, custom: [], tables, environment: {} });
  assert.match(item(check, 'loadavg').text, /^5 columns; the configuration leaves it out$/);
  assert.match(item(check, 'cpu_interrupts').text, /; recorded only with --also cpu_interrupts$/);
  assert.doesNotMatch(item(check, 'meminfo').text, /;/);
});

test('what a link in the folder leads to is not written', async () => {
  const other = path.join(folder, 'other');
  fs.writeFileSync(other, 'other');
  fs.symlinkSync(other, path.join(folder, `.tacho-check-${process.pid}`));
  const check = await checkMachine({ host: new Host(), folder, custom: [], environment: {} });
  assert.equal(item(check, 'folder').state, 'ok');
  assert.equal(fs.readFileSync(other, 'utf8'), 'other');
});

test('an empty machine records nothing, and the check says what is missing', async () => {
  const root = path.join(folder, 'empty');
  fs.mkdirSync(root);
  const check = await checkMachine({ host: new Host(root), folder, custom: [], environment: {} });
  assert.equal(check.records, false);
  assert.equal(item(check, 'meminfo').state, 'failed');
  assert.equal(item(check, 'loadavg').state, 'limited');
  assert.equal(item(check, 'gpu').state, 'absent');
  assert.equal(item(check, 'cgroups').state, 'absent');
});

test('a folder that cannot be written is a failure with advice', async () => {
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const check = await checkMachine({ host: new Host(), folder: path.join(file, 'below'), custom: [], environment: {} });
  assert.equal(check.records, false);
  assert.match(item(check, 'folder').text, /cannot be written: not a folder/);
  assert.match(item(check, 'folder').hint!, /-o FOLDER/);
});

test('a module that never returns takes no other source with it', async () => {
  const table = "export const table = { columns: [{ name: 'value' }] };";
  for (const [name, read] of [
    ['spins', 'function read() { for (;;); }'],
    ['loads', 'const read = () => { }; for (;;);'],
    ['sound', 'const read = () => ({ value: 1 });'],
  ])
    fs.writeFileSync(path.join(folder, `${name}.ts`), `${table} export ${read}`);
  const custom = ['spins', 'loads', 'sound'].map((name) => ({
    name,
    module: path.join(folder, `${name}.ts`),
    format: 'prometheus' as const,
    timeout: 30,
  }));
  const check = await checkMachine({ host: new Host(), folder, custom, environment: {} });
  assert.equal(item(check, 'sound').state, 'ok', item(check, 'sound').text);
  assert.equal(item(check, 'sound').text, '1 column');
  for (const name of ['spins', 'loads']) assert.equal(item(check, name).state, 'limited', item(check, name).text);
});

test("a user's own source is tried; a faulty one is named and does not stop the others", async () => {
  const custom = [
    { name: 'good', command: "printf 'temperature 21.5\\n'", format: 'prometheus', timeout: 60 },
    { name: 'bad', command: 'exit 3', format: 'prometheus', timeout: 60 },
  ] as const;
  const check = await checkMachine({ host: new Host(), folder, custom, environment: {} });
  assert.equal(item(check, 'good').state, 'ok', item(check, 'good').text);
  assert.equal(item(check, 'bad').state, 'limited');
  assert.match(item(check, 'bad').text, /exit/);
  assert.equal(check.records, true);
});
