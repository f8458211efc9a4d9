import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { configFlags, configOf } from './flags.ts';
import { configReference } from './reference.ts';

test('flags, their values and help come from the settings', async () => {
  const keys = ['interval', 'redact', 'sources.disable', 'spool.part_size'] as const;
  const command = configFlags(new Command(), keys, { interval: '-i' });
  const help = command.helpInformation().replaceAll(/\s+/g, ' ');
  assert.match(
    help,
    /-i, --interval <duration> time between samples, from 0\.1 s up \(default: 1s\) \[TACHO_INTERVAL\]/,
  );
  assert.match(help, /--redact leave the arguments/);
  command.parse(['-i', '2s', '--redact', '--without', 'nfs,gpu', '--spool-part-size', '1M', '--config', '/dev/null'], {
    from: 'user',
  });
  const config = await configOf(command.opts(), keys);
  assert.deepEqual(
    [config.interval, config.redact, config['sources.disable'], config['spool.part_size']],
    [2, true, ['nfs', 'gpu'], 1024 ** 2],
  );
});

test('a flag with a list that is given again adds to it, and the help says so', async () => {
  const keys = ['hub.addresses', 'sources.disable'] as const;
  const command = configFlags(new Command(), keys);
  const given = ['--hub', 'a:1', '--without', 'nfs', '--hub', 'b:2,c:3', '--without', 'gpu', '--config', '/dev/null'];
  command.parse(given, { from: 'user' });
  const config = await configOf(command.opts(), keys);
  assert.deepEqual(config['hub.addresses'], ['a:1', 'b:2', 'c:3']);
  assert.deepEqual(config['sources.disable'], ['nfs', 'gpu']);
  const help = command.helpInformation().replaceAll(/\s+/g, ' ');
  assert.match(help, /do not record these tables; several with commas, or the flag again \[TACHO_SOURCES_DISABLE\]/);
});

test('a table that does not exist is refused with what was probably meant', async () => {
  await assert.rejects(configOf({ without: ['nsf'], config: '/dev/null' }, ['sources.disable']), {
    message: '--without: there is no table "nsf"; did you mean "nfs"?',
    exit: 2,
  });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-flags-'));
  const file = path.join(folder, 'tacho.toml');
  try {
    fs.writeFileSync(file, '# site\n[sources]\ndisable = ["intr"]\n');
    await assert.rejects(configOf({ config: file }, ['sources.disable']), {
      message: `${file}:3: there is no table "intr"`,
    });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('the reference lists every key with variable, flag and default', () => {
  const text = configReference();
  assert.match(
    text,
    /\| `spool\.part_time` \| `TACHO_SPOOL_PART_TIME` \| `--spool-part-time` \| a duration .* \| `"10min"` \|/,
  );
  assert.match(text, /\| `--hub` \| a list such as \["one", "two"\]; variable and flag: one,two \|/);
  assert.match(text, /\| `timeout` \| a duration such as "5s" \|/);
});
