import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { random } from '../../src/base/random.ts';
import { usl } from '../../src/judge/scale/laws.ts';
import { eventually } from '../made/eventually.ts';
import { makeRecording, START, temporary } from '../make-recording.ts';
import { onTerminal, TACHO, tacho, temporaryFolder, whyNoTerminal } from '../tacho.ts';

interface Range {
  name: string;
  value: number;
  low: number;
  high: number;
}

interface StudyJson {
  kind: string;
  kind_source: string;
  program: string;
  sizes: { size: number; runs: number; speedup: number; core_hours: number }[];
  laws: { law: string; best: boolean; estimates: Range[] }[];
  runs: { size: number; size_source: string }[];
  left_out: { job: string; why: string }[];
  recommended: { size: number };
  curve: { size: number; value: number }[];
}

/** Recordings of a program that scales by known parameters, each run off by chance. */
async function recordStudy(
  parameters: readonly number[],
  about: { noise?: number; seed?: number; sizes?: number[]; program?: string; repeat?: number; folder?: string } = {},
): Promise<string> {
  const { noise = 0.01, seed = 1, sizes = [1, 2, 4, 8, 16, 32], program = 'solver', repeat = 2 } = about;
  const folder = about.folder ?? path.join(temporary(), 'study');
  const next = random(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  for (const cores of sizes)
    for (let r = 0; r < repeat; r++) {
      const wall = (1000 / usl.speedup(cores, parameters)) * Math.exp(noise * normal());
      await makeRecording({
        folder: path.join(folder, `${program}-${cores}-${r}`),
        seconds: 2,
        job: {
          id: `${program}-${cores}-${r}`,
          name: program,
          command: [`./${program}`, '-t', String(cores)],
          asked: { cpus: cores },
          end: START + Math.round(wall * 1e6),
        },
      });
    }
  return folder;
}

function studied(args: readonly string[]): StudyJson {
  const { out, err, code } = tacho(['scale', ...args, '--format', 'json']);
  assert.equal(code, 0, err);
  return JSON.parse(out) as StudyJson;
}

test('recordings made from known USL parameters give them back within the stated interval', async () => {
  const truths = [
    [0.02, 0.0005],
    [0.15, 0.0001],
    [0.005, 0.004],
    [0.3, 0],
  ];
  for (const [i, truth] of truths.entries()) {
    const study = studied([await recordStudy(truth, { seed: 11 + i }), '--kind', 'strong']);
    const law = study.laws.find((one) => one.law === 'USL')!;
    truth.forEach((value, k) => {
      const { name, low, high } = law.estimates[k]!;
      assert.ok(low <= value && value <= high, `${name}: ${low} <= ${value} <= ${high}`);
      // an interval that holds everything says nothing
      assert.ok(high - low < 0.1, `${name}: ${low} to ${high}`);
    });
    assert.deepEqual(
      study.sizes.map(({ size, runs }) => [size, runs]),
      [1, 2, 4, 8, 16, 32].map((size) => [size, 2]),
    );
  }
});

test('a study as text of 80 columns, CSV and SVG', async () => {
  const folder = await recordStudy([0.05, 0.001]);
  const { out } = tacho(['scale', folder, '--kind', 'strong']);
  assert.match(out, /^solver: strong scaling, 12 runs on 1 to 32 cores\n/);
  assert.match(out, /\nUSL +contention +0\.0[45]\d* +0\.0\d+ to 0\.0\d+ /);
  assert.match(out, /\nUse 8 cores for an efficiency of 70 %/);
  assert.match(out, /o runs {2}- USL {2}\. perfect/);
  assert.ok(out.split('\n').every((line) => line.length <= 80));
  assert.doesNotMatch(out, /[^\x00-\x7f]/);
  const csv = tacho(['scale', folder, '--format', 'csv']).out.split('\n');
  assert.match(csv[0]!, /^size,runs,wall_seconds,/);
  assert.equal(csv.length, 8);
  const svg = tacho(['scale', folder, '--format', 'svg']).out;
  assert.match(svg, /^<svg xmlns[\s\S]*<polygon points="[^"]+"[^>]* fill="#E69F00"[\s\S]*<\/svg>\n$/);
  assert.equal(svg.match(/<circle/g)!.length, 6);
  // the same signs as on the page
  assert.match(svg, /dots: measured.* · line: .* · dotted: ideal/);
});

test('on a terminal with UTF-8 the chart has dots', { skip: whyNoTerminal }, async () => {
  const folder = await recordStudy([0.05, 0.001], { repeat: 1 });
  const shown = onTerminal(80, `scale '${folder}'`, { env: { ...process.env, LC_ALL: 'C.UTF-8' } }).join('\n');
  assert.match(shown, /●/);
});

test('programs, names and sizes that do not go together', async () => {
  const folder = path.join(temporary(), 'mixed');
  await recordStudy([0.05, 0.001], { folder, sizes: [1, 2, 4], repeat: 1 });
  await recordStudy([0.05, 0.001], { folder, sizes: [1, 2], program: 'other', repeat: 1 });
  const mixed = tacho(['scale', folder]);
  assert.equal(mixed.code, 2);
  assert.match(mixed.err, /runs of 2 programs: .*--program/s);
  assert.equal(studied([folder, '--program', 'other']).sizes.length, 2);
  assert.equal(studied([folder, '--name', 'sol*']).sizes.length, 3);
  const nobody = tacho(['scale', folder, '--name', 'nobody']);
  assert.deepEqual([nobody.code, /none of 5 recordings has the name or tag/.test(nobody.err)], [2, true]);
  const one = tacho(['scale', path.join(folder, 'solver-1-0'), path.join(folder, 'solver-1-0')]);
  assert.equal(one.code, 0, one.err);
  const same = await recordStudy([0, 0], { sizes: [4], repeat: 3 });
  const alike = tacho(['scale', same]);
  assert.equal(alike.code, 1);
  assert.match(alike.err, /all 3 runs have the same size, of 4 cores: a study needs at least two sizes/);
  // one that contradicts itself is left out by name, the others make the study
  await makeRecording({
    folder: path.join(same, 'odd'),
    seconds: 2,
    job: { id: 'odd', name: 'solver', command: ['./solver'], asked: { cpus: 2 }, tags: { cores: '8' } },
  });
  await makeRecording({
    folder: path.join(same, 'two'),
    seconds: 2,
    job: { id: 'two', name: 'solver', command: ['./solver'], asked: { cpus: 2 } },
  });
  const rest = tacho(['scale', same, '--format', 'json']);
  assert.match(rest.err, /job odd is left out: its tag cores says 8, but it could run on 2 CPUs/);
  assert.deepEqual(
    (JSON.parse(rest.out) as StudyJson).left_out.map(({ job }) => job),
    ['odd'],
  );
});

const compiler = spawnSync('cc', ['--version']).error === undefined;
const skip = !compiler ? 'needs a C compiler' : os.availableParallelism() < 2 && 'needs two CPUs';

test('a real program of a known serial share, on one core and on two', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const program = path.join(folder, 'known-share');
  const source = path.join(import.meta.dirname, 'known-share.c');
  execFileSync('cc', ['-O1', '-pthread', '-o', program, source]);
  const study = path.join(folder, 'study');
  // a fifth of the work is serial
  const command = ['--', program, '{cores}', '150', '600'];
  const args = ['--cores', '2,1', '--repeat', '1', '--interval', '0.1s', '--output', study, '--tag', 'case:fifth'];
  const made = tacho(['scale', 'run', ...args, '--format', 'json', ...command]);
  assert.equal(made.code, 0, made.err);
  assert.match(made.err, /run 1 of 2: 1 core\n[\s\S]*run 2 of 2: 2 cores\n/);
  const studyJson = JSON.parse(made.out) as StudyJson;
  assert.equal(studyJson.program, 'known-share');
  assert.deepEqual(
    studyJson.runs.map(({ size, size_source }) => [size, size_source]),
    [
      [1, 'tag cores'],
      [2, 'tag cores'],
    ],
  );
  // the same work, by CPU time, however busy the machine was
  assert.deepEqual([studyJson.kind, studyJson.kind_source], ['strong', 'cpu time']);
  assert.deepEqual(fs.readdirSync(study).sort(), ['cores-1-run-1', 'cores-2-run-1']);
  // the tag and the CPUs that the processes were bound to agree; without the tag these alone say it
  const job = JSON.parse(fs.readFileSync(path.join(study, 'cores-1-run-1/job.json'), 'utf8')) as {
    command: string[];
    tags: Record<string, string>;
  };
  assert.deepEqual(job.tags, { cores: '1', case: 'fifth' });
  assert.deepEqual(job.command.slice(3), [program, '1', '150', '600']);
  const one = tacho(['scale', path.join(study, 'cores-2-run-1'), '--format', 'json']);
  assert.equal(one.code, 0, one.err);
  const { profile, gains } = JSON.parse(one.out) as {
    profile: { cpus: number; serial_work: { low: number; high: number }; alone: number };
    gains: { what: string; at_most?: number }[];
  };
  assert.equal(profile.cpus, 2);
  const { low, high } = profile.serial_work;
  assert.ok(low > 0.05 && low <= 0.2 + 0.08 && high >= 0.2 - 0.06, `${low} to ${high}`);
  assert.ok(profile.alone > 0);
  assert.ok(gains.find(({ what }) => what === 'cores')!.at_most! < 2);
});

test('a real serial program on two CPUs: more cores bring nothing', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const program = path.join(folder, 'known-share');
  execFileSync('cc', ['-O1', '-pthread', '-o', program, path.join(import.meta.dirname, 'known-share.c')]);
  const recording = path.join(folder, 'serial');
  const run = tacho(['run', '--interval', '0.1s', '--no-report', '-o', recording, '--', program, '1', '500', '1']);
  assert.equal(run.code, 0, run.err);
  const text = tacho(['scale', recording]).out;
  assert.match(text, /^It is held up by: .*serial phase\.$/m);
  assert.match(text, /^ {2}cores +nothing /m);
  const { profile } = JSON.parse(tacho(['scale', recording, '--format', 'json']).out) as {
    profile: { serial: { low: number } };
  };
  assert.ok(profile.serial.low > 0.9, String(profile.serial.low));
});

test('Ctrl-C ends the run and the study', async (t) => {
  const cwd = temporaryFolder(t);
  const args = ['scale', 'run', '--cores', '1,2', '--no-bind', '-o', 'study', '--', 'sleep', '600'];
  const child = spawn(TACHO, args, { cwd, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'close');
  await eventually('the recording', () => fs.existsSync(path.join(cwd, 'study/cores-1-run-1/job.json')));
  const isSleeping = (): boolean =>
    spawnSync('ps', ['-o', 'args=', '-g', String(child.pid)], { encoding: 'utf8' }).stdout.includes('\nsleep 600');
  await eventually('the command', isSleeping);
  // as a terminal does: to all of them
  process.kill(-child.pid!, 'SIGINT');
  const [code, signal] = (await ended) as [number | null, string | null];
  assert.ok(signal === 'SIGINT' || code === 130, `${code} ${signal} ${output}`);
  assert.match(output, /the study was stopped; study has its recordings/);
  assert.deepEqual(fs.readdirSync(path.join(cwd, 'study')), ['cores-1-run-1']);
});

test('a study that cannot be made', (t) => {
  const cwd = temporaryFolder(t);
  const cases: [string, number, RegExp][] = [
    ['--cores 1 -- true', 2, /--cores: a study needs at least two sizes/],
    ['--cores 1,x -- true', 2, /--cores: "1,x" is no list of numbers of cores/],
    ['--cores 1,1 -- true', 2, /names a number of cores twice/],
    ['--cores 1,100000 -- true', 2, /there are no 100000 CPUs: this process may use/],
    ['--cores 1,2', 2, /no command given/],
    ['-- true', 2, /--cores/],
    ['--cores 1,2 --no-bind --repeat 1 -- false', 1, /the run on 1 core failed \(exit code 1\): the study stops/],
    ['--cores 1,2 --no-bind --output . -- true', 2, /is not empty/],
    ['--cores 1,2 --efficiency 7 -- true', 2, /--efficiency: "7" is not a share between 0 and 1/],
  ];
  for (const [args, code, says] of cases) {
    const done = tacho(['scale', 'run', ...args.split(' ')], { cwd });
    assert.match(done.err, says, args);
    assert.equal(done.code, code, args);
  }
  const one = tacho(['scale', 'nothing-here'], { cwd });
  assert.equal(one.code, 1);
});
