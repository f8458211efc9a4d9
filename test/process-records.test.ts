import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ours } from '../src/base/ours.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const built = fs.existsSync(ours('native/build/libtacho-record.so'));
const skip = !built && 'needs native/build/libtacho-record.so (no compiler when it was set up)';

/** The rows of a table by the names of their columns, of all nodes. */
function rows(recording: string, table: string): Record<string, string | number>[] {
  return openRecording(recording).nodes.flatMap((node) => {
    if (!node.tables.has(table)) return [];
    const batch = readTable(node, table);
    return Array.from({ length: batch.rows }, (_, r) => {
      const row: Record<string, string | number> = { time: batch.time[r]! };
      for (const [name, values] of batch.numbers) row[name] = values[r]!;
      for (const [name, { codes, values }] of batch.texts) row[name] = values[codes[r]!]!;
      return row;
    });
  });
}

const byTime = (all: Record<string, string | number>[]) => all.sort((a, b) => Number(a.time) - Number(b.time));
/**
 * Programs and copies of programs that began. On a machine with much to do, what was told of a program, and the copy of the
 * shell that becomes it, may have rows of their own, a second before the program has its.
 */
function starts(recording: string): Record<string, string | number>[] {
  const all = byTime(rows(recording, 'process_start'));
  return all.filter((row, at) => row.began === 'exec' || !all.slice(at + 1).some((next) => next.pid === row.pid));
}
const recordsOf = (recording: string): string => path.dirname(openRecording(recording).job.process_records!.file);

test('tacho run records every process, its end and its threads, and leaves nothing on the node', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const script =
    'i=0; while [ $i -lt 300 ]; do /bin/true $i; i=$((i+1)); done; TACHO_TAGS=op:last /bin/echo end; exit 5';
  const result = tacho(['run', '--no-report', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  assert.equal(result.code, 5);
  assert.equal(result.out, 'end\n');
  assert.equal(result.err, '');
  const recording = path.join(cwd, 'r');
  const ends = byTime(rows(recording, 'process_end'));
  assert.equal(ends.length, 302);
  assert.deepEqual(
    ends.filter((row) => row.exename === 'true').map((row) => row.args),
    Array.from({ length: 300 }, (_, i) => String(i)),
  );
  const shell = ends.at(-1)!;
  assert.deepEqual([shell.args, shell.exitcode], [`-c '${script}'`, 5]);
  assert.ok(ends.every((row) => row === shell || row.ppid === Number(shell.pid)));
  assert.equal(ends.find((row) => row.exename === 'echo')!.tags, 'op:last');
  assert.equal(starts(recording).length, 302);
  assert.equal(rows(recording, 'thread_end').length, 302);
  // the launcher and Tacho itself are not the job's
  assert.ok(ends.every((row) => !['launch', 'node'].includes(String(row.exename))));
  // all of the command's CPU time is explained
  const { usage } = openRecording(recording).job;
  const sumOf = (some: typeof ends, ...names: string[]): number =>
    some.reduce((sum, row) => sum + names.reduce((own, name) => own + Number(row[name]), 0), 0) / 1e6;
  const total = usage!.user_seconds + usage!.system_seconds;
  const explained = sumOf([shell], 'usertime', 'systemtime', 'cutime', 'cstime');
  assert.ok(explained > total * 0.95 && explained < total * 1.01, `${explained} of ${total} s`);
  // what a process uses after it has said its end, its parent sees: as much as that is on this machine
  const children = [sumOf(ends.slice(0, -1), 'usertime', 'systemtime'), sumOf([shell], 'cutime', 'cstime')] as const;
  assert.ok(children[0] > children[1] * 0.5 && children[0] < children[1] * 1.01, `${children} s`);
  assert.ok(!fs.existsSync(recordsOf(recording)));
});

test('what the user preloads stays, and --no-processes leaves the environment alone', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const show = ['--', 'sh', '-c', 'echo "$LD_PRELOAD|$TACHO_RECORD"'];
  const env = { ...process.env, LD_PRELOAD: path.join(path.dirname(TACHO), 'native/build/libtacho-record.so') };
  assert.equal(tacho(['run', '--no-report', '-o', 'off', '--no-processes', ...show], { cwd }).out, '|\n');
  assert.deepEqual(rows(path.join(cwd, 'off'), 'process_end'), []);
  assert.equal(openRecording(path.join(cwd, 'off')).job.process_records, undefined);
  const twice = tacho(['run', '--no-report', '-o', 'on', ...show], { cwd, env });
  assert.equal(twice.out, `${env.LD_PRELOAD}|${recordsOf(path.join(cwd, 'on'))}/events\n`);
});

test('arguments, environment and the name of the program reach the command as they are, bytes that are no text too', {
  skip,
}, (t) => {
  const cwd = temporaryFolder(t);
  const script = `cp /bin/echo "$(printf 'tr\\377ue')"
    export XV="$(printf '\\376\\377z')" FINE=ä�
    "${TACHO}" run --no-report -o r -- ./"$(printf 'tr\\377ue')" "$(printf 'a\\377b\\351')" '' 'ü' "$(printf '\\302')" ''
    "${TACHO}" run --no-report -o s -- sh -c 'printf "%s|%s" "$XV" "$FINE"'`;
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { cwd, encoding: 'latin1', timeout: 240_000 });
  assert.equal(stderr, '');
  const utf8 = (text: string): string => Buffer.from(text).toString('latin1');
  assert.equal(stdout, `a\xffb\xe9  ${utf8('ü')} \xc2 \n\xfe\xffz|${utf8('ä�')}`);
  const { name, command } = openRecording(path.join(cwd, 'r')).job;
  assert.deepEqual(command, ["$'./tr\\xffue'", "$'a\\xffb\\xe9'", '', 'ü', "$'\\xc2'", '']);
  assert.equal(name, 'tr\\xffue');
});

test('arguments come back from a recording as they were, one by one', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const hard = ['one two', 'three', '', 'new\nline', 'a:b', '%d %', "it's", '"q"', '\\', '€'.repeat(33_000), ''];
  tacho(['run', '--no-report', '-o', 'r', '--', '/bin/true', ...hard], { cwd });
  const [row] = JSON.parse(tacho(['processes', 'r', '--format', 'json'], { cwd }).out);
  const shell = (text: string): string =>
    spawnSync('sh', ['-s'], { input: `set -- ${text}\nprintf '<%s>' "$@"`, encoding: 'utf8' }).stdout;
  const expected = hard.map((word) => `<${word}>`).join('');
  assert.equal(shell(row.args), expected);
  assert.equal(row.argv0, '/bin/true');
  const csv = tacho(['processes', 'r', '--format', 'csv', '--columns', 'args'], { cwd }).out;
  assert.equal(shell(csv.slice('args\n"'.length, -2).replaceAll('""', '"')), expected);
  assert.equal(
    JSON.parse(tacho(['processes', 'r', '--filter', 'argv0=true', '--format', 'json'], { cwd }).out).length,
    1,
  );
});

test('the first process is told by tacho run when it was killed or says nothing itself', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const killed = tacho(['run', '--no-report', '-o', 'k', '--', 'sh', '-c', '/bin/true; kill -9 $$'], { cwd });
  assert.equal(killed.code, 137);
  const [, end] = byTime(rows(path.join(cwd, 'k'), 'process_end'));
  assert.deepEqual([end!.exename, end!.ended, end!.exitsignal, end!.told_by], ['sh', 'signal', 9, 'parent']);
  assert.ok(Number(end!.usertime) + Number(end!.systemtime) > 0);
  // a program without the library: static, or of another kind
  const mute = path.join(cwd, 'mute');
  const source = `#include <time.h>
    int main(void) { while (clock() < 60000); return 6; }`;
  const made = spawnSync('cc', ['-static', '-x', 'c', '-o', mute, '-'], { input: source });
  if (made.status !== 0) return t.diagnostic('needs a static C library');
  assert.equal(tacho(['run', '--no-report', '-o', 'm', '--', './mute', 'a b'], { cwd }).code, 6);
  const [only, ...more] = JSON.parse(tacho(['processes', 'm', '--format', 'json'], { cwd }).out);
  assert.deepEqual(more, []);
  assert.deepEqual([only.exename, only.args, only.exitcode, only.source], ['mute', "'a b'", 6, 'parent']);
  assert.ok(only.cpu_time >= 60_000, `${only.cpu_time} µs`);
  // it is the whole job
  const { job } = openRecording(path.join(cwd, 'm'));
  assert.deepEqual([only.start, only.end], [job.start, job.end]);
  spawnSync('sh', ['-c', `"${TACHO}" run --no-report -o bytes -- ./mute "$(printf 'a\\377b')" '' ü`], { cwd });
  const [bytes] = JSON.parse(tacho(['processes', 'bytes', '--format', 'json'], { cwd }).out);
  assert.equal(bytes.args, "$'a\\xffb' '' ü");
  // nobody knows how many threads it had
  assert.equal(only.threads, undefined);
  const [{ records }] = [JSON.parse(tacho(['report', 'm', '--format', 'json'], { cwd }).out)].flat();
  assert.deepEqual([records.records, records.by_parent, records.threads], [1, 1, 0]);
  const text = tacho(['report', 'm'], { cwd }).out;
  assert.match(text, /1 reported by its parent only/);
  assert.doesNotMatch(text, /recorded to the end/);
});

test('a program that says nothing is told by what executed it, also as the first process of the job', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const made = spawnSync('cc', ['-static', '-x', 'c', '-o', path.join(cwd, 'mute'), '-'], {
    input: 'int main(void) { return 4; }',
  });
  if (made.status !== 0) return t.skip('needs a static C library');
  const commands = [
    ['sh', '-c', 'TACHO_TAGS=op:q exec ./mute a'],
    ['env', 'TACHO_TAGS=op:q', './mute', 'a'],
  ];
  for (const command of commands) {
    const recording = command[0]!;
    assert.equal(tacho(['run', '--no-report', '-o', recording, '--', ...command], { cwd }).code, 4);
    const all = JSON.parse(tacho(['processes', recording, '--sort', 'start', '--format', 'json'], { cwd }).out);
    assert.deepEqual(
      all.map((row: Record<string, string>) => [row.exename, row.source, row.tags ?? '']),
      [
        [command[0], 'record', ''],
        ['mute', 'parent', 'op:q'],
      ],
    );
    assert.deepEqual([all[1].args, all[1].exitcode], ['a', 4]);
  }
});

test('what a silent program starts in silence is counted once, seen or not', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  const made = spawnSync('cc', ['-static', '-x', 'c', '-o', path.join(cwd, 'mute'), '-'], {
    input: `#include <stdlib.h>
      #include <unistd.h>
      #include <sys/wait.h>
      #include <time.h>
      int main(int count, char **words) {
        if (count > 1) {
          while (clock() < atol(words[1])) ;
          while (count > 2 && access(words[2], F_OK) != 0) usleep(20000);
          return 0;
        }
        for (int i = 0; i < 3; i++) {
          if (fork() == 0) return execl(words[0], words[0], i == 0 ? "1500000" : "30000", i == 0 ? "seen" : NULL, NULL);
          wait(NULL);
        }
        return 0;
      }`,
  });
  if (made.status !== 0) return t.skip('needs a static C library');
  // the first goes on until a sample has seen all that it used
  const used =
    'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["command"] ~ /^.\\/mute 1500000/ { its = $at["pid"] }';
  const seenAll = `awk -F, '${used} $at["pid"] == its && $at["user_ms"] + $at["system_ms"] >= 1490 { print }'`;
  const script = `./mute & until ${seenAll} r/node=*/process.csv | grep -q .; do sleep 0.2; done; touch seen; wait; exit 0`;
  assert.equal(
    tacho(['run', '--no-report', '--interval', '200ms', '-o', 'r', '--', 'sh', '-c', script], { cwd }).code,
    0,
  );
  const all = JSON.parse(tacho(['processes', 'r', '--limit', '0', '--format', 'json'], { cwd }).out);
  const sum = all.reduce((total: number, row: { cpu_time?: number }) => total + (row.cpu_time ?? 0), 0);
  const { usage } = openRecording(path.join(cwd, 'r')).job;
  const whole = (usage!.user_seconds + usage!.system_seconds) * 1e6;
  assert.ok(sum > whole * 0.9 && sum < whole * 1.05, `${sum} of ${whole} µs`);
  const jobReport = all.find((row: { source: string }) => row.source === 'parent');
  const sampledRow = all.find((row: { args?: string }) => row.args === '1500000 seen');
  assert.equal(sampledRow.source, 'sample');
  // with the two that no sample may have seen
  assert.ok(jobReport.cpu_time < 200_000, `${jobReport.cpu_time} µs are its own`);
});

test('short programs that say nothing are all there, from a shell that forks and one that does not', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const made = spawnSync('cc', ['-static', '-x', 'c', '-o', path.join(cwd, 'mute'), '-'], {
    input: 'int main(void) { return 3; }',
  });
  if (made.status !== 0) return t.skip('needs a static C library');
  for (const shell of ['dash', 'bash']) {
    const loop = 'for i in 1 2 3 4 5 6 7 8 9 10; do ./mute $i; done; env -i ./mute last; :';
    tacho(['run', '--no-report', '-o', shell, '--', shell, '-c', loop], { cwd });
    const all = JSON.parse(tacho(['processes', shell, '--limit', '0', '--format', 'json'], { cwd }).out);
    const mute = all.filter((row: { exename: string }) => row.exename === 'mute');
    assert.deepEqual(
      mute.map((row: { args: string }) => row.args).sort(),
      ['1', '10', '2', '3', '4', '5', '6', '7', '8', '9', 'last'],
      shell,
    );
    assert.ok(mute.every((row: { exitcode: number; source: string }) => row.exitcode === 3 && row.source === 'parent'));
    const [root, ...others] = all.filter((row: { parent: unknown }) => typeof row.parent !== 'number');
    assert.deepEqual([root.exename, others], [shell, []]);
  }
});

test('a process keeps the parent that started it, also one that ended at once', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  // the substitution is over when the last of them has closed its output
  const script = ': $(for i in 1 2 3 4 5 6; do (sleep 0.3 &); done); sleep 1';
  tacho(['run', '--no-report', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  const all = JSON.parse(tacho(['processes', 'r', '--limit', '0', '--format', 'json'], { cwd }).out);
  assert.equal(all.filter((row: { parent: unknown }) => typeof row.parent !== 'number').length, 1);
  assert.equal(all.filter((row: { exename: string }) => row.exename === 'sleep').length, 7);
});

test('events that nobody knows are named in the report', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const env = { ...process.env, TACHO_RECORD_EVENTS: 'page-faults,bogus,contextswitches' };
  assert.equal(tacho(['run', '--no-report', '-o', 'r', '--', 'true'], { cwd, env }).code, 0);
  const reports = JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  const text = JSON.stringify([reports].flat()[0].unmeasured);
  assert.match(text, /process_end: bogus".*it is no perf event that Tacho knows/);
  assert.match(text, /did you mean context-switches\?/);
  assert.doesNotMatch(text, /page-faults/);
});

test('a process that ends at its limit of address space before it is sampled is named', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const fill = 'import os; print(os.getpid())\nl = []\nwhile True: l.append(bytearray(10 << 20))';
  const script = `ulimit -v 300000; python3 -I -c '${fill}'; exit 0`;
  // longer than the job: no sample may help
  const run = tacho(['run', '--no-report', '-i', '60', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  assert.equal(run.code, 0);
  const pid = run.out.trim();
  const report = JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  const { text, evidence } = report.findings.find((one: { id: string }) => one.id === 'process-limit');
  assert.match(text, new RegExp(`\\(pid ${pid}\\) on \\S+ was ended by a limit of address space$`));
  assert.equal(evidence[0].threshold, 300_000 * 1024);
  assert.ok(evidence[0].value > 200 << 20 && evidence[0].value <= 300_000 * 1024, evidence[0].value);
  assert.deepEqual(evidence[0].from, 'process_end.virtual_peak_bytes, process_end.virtual_limit_bytes');
});

test("Tacho's own commands in a job are not the job's", { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const script = `'${TACHO}' mark here; '${TACHO}' annotate a=b; /bin/true x; :`;
  for (const shell of ['dash', 'bash']) {
    const { err } = tacho(['run', '--no-report', '-o', shell, '--', shell, '-c', script], { cwd });
    assert.deepEqual(
      [...rows(path.join(cwd, shell), 'process_end'), ...starts(path.join(cwd, shell))]
        .map((row) => row.exename)
        .sort(),
      [shell, shell, 'true', 'true'],
      err,
    );
  }
});

test('a library for another architecture: the job runs, and the report says why', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  const library = path.join(cwd, 'foreign.so');
  const bytes = fs.readFileSync(ours('native/build/libtacho-record.so'));
  bytes.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18);
  fs.writeFileSync(library, bytes);
  const env = { ...process.env, TACHO_RECORD_LIBRARY: library };
  const result = tacho(['run', '-o', 'r', '--', 'sh', '-c', 'echo "<$LD_PRELOAD>"; exit 6'], { cwd, env });
  assert.equal(result.code, 6);
  assert.equal(result.out, '<>\n');
  assert.doesNotMatch(result.err, /ld\.so/);
  const [note] = openRecording(path.join(cwd, 'r')).nodes[0]!.agent!.unmeasured.filter(
    ({ table }) => table === 'process_end',
  );
  assert.match(note!.why, /foreign\.so is made for (arm64|x64), this node is (x64|arm64)/);
  const report = JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  const output = JSON.stringify([report].flat()[0]);
  assert.match(output, /is made for (arm64|x64)/);
});

test('what was recorded after tacho run was killed is taken over by verify', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  // as long as it is there, other commands (of other tests, too) leave what its processes recorded to `verify`
  const script = 'echo begun; read go <go; /bin/echo late >/dev/null; /bin/true last; echo done; read end <end';
  // its standard input would end with tacho run
  const [go, end] = ['go', 'end'].map((name) => {
    spawnSync('mkfifo', [path.join(cwd, name)]);
    return fs.openSync(path.join(cwd, name), 'r+');
  });
  t.after(() => fs.closeSync(end!));
  const child = spawn(TACHO, ['run', '--no-report', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  const untilPrinted = (word: string) =>
    new Promise<void>((resolve) => child.stdout.on('data', (data) => String(data).includes(word) && resolve()));
  const recording = path.join(cwd, 'r');
  await untilPrinted('begun');
  // the launcher ends with its channel; the command goes on. A process that waits for the disk dies later than it is killed
  const killed = new Promise((resolve) => child.once('exit', resolve));
  process.kill(child.pid!, 'SIGKILL');
  await killed;
  const done = untilPrinted('done');
  fs.writeSync(go!, 'go\n');
  await done;
  fs.closeSync(go!);
  const folder = recordsOf(recording);
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  assert.match(
    tacho(['verify', '--dry-run', 'r'], { cwd }).out,
    /would repair: .*events processes have recorded themselves/,
  );
  assert.match(tacho(['verify', 'r'], { cwd }).out, /repaired: .*events processes .*; taken over into node=/);
  assert.ok(!fs.existsSync(folder));
  const names = byTime(rows(recording, 'process_end')).map((row) => row.args);
  assert.deepEqual(names.slice(0, 2), ['late', 'last']);
  assert.doesNotMatch(tacho(['verify', 'r'], { cwd }).out, /events/);
});

/** A job script in a shell: what is recorded, what is paused, what comes after. */
const SCRIPTS: Record<string, (program: string) => string> = {
  sh: (p) => `eval "$(tacho env)"; ${p} one; tacho_pause; ${p} paused; tacho_resume; tacho_resume; ${p} two
    eval "$(tacho env --off)"; ${p} off; echo "<\${LD_PRELOAD-}|\${TACHO_RECORD-}>"`,
  // an alias counts from the next line on
  csh: (p) => `eval \`tacho env csh\`\n${p} one\ntacho_pause\n${p} paused\ntacho_resume\ntacho_resume\n${p} two
    eval \`tacho env csh --off\`\n${p} off\necho "<"\`printenv LD_PRELOAD\`"|"\`printenv TACHO_RECORD\`">"`,
  fish: (p) => `tacho env fish | source; ${p} one; tacho_pause; ${p} paused; tacho_resume; tacho_resume; ${p} two
    tacho env fish --off | source; ${p} off; echo "<$LD_PRELOAD|$TACHO_RECORD>"`,
};

for (const [shell, dialect] of [
  ['dash', 'sh'],
  ['bash', 'sh'],
  ['zsh', 'sh'],
  ['tcsh', 'csh'],
  ['fish', 'fish'],
] as const) {
  const there = spawnSync('sh', ['-c', `command -v ${shell}`]).status === 0;
  for (const before of ['', '/no/such/library.so']) {
    const title = `tacho env in ${shell}${before === '' ? '' : ', with another library preloaded'}`;
    test(title, { skip: skip || (!there && `needs ${shell}`) }, (t) => inShell(t, shell, dialect, before));
  }
}

function inShell(t: TestContext, shell: string, dialect: string, before: string): void {
  const cwd = temporaryFolder(t);
  fs.mkdirSync(path.join(cwd, 'run'), { mode: 0o700 });
  fs.writeFileSync(path.join(cwd, 'script'), SCRIPTS[dialect]!('/bin/true'));
  const env = {
    PATH: `${path.dirname(TACHO)}:${process.env.PATH}`,
    HOME: cwd,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    XDG_RUNTIME_DIR: path.join(cwd, 'run'),
    ...(before === '' ? {} : { LD_PRELOAD: before }),
  };
  const script = `tacho start -o r --interval 0.2s && ${shell} script; tacho stop --format json >/dev/null`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd, env, encoding: 'utf8', timeout: 240_000 });
  assert.equal(stdout, `<${before}|>\n`, stderr);
  const ends = byTime(rows(path.join(cwd, 'r'), 'process_end'));
  assert.deepEqual(
    ends.filter((row) => row.exename === 'true').map((row) => row.args),
    ['one', 'two'],
    stderr,
  );
  // not even those that the shell itself tells of
  const programs = rows(path.join(cwd, 'r'), 'process_start').filter((row) => row.exename === 'true');
  assert.equal(programs.length, 2, stderr);
}

test('tacho env for a TaskProlog prints lines that Slurm understands, and never fails', { skip }, (t) => {
  const cwd = temporaryFolder(t);
  fs.mkdirSync(path.join(cwd, 'run'), { mode: 0o700 });
  const env = { PATH: `${path.dirname(TACHO)}:${process.env.PATH}`, HOME: cwd, XDG_RUNTIME_DIR: path.join(cwd, 'run') };
  const sh = (line: string) => spawnSync('bash', ['-c', line], { cwd, env, encoding: 'utf8', timeout: 240_000 });
  const none = sh('tacho env slurm; echo "exit $?"; tacho env; echo "exit $?"; tacho env ksh93 --off; tacho env perl');
  assert.match(none.stdout, /^exit 0\nexit 1\ntacho_pause\n/);
  assert.match(none.stderr, /nothing is being recorded in this session: processes have nowhere to record themselves/);
  assert.match(none.stderr, /"perl" is not a shell that Tacho knows/);
  assert.equal(none.status, 2);
  const some = sh('tacho start -o r && tacho env slurm; tacho stop --format json >/dev/null');
  const [marks, ...lines] = some.stdout.split('\n');
  assert.match(marks!, /^export TACHO_MARKS=\/dev\/shm\/tacho-mark-\d+-[0-9a-f]+\/marks$/);
  assert.deepEqual(lines, [
    `export LD_PRELOAD=${path.join(path.dirname(TACHO), 'native/build/libtacho-record.so')}`,
    `export TACHO_RECORD=${recordsOf(path.join(cwd, 'r'))}/events`,
    'export ASAN_OPTIONS=verify_asan_link_order=0',
    '',
  ]);
});
