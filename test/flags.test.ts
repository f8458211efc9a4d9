import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { LETTERS } from '../src/cli/flag-table.ts';
import { wholeProgram } from '../src/cli/program.ts';
import { configReference } from '../src/config/reference.ts';
import { makeRecording, temporary } from './make-recording.ts';
import { tacho } from './tacho.ts';

function* commands(command: Command, above = ''): Generator<[name: string, command: Command]> {
  for (const child of command.commands) {
    const name = `${above}${child.name()}`;
    yield [name, child];
    yield* commands(child, `${name} `);
  }
}

test('a letter means one flag in all verbs', async () => {
  const wrong: string[] = [];
  for (const [name, command] of commands(await wholeProgram()))
    for (const { short, long, hidden } of command.options) {
      if (hidden || short === undefined) continue;
      if (LETTERS[short] !== long) wrong.push(`tacho ${name}: ${short} is ${long}`);
    }
  assert.deepEqual(wrong, []);
});

test('--from and --to are moments everywhere, --format has a letter', async () => {
  const wrong: string[] = [];
  for (const [name, command] of commands(await wholeProgram()))
    for (const { flags, long, short, hidden } of command.options) {
      if (hidden) continue;
      if ((long === '--from' || long === '--to') && !flags.endsWith('<time>')) wrong.push(`tacho ${name}: ${flags}`);
      if (long === '--format' && short !== '-f') wrong.push(`tacho ${name}: ${flags}`);
    }
  assert.deepEqual(wrong, []);
});

test('a flag takes a value in all verbs, or in none; an amount is never a choice elsewhere', async () => {
  const values = new Map<string, Set<string>>();
  for (const [, command] of commands(await wholeProgram()))
    for (const { flags, long, hidden } of command.options) {
      if (hidden || long == null) continue;
      const value = /[<[](.*?)[\].>]/.exec(flags)?.[1]?.replace(/s$/, '') ?? '';
      values.set(long, (values.get(long) ?? new Set()).add(value));
    }
  const mixed = [...values].filter(([, kinds]) => kinds.has('') && kinds.size > 1);
  assert.deepEqual(mixed, []);
  for (const long of ['--last', '--state', '--interval', '--workers', '--every'])
    assert.equal(values.get(long)?.size, 1, `${long}: ${[...(values.get(long) ?? [])].join(', ')}`);
});

test('the flags that the reference of settings names are there', async () => {
  const flags = new Set(
    [...commands(await wholeProgram())].flatMap(([, { options }]) => options.map(({ long }) => long)),
  );
  const named = [...configReference().matchAll(/^\| `\S+` \| `TACHO_\S+` \| `(--\S+)` \|/gm)].map(([, long]) => long!);
  assert.ok(named.length > 50);
  assert.deepEqual(
    named.filter((long) => !flags.has(long)),
    [],
  );
});

test('old spellings work for one release, and the new ones are named', async () => {
  const cwd = temporary();
  await makeRecording({ folder: `${cwd}/one`, seconds: 5 });
  const same = (old: string, now: string, message: RegExp): void => {
    const [before, after] = [old, now].map((line) => tacho(line.split(' '), { cwd }));
    assert.deepEqual([before!.code, before!.out], [after!.code, after!.out], old);
    assert.match(before!.err, message);
    assert.doesNotMatch(after!.err, message);
    assert.match(before!.err, /the old spelling goes with the next release/);
  };
  same('list one -t', 'list one --tables', /-t is now --tables/);
  same('verify -n one', 'verify --dry-run one', /-n is now --dry-run/);
  same(
    'export one -t load --until 2030-01-01',
    'export one --table load --to 2030-01-01',
    /-t is now --table;.*--until is now --to;/s,
  );
  same('export one --table load --to -', 'export one --table load -o -', /--to - is now --output -/);
});
