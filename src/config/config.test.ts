import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Fault } from '../base/fault.ts';
import { loadConfig, type Surroundings } from './config.ts';

let configFolder: string;
let around: Surroundings;

beforeEach(() => {
  configFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-config-'));
  for (const folder of ['work', 'home/.config/tacho', 'site'])
    fs.mkdirSync(path.join(configFolder, folder), { recursive: true });
  around = {
    folder: path.join(configFolder, 'work'),
    environment: { HOME: path.join(configFolder, 'home') },
    site: path.join(configFolder, 'site'),
    uid: process.getuid!(),
  };
});
afterEach(() => fs.rmSync(configFolder, { recursive: true }));

const write = (file: string, text: string): void => fs.writeFileSync(path.join(configFolder, file), text);

async function fault(promise: Promise<unknown>): Promise<Fault> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Fault, String(error));
  assert.equal(error.exit, 2);
  return error;
}

test('without any file there are defaults', async () => {
  const config = await loadConfig({}, undefined, around);
  assert.equal(config.interval, 1);
  assert.equal(config.recordings, undefined);
  assert.equal(config.redact, false);
  assert.deepEqual(config['sources.disable'], []);
  assert.equal(config['spool.part_size'], 64 * 1024 ** 2);
  assert.equal(config['spool.part_time'], 600);
  assert.deepEqual(config.files, []);
});

test('the nearer file counts, then the environment, then the flag', async () => {
  write('site/config.toml', 'interval = "10s"\nredact = true\n[sources]\ndisable = ["nfs", "lustre"]\n');
  write('home/.config/tacho/config.toml', 'interval = "5s"\nrecordings = "records"\n');
  write('work/tacho.toml', 'interval = 2\n');
  const config = await loadConfig({}, undefined, around);
  assert.equal(config.interval, 2);
  assert.equal(config.redact, true);
  assert.deepEqual(config['sources.disable'], ['nfs', 'lustre']);
  assert.equal(config.recordings, path.join(configFolder, 'home/.config/tacho/records'));
  const environment = {
    ...around.environment,
    TACHO_INTERVAL: '500ms',
    TACHO_SOURCES_DISABLE: 'gpu, power',
    TACHO_REDACT: 'no',
  };
  const loud = await loadConfig({ interval: 0.2 }, undefined, { ...around, environment });
  assert.equal(loud.interval, 0.2);
  assert.equal(loud.redact, false);
  assert.deepEqual(loud['sources.disable'], ['gpu', 'power']);
});

test('a named file is read instead of the others', async () => {
  write('site/config.toml', 'redact = true\n');
  write('work/mine.toml', 'interval = "3s"\n');
  const config = await loadConfig({}, 'mine.toml', around);
  assert.deepEqual([config.interval, config.redact], [3, false]);
  assert.match((await fault(loadConfig({}, 'none.toml', around))).message, /--config: there is no file none\.toml/);
  const environment = { TACHO_CONFIG: 'gone.toml' };
  assert.match(
    (await fault(loadConfig({}, undefined, { ...around, environment }))).message,
    /TACHO_CONFIG: .*gone\.toml/,
  );
});

test('root takes from TACHO_CONFIG only what is root’s; what --config names it has named itself', {
  skip: process.getuid!() === 0 ? false : 'needs root',
}, async () => {
  write('work/mine.toml', 'interval = "3s"\n');
  const root = { ...around, uid: 0, environment: { TACHO_CONFIG: 'mine.toml' } };
  assert.equal((await loadConfig({}, undefined, root)).interval, 3);
  fs.chownSync(path.join(configFolder, 'work/mine.toml'), 12_345, 12_345);
  assert.match((await fault(loadConfig({}, undefined, root))).message, /TACHO_CONFIG: mine\.toml belongs to another/);
  assert.equal((await loadConfig({}, 'mine.toml', root)).interval, 3);
  assert.equal((await loadConfig({}, undefined, { ...root, uid: 12_346 })).interval, 3);
});

test('an unknown key is named with its line and what was probably meant', async () => {
  write('work/tacho.toml', '# mine\nintervall = "1s"\n\n[sources]\ndisabel = []\n\n[spol]\nx = 1\n');
  const { message, hint } = await fault(loadConfig({}, undefined, around));
  assert.equal(
    message,
    `${path.join(configFolder, 'work/tacho.toml')}:2: unknown key "intervall"; did you mean "interval"?`,
  );
  assert.match(hint!, /tacho\.toml:5: unknown key "sources\.disabel"; did you mean "sources\.disable"\?/);
  assert.match(hint!, /tacho\.toml:7: unknown key "spol"/);
});

test('a value of the wrong type is named with its line and what to write', async () => {
  const cases: [string, RegExp][] = [
    ['\ninterval = true\n', /:2: interval must be a duration of at least 100 ms, such as "1s", not true/],
    ['interval = "abc"\n', /:1: interval must be a duration .*not "abc"/],
    ['interval = 0\n', /:1: interval must be/],
    ['redact = "yes"\n', /:1: redact must be true or false, not "yes"/],
    ['[sources]\ndisable = "nfs"\n', /:2: sources\.disable must be a list/],
    ['[sources]\ndisable = ["nfs", 3]\n', /:2: sources\.disable must be a list/],
    ['sources = 3\n', /:1: \[sources\] must be a section/],
    ['[[source]]\nname = "A b"\ncommand = "x"\n', /:2: name must be a name of lower case letters/],
    ['\n[[source]]\nname = "a"\n', /:2: a \[\[source\]\] needs either a module or a command/],
    [
      '[[source]]\nname = "a"\ncommand = "x"\n[[source]]\nname = "cpu"\ncommand = "x"\n',
      /:5: Tacho has a table named "cpu"/,
    ],
    ['[[source]]\nname = "agent"\ncommand = "x"\n', /:2: Tacho has a table named "agent"/],
    ['[[source]]\nname = "a"\ncomand = "x"\n', /:3: unknown key "comand" in \[\[source\]\]; did you mean "command"\?/],
    [
      '[[source]]\nname = "a"\ncommand = "x"\n\n[[source]]\nname = "b"\ncommand = "x"\n[[source]]\ncommand = "y"\nname = "a"\n',
      /:10: the name "a" is taken by the \[\[source\]\] of line 2/,
    ],
    ['[rules.swap]\n\nbytes = "1GiB"\n', /:3: rules\.swap\.bytes must be a number, not "1GiB"/],
    ['[rules]\noff = "swap"\n', /:2: rules\.off must be a list/],
    ['[rules]\noof = ["swap"]\n', /:2: unknown key "rules\.oof"; did you mean "rules\.off"\?/],
    ['rules = 3\n', /:1: \[rules\] must be a section/],
    ['interval = \n', /:1: not valid TOML/],
  ];
  for (const [text, expected] of cases) {
    write('work/tacho.toml', text);
    const { message, hint } = await fault(loadConfig({}, undefined, around));
    assert.match(`${message}\n${hint}`, expected);
  }
});

test('a wrong value in the environment names its variable', async () => {
  const environment = { TACHO_INTERVAL: 'soon' };
  const { message } = await fault(loadConfig({}, undefined, { ...around, environment }));
  assert.equal(message, 'TACHO_INTERVAL in the environment: "soon" is not a duration');
});

test('a variable that Tacho does not know is named, with what was probably meant', async () => {
  const environment = {
    TACHO_INTERVALL: '5s',
    TACHO_TAGS: 'a:b',
    TACHO_RECORD: '/x',
    TACHO_QQQQ: '',
    TACHO_REDACT: '',
  };
  const { warnings } = await loadConfig({}, undefined, { ...around, environment });
  assert.deepEqual(warnings, [
    "the variable TACHO_INTERVALL is not one of Tacho's and is not used; did you mean TACHO_INTERVAL?",
    "the variable TACHO_QQQQ is not one of Tacho's and is not used",
  ]);
});

test("the user's own sources come from every file, the nearer one counting", async () => {
  write(
    'site/config.toml',
    '[[source]]\nname = "fans"\ncommand = "fans"\n\n[[source]]\nname = "room"\ncommand = "room --json"\nformat = "json"\n',
  );
  write('work/tacho.toml', '[[source]]\nname = "fans"\nmodule = "fans.ts"\ninterval = "5s"\ntimeout = 2\n');
  const config = await loadConfig({}, undefined, around);
  assert.deepEqual(config.custom, [
    { name: 'fans', module: path.join(configFolder, 'work/fans.ts'), format: 'prometheus', interval: 5, timeout: 2 },
    { name: 'room', command: 'room --json', format: 'json', timeout: 10 },
  ]);
});

test("a tacho.toml of someone else's is not used, and that is said", async () => {
  write('work/tacho.toml', 'interval = "9s"\n');
  const file = path.join(configFolder, 'work/tacho.toml');
  if (process.getuid!() === 0) fs.chownSync(file, 12_345, 12_345);
  const config = await loadConfig({}, undefined, { ...around, uid: 54_321 });
  // without root the file cannot be given away, but it still is not that user's
  assert.equal(config.interval, 1);
  assert.match(config.warnings[0]!, /belongs to another user; --config/);
});

test("someone else's link to a configuration is not followed, and a pipe is not waited for", {
  skip: process.getuid!() === 0 ? false : 'needs root',
}, async () => {
  write('site/other.toml', '[[source]]\nname = "room"\nmodule = "./room.mjs"\n');
  const link = path.join(configFolder, 'work/tacho.toml');
  fs.rmSync(link, { force: true });
  fs.symlinkSync('../site/other.toml', link);
  fs.lchownSync(link, 12_345, 12_345);
  const config = await loadConfig({}, undefined, { ...around, uid: 0 });
  assert.deepEqual(config.custom, []);
  assert.match(config.warnings[0]!, /belongs to another user; --config/);
  // one's own link leads to where its module lies
  fs.lchownSync(link, 0, 0);
  const own = await loadConfig({}, undefined, { ...around, uid: 0 });
  assert.equal(own.custom[0]!.module, path.join(fs.realpathSync(configFolder), 'site/room.mjs'));
  fs.rmSync(link);
  execFileSync('mkfifo', [link]);
  await assert.rejects(
    loadConfig({}, undefined, { ...around, uid: 0 }),
    /cannot read the configuration .*: it is not an ordinary file/,
  );
  fs.rmSync(link);
});

test("a configuration in someone else's home is not used, as sudo may leave HOME to root", {
  skip: process.getuid!() === 0 ? false : 'needs root',
}, async () => {
  write('home/.config/tacho/config.toml', 'interval = "9s"\n');
  fs.chownSync(path.join(configFolder, 'home/.config/tacho/config.toml'), 12_345, 12_345);
  const config = await loadConfig({}, undefined, { ...around, uid: 0 });
  assert.equal(config.interval, 1);
  assert.match(config.warnings[0]!, /belongs to another user; --config/);
});

test("a configuration in a home that cannot be read is told, and is no error; the site's is one", async () => {
  const file = path.join(configFolder, 'home/.config/tacho/config.toml');
  fs.mkdirSync(file);
  const config = await loadConfig({}, undefined, around);
  assert.equal(config.warnings.length, 1);
  assert.ok(config.warnings[0]!.startsWith(`${file} is not used: `), config.warnings[0]);
  fs.mkdirSync(path.join(configFolder, 'site/config.toml'));
  assert.match((await fault(loadConfig({}, undefined, around))).message, /cannot read the configuration .*site/);
});

test('thresholds of rules add up over files: the nearest one counts, with its line', async () => {
  write('site/config.toml', '[rules.cpu-serial]\nfrom = 0.8\nto = 1.2\n');
  write('work/tacho.toml', '[rules.cpu-serial]\nfrom = 0.9\n');
  const { thresholds } = await loadConfig({}, undefined, around);
  assert.deepEqual(thresholds, [
    { rule: 'cpu-serial', name: 'from', value: 0.9, origin: `${path.join(configFolder, 'work/tacho.toml')}:2` },
    { rule: 'cpu-serial', name: 'to', value: 1.2, origin: `${path.join(configFolder, 'site/config.toml')}:3` },
  ]);
  // what is wrong in one is left out, and the others count
  write('work/tacho.toml', '[rules.cpu-serial]\nfrom = "much"\nto = 1.1\n');
  const warnings: string[] = [];
  const forgiven = await loadConfig({}, undefined, around, ({ message }) => warnings.push(message));
  assert.match(warnings.join(), /tacho\.toml:2: rules\.cpu-serial\.from must be a number, not "much"$/);
  assert.deepEqual(
    forgiven.thresholds.map(({ name, value }) => [name, value]),
    [
      ['from', 0.8],
      ['to', 1.1],
    ],
  );
});
