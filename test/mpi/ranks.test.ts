import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, describe, test } from 'node:test';
import type { Finding, Report } from '../../src/judge/report-schema.ts';
import type { Rank } from '../../src/query/ranks/ranks.ts';
import { temporary } from '../make-recording.ts';
import { tacho } from '../tacho.ts';
import { AS_ROOT, buildRanks, MPIS, mpirun, printedRanks, whyNoMpi } from './programs.ts';

type RankRow = Rank & { world: number; size: number; launcher: string };

for (const mpi of MPIS) {
  describe(`ranks of a program of ${mpi}, which knows nothing of Tacho`, { skip: whyNoMpi(mpi) }, () => {
    const folder = temporary();
    const start = mpirun(mpi);
    let program: string;
    before(() => {
      program = buildRanks(mpi, folder);
    });

    const record = (name: string, script: string) =>
      tacho(['run', '--no-report', '--interval', '0.2', '-o', name, '--', 'bash', '-c', script], {
        cwd: folder,
        env: { ...process.env, ...AS_ROOT },
      });
    const ranksOf = (name: string, ...options: string[]): RankRow[] =>
      JSON.parse(tacho(['ranks', name, '--format', 'json', ...options], { cwd: folder }).out);
    const reportOf = (name: string): Report =>
      JSON.parse(tacho(['report', name, '--format', 'json'], { cwd: folder }).out);
    const findingOf = (name: string, id: string): Finding | undefined =>
      reportOf(name).findings.find((finding) => finding.id === id);

    test('CPU time is what each rank says of itself, within 1 %', () => {
      const { code, out, err } = record('equal', `exec ${start} -n 4 ${program} 0.4`);
      assert.equal(code, 0, err);
      const printed = printedRanks(out);
      const ranks = ranksOf('equal');
      assert.deepEqual(
        ranks.map(({ rank, size, world, exit_code, source }) => [rank, size, world, exit_code, source]),
        [0, 1, 2, 3].map((rank) => [rank, 4, 1, 0, 'record']),
      );
      for (const [i, { user, system, bytes }] of printed.entries()) {
        const { cpu_seconds, user_seconds, system_seconds, memory_peak_bytes } = ranks[i]!;
        const isNear = (own: number, theirs: number, share: number): boolean => Math.abs(own / theirs - 1) <= share;
        assert.ok(isNear(cpu_seconds, user + system, 0.01), `rank ${i}: ${cpu_seconds} s, ${user + system} s`);
        assert.ok(Math.abs(user_seconds + system_seconds - cpu_seconds) < 2e-6);
        assert.ok(isNear(memory_peak_bytes, bytes, 0.01), `rank ${i}: ${memory_peak_bytes} bytes, ${bytes} bytes`);
      }
      const { ranks: facts } = reportOf('equal');
      assert.deepEqual([facts!.worlds, facts!.ranks, facts!.largest[0]!.recorded], [1, 4, 4]);
      const cpu = ranks.map(({ cpu_seconds }) => cpu_seconds);
      assert.equal(facts!.largest[0]!.cpu_seconds!.max, Math.max(...cpu));
      assert.equal(facts!.largest[0]!.slowest!.rank, cpu.indexOf(Math.max(...cpu)));
      const card = tacho(['report', 'equal'], { cwd: folder }).out;
      assert.match(card, new RegExp(`^Ranks \\(4 of mpirun\\.${mpi}\\)$`, 'm'));
      assert.ok(card.split('\n').every((line) => line.length <= 80));
    });

    test('two worlds, one after the other; the slowest rank is named', () => {
      const script = `${start} -n 2 ${program} 0.1 && ${start} -n 3 ${program} 0.1 1=3.4`;
      const { code, err } = record('two', script);
      assert.equal(code, 0, err);
      assert.deepEqual(
        ranksOf('two').map(({ world, rank, size }) => [world, rank, size]),
        [
          [1, 0, 2],
          [1, 1, 2],
          [2, 0, 3],
          [2, 1, 3],
          [2, 2, 3],
        ],
      );
      assert.deepEqual(
        ranksOf('two', '--world', '2', '--sort', 'cpu', '--limit', '1').map(({ rank }) => rank),
        [1],
      );
      assert.match(
        findingOf('two', 'rank-imbalance')!.text,
        new RegExp(`^The 3 ranks of ranks.${mpi} had unequal work: rank 1 on \\S+ used \\S+ times the mean CPU time$`),
      );
      assert.match(tacho(['report', 'two'], { cwd: folder }).out, /^Ranks \(5 in 2 worlds\)$/m);
    });

    test('a rank that dies is named, with its signal', () => {
      const { code } = record('died', `exec ${start} -n 2 ${program} 0.5 die=1:11`);
      assert.notEqual(code, 0);
      const [, died] = ranksOf('died');
      assert.equal(died!.signal, 11);
      assert.match(findingOf('died', 'rank-died')!.text, /rank 1 on \S+ was ended by SIGSEGV after/);
      // the launcher may end without waiting for the other ranks: what it counted is not all then
      const { work, summary } = reportOf('died');
      const divided = work!.user_seconds! + work!.system_seconds!;
      assert.ok(
        Math.abs(divided - summary.cpu_seconds!) <= 0.06 * summary.cpu_seconds!,
        `${divided} of ${summary.cpu_seconds}`,
      );
      fs.rmSync(path.join(folder, 'core'), { force: true });
    });

    test('a rank is its script and all that it starts', () => {
      const rank = path.join(folder, 'rank.sh');
      fs.writeFileSync(rank, `#!/bin/sh\n${program} 0.3\n/bin/true\nexit 0\n`, { mode: 0o755 });
      assert.equal(record('script', `exec ${start} -n 2 ${rank}`).code, 0);
      assert.deepEqual(
        ranksOf('script').map(({ rank: number, program: name, processes }) => [number, name, processes]),
        [0, 1].map((number) => [number, `ranks.${mpi}`, 3]),
      );
    });
  });
}

test('a recording without ranks, and a world that is not there', { skip: whyNoMpi('mpich') }, () => {
  const folder = temporary();
  tacho(['run', '--no-report', '-o', 'none', '--', 'true'], { cwd: folder });
  const { code, err } = tacho(['ranks', 'none'], { cwd: folder });
  assert.equal(code, 1);
  assert.match(err, /^tacho: no ranks were recorded in .*none\n.*mpirun, mpiexec or srun/);
});
