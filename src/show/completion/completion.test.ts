import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { eventually } from '../../../test/made/eventually.ts';
import { completion } from './completion.ts';
import { offersFor } from './csh.ts';
import { treeOf } from './tree.ts';

let folder: string;

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-completion-'));
  fs.mkdirSync(path.join(folder, 'tacho-17'));
  fs.writeFileSync(path.join(folder, 'tacho.toml'), '');
});
after(() => fs.rmSync(folder, { recursive: true }));

type Asked = 'bash' | 'fish' | 'zsh';

const lacks = (shell: string): string | false =>
  spawnSync(shell, ['--version']).error === undefined ? false : `needs ${shell}`;

function program(): Command {
  const root = new Command('tacho').version('1', '--version', 'print the version');
  root
    .command('run')
    .summary("record a command: it's simple")
    .argument('[command...]')
    .option('-o, --output <folder>', 'where to');
  root
    .command('report')
    .summary('print the report card')
    .argument('[recordings...]')
    .addOption(new Option('--format <format>', 'how [text]').choices(['text', 'json', 'html']));
  root
    .command('mark')
    .command('begin')
    .addOption(new Option('--colour <name>').choices(['red', 'green']));
  root.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']));
  root.command('agent', { hidden: true });
  const database = root.command('db');
  database.command('report').addOption(new Option('--sort <by>').choices(['duration', 'cpu']));
  database.command('explore').argument('<experiment>').argument('[jobs...]').option('-n, --name <name>', 'a name');
  return root;
}

/** What each shell offers for a line; the last word is the one to complete. zsh is waited for until it offers `wanted`. */
const offers: Record<Asked, (line: string, wanted?: string) => string[]> = {
  bash(line) {
    const args = line.split(' ').map((word) => `'${word}'`);
    const script = `${completion('bash', program())}
      COMP_WORDS=(${args.join(' ')}); COMP_CWORD=${args.length - 1}; _tacho; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines(execFileSync('bash', ['--norc', '-c', script], { cwd: folder, encoding: 'utf8' }));
  },
  fish(line) {
    const script = `${completion('fish', program())}\ncomplete -C '${line}'`;
    const environment = { ...process.env, HOME: folder };
    const printed = execFileSync('fish', ['--no-config', '-c', script], {
      cwd: folder,
      encoding: 'utf8',
      env: environment,
    });
    return lines(printed).map((each) => each.split('\t')[0]!.replace(/\/$/, ''));
  },
  zsh(line, wanted = '') {
    // a zsh of its own on a pseudo terminal, where the key Tab is pressed; the list shows what it offers
    fs.writeFileSync(path.join(folder, '_tacho.zsh'), completion('zsh', program()));
    const script = `
      zmodload zsh/zpty
      zpty shell 'PS1="> " TERM=dumb zsh -f -i'
      zpty -w shell 'autoload -U compinit; compinit -D -u; source ./_tacho.zsh; zstyle ":completion:*" list-prompt ""; setopt no_beep; LISTMAX=0; echo ready'
      zpty -r -m shell text '*ready*ready*'
      zpty -w -n shell ${JSON.stringify(line)}$'\\t\\t'
      zpty -r -m shell text ${JSON.stringify(`*${wanted}*`)}
      print -r -- "$text"
      zpty -w -n shell $'\\x15'"echo finished"$'\\n'
      zpty -r -m shell text '*finished*finished*'
      print -r -- "$text"
      zpty -d shell`;
    const printed = execFileSync('zsh', ['-f', '-c', script], { cwd: folder, encoding: 'utf8', timeout: 120_000 });
    return printed.split(/\s+/).map((word) => word.replaceAll(/\x1b\[[^m]*m|\/$/g, ''));
  },
};

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

for (const shell of ['bash', 'fish'] as const) {
  test(`${shell} offers verbs, flags, values and recordings`, { skip: lacks(shell) }, () => {
    const offer = (line: string): string[] => offers[shell](line).sort();
    assert.deepEqual(offer('tacho re'), ['report']);
    assert.deepEqual(offer('tacho r'), ['report', 'run']);
    assert.deepEqual(offer('tacho ag'), []);
    assert.deepEqual(offer('tacho report --fo'), ['--format']);
    assert.deepEqual(offer('tacho report --format j'), ['json']);
    assert.deepEqual(offer('tacho report ta'), ['tacho-17']);
    assert.deepEqual(offer('tacho run -o ta'), ['tacho-17']);
    assert.deepEqual(offer('tacho completion z'), ['zsh']);
    assert.deepEqual(offer('tacho mark b'), ['begin']);
    assert.deepEqual(offer('tacho mark begin --co'), ['--colour']);
    assert.deepEqual(offer('tacho mark begin --colour r'), ['red']);
    assert.deepEqual(offer('tacho mark begin b'), []);
    // a verb of a verb that has the name of another one
    assert.deepEqual(offer('tacho db report --sort d'), ['duration']);
    assert.deepEqual(offer('tacho db report --fo'), []);
    assert.deepEqual(offer('tacho db explore -n x some ta'), ['tacho-17']);
    assert.ok(offer('tacho run -- unam').includes('uname'));
  });
}

test('zsh offers verbs, flags, values and recordings', { skip: lacks('zsh') }, () => {
  const offered = (line: string, wanted: string): boolean => offers.zsh(line, wanted).includes(wanted);
  assert.ok(offered('tacho r', 'report'));
  assert.ok(offered('tacho r', 'run'));
  assert.ok(offered('tacho report --format ', 'html'));
  const recordings = offers.zsh('tacho report ta', 'tacho-17');
  assert.ok(recordings.includes('tacho-17') && !recordings.includes('tacho.toml'));
  assert.ok(offered('tacho mark begin --colour ', 'green'));
  assert.ok(offered('tacho db ', 'explore'));
  assert.ok(offered('tacho db report --sort ', 'duration'));
  assert.ok(offered('tacho db explore some ta', 'tacho-17'));
});

test('bash completes --flag=value, names with spaces, and only where an argument may stand', {
  skip: lacks('bash'),
}, () => {
  assert.deepEqual(offers.bash('tacho report --format = j'), ['json']);
  assert.deepEqual(offers.bash('tacho report --format ='), ['text', 'json', 'html']);
  assert.deepEqual(offers.bash('tacho report --format = json ta'), ['tacho-17']);
  assert.deepEqual(offers.bash('tacho db explore ta'), []);
  fs.mkdirSync(path.join(folder, 'with space'));
  assert.deepEqual(offers.bash('tacho report wi'), ['with space']);
  fs.rmdirSync(path.join(folder, 'with space'));
});

/** tcsh on a pseudo terminal, where Ctrl-D lists what it offers: that, for each line. */
async function tcshOffers(lines: readonly string[]): Promise<string> {
  const rows = [
    `setenv PATH ${path.join(import.meta.dirname, '../../..')}:$PATH`,
    'eval "`tacho completion csh`"',
    'set prompt="ready> "',
  ];
  fs.writeFileSync(path.join(folder, 'start.csh'), `${rows.join('\n')}\n`);
  const shell = spawn('script', ['-qec', 'tcsh -f', '/dev/null'], {
    cwd: folder,
    env: { ...process.env, TERM: 'vt100' },
  });
  let printed = '';
  shell.stdout.on('data', (text) => {
    printed += text;
  });
  const until = (text: string): Promise<boolean> =>
    eventually(
      () => `${text} in: ${printed}`,
      () => printed.includes(text),
    );
  try {
    shell.stdin.write('source start.csh\n');
    await until('ready> ');
    printed = '';
    // Ctrl-D lists, Ctrl-U takes the line back
    shell.stdin.write(`${lines.map((line) => `${line}\x04\x15`).join('')}echo fin""ished\n`);
    await until('finished');
  } finally {
    shell.kill('SIGKILL');
  }
  return printed;
}

const lacksTcsh = lacks('tcsh') || (spawnSync('script', ['--version']).error !== undefined && 'needs script(1)');

test('tcsh offers verbs, flags, values and recordings', { skip: lacksTcsh, timeout: 300_000 }, async () => {
  const printed = await tcshOffers([
    'tacho opera',
    'tacho processes --sort d',
    'tacho export --layout om',
    'tacho db ret',
    'tacho export --table mem',
    'tacho outliers tacho-1',
  ]);
  const offeredWords = new Set(printed.split(/[\s\x07]+/));
  for (const word of ['operations', 'duration', 'omnistat', 'retire', 'meminfo', 'tacho-17'])
    assert.ok(offeredWords.has(word), `${word}: ${printed}`);
});

test('what a line could go on with', () => {
  const tree = treeOf(program());
  const offer = (line: string): string[] => offersFor(tree, line, folder);
  assert.deepEqual(offer('tacho re'), ['report']);
  assert.deepEqual(offer('tacho db report --sort d'), ['duration']);
  assert.deepEqual(offer('tacho db explore some ta'), ['tacho-17']);
  assert.deepEqual(offer('tacho db explore ta'), []);
  assert.deepEqual(offer('tacho completion z'), ['zsh']);
  assert.deepEqual(offer('tacho report --fo'), ['--format']);
  assert.deepEqual(offer('tacho run -- ta'), []);
});
