import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { wholeProgram } from '../src/cli/program.ts';
import { verbs } from '../src/cli/verbs.ts';
import { cliReference, manualPages } from '../src/show/cli-reference.ts';
import { tacho } from './tacho.ts';

test('no line of any help is wider than 80 places', async () => {
  const below = (await wholeProgram()).commands.flatMap((command) =>
    command.commands.map((child) => [command.name(), child.name()]),
  );
  for (const args of [[], ...verbs.map(({ name }) => [name]), ...below]) {
    const { out, code } = tacho([...args, '--help']);
    assert.equal(code, 0, args.join(' '));
    const wide = out.split('\n').filter((line) => line.length > 80);
    assert.deepEqual(wide, [], args.join(' '));
    assert.doesNotMatch(out, /default: \[\]/);
    // what an option does stands in its column, not below it as if it were an example's comment
    assert.doesNotMatch(out, /^ {2}-.*\n {6}\S/m, args.join(' '));
    assert.doesNotMatch(out, /display help for command|\(default: [^)]*\) \(default: /, args.join(' '));
  }
});

test('help of a verb below another is its own, wherever the word help stands', () => {
  for (const args of [
    ['help', 'db', 'jobs'],
    ['db', 'help', 'jobs'],
    ['db', 'jobs', '--help'],
  ])
    assert.match(tacho(args).out, /^Usage: tacho db jobs \[options\]\n/, args.join(' '));
  for (const args of [
    ['help', 'db'],
    ['db', 'help'],
  ])
    assert.match(tacho(args).out, /^Usage: tacho db status\|/);
});

test('help is no verb with a manual page and a place in the reference', async () => {
  const program = await wholeProgram();
  const pages = [...manualPages(program, '1').keys()];
  assert.ok(pages.includes('tacho-db-jobs.1') && pages.includes('tacho-db.1'));
  assert.deepEqual(
    pages.filter((name) => /-help\.1$/.test(name)),
    [],
  );
  assert.doesNotMatch(cliReference(program, {}), /tacho \S+ help/);
});

/** What is printed is no answer of Tacho's, or there is none: shell code, a script, a token, a log. */
const OTHERS_WORDS =
  /^(mark|fom|env|notebook|hub|agent|completion|policy init|slurm hooks|token (key|node|user|administrator))$/;
/** Data, in formats of their own. */
const DATA = /^(export|db table)$/;
/** One answer, or a sentence about each thing; no table. */
const SENTENCES =
  /^(run|start|stop|report|top|plot|serve|mcp|seal|verify|index|annotate|submit|watch|push|check|demo|import \w+|model (create|enable|disable|delete)|db (status|migrate|delete|retire|drop)|dask (attach|csv|start|stop|new-job|status|detach)|job (begin|end)|share (make|revoke))$/;

function* leaves(command: Command, args: readonly string[] = []): Generator<[name: string, command: Command]> {
  if (command.commands.length === 0) yield [args.join(' '), command];
  for (const each of command.commands) yield* leaves(each, [...args, each.name()]);
}

test('every verb has an example, and says what it prints as JSON, a table also as CSV', async () => {
  const commandNames: string[] = [];
  for (const [name, command] of leaves(await wholeProgram())) {
    commandNames.push(name);
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    assert.match(help, new RegExp(`\\nExamples?:\\n(.*\\n)*.*tacho ${name}\\b`), name);
    const formats = command.options.find(({ long }) => long === '--format')?.argChoices ?? [];
    if (OTHERS_WORDS.test(name)) continue;
    assert.match(help, /--format <\w+>/, name);
    if (DATA.test(name)) continue;
    assert.ok(formats.includes('json'), name);
    assert.equal(formats.includes('csv'), !SENTENCES.test(name), `${name} --format csv`);
  }
  for (const name of ['run', 'db jobs', 'model list', 'outliers', 'import epmt', 'ls'])
    assert.ok(commandNames.includes(name), name);
});

test('a verb says what it does in a sentence; a default time has its unit', async () => {
  const wrong: string[] = [];
  for (const [name, command] of leaves(await wholeProgram())) {
    if (!/^[A-Z].*\.$/s.test(command.description())) wrong.push(`${name}: ${command.description()}`);
    for (const { flags, defaultValue, defaultValueDescription } of command.options)
      if (flags.includes('<duration>') && typeof defaultValue === 'number' && defaultValueDescription === undefined)
        wrong.push(`${name} ${flags}: ${defaultValue}`);
  }
  assert.deepEqual(wrong, []);
});
