import assert from 'node:assert/strict';
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

test('a table that does not exist is refused with what was probably meant', async () => {
  await assert.rejects(configOf({ without: ['nsf'], config: '/dev/null' }, ['sources.disable']), {
    message: '--without (sources.disable): there is no table "nsf"; did you mean "nfs"?',
    exit: 2,
  });
});

test('the reference lists every key with variable, flag and default', () => {
  const text = configReference();
  assert.match(
    text,
    /\| `spool\.part_time` \| `TACHO_SPOOL_PART_TIME` \| `--spool-part-time` \| a duration .* \| `"10min"` \|/,
  );
  assert.match(text, /\| `timeout` \| a duration such as "5s" \|/);
});
