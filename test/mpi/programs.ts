import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ours } from '../../src/base/ours.ts';

export type Mpi = 'openmpi' | 'mpich';
export const MPIS: readonly Mpi[] = ['openmpi', 'mpich'];

/** Open MPI does not start for root, nor more ranks than CPUs, unless it is told to. */
export const AS_ROOT = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };
export const mpirun = (mpi: Mpi): string => (mpi === 'openmpi' ? 'mpirun.openmpi --oversubscribe' : 'mpirun.mpich');

/** Why a test of real MPI programs cannot be run here; false: it can. */
export function whyNoMpi(mpi: Mpi): string | false {
  if (!fs.existsSync(ours('native/build/libtacho-record.so'))) return 'needs native/build/libtacho-record.so';
  const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  if (has(`mpicc.${mpi}`) && has(`mpirun.${mpi}`)) return false;
  return `needs ${mpi === 'openmpi' ? 'openmpi-bin and libopenmpi-dev' : 'mpich and libmpich-dev'}`;
}

/** Compiles test/mpi/ranks.c. */
export function buildRanks(mpi: Mpi, folder: string): string {
  const program = path.join(folder, `ranks.${mpi}`);
  execFileSync(`mpicc.${mpi}`, ['-O1', '-o', program, path.join(import.meta.dirname, 'ranks.c')]);
  return program;
}

/** What a rank of ranks.c prints of itself. */
export interface PrintedRank {
  rank: number;
  size: number;
  user: number;
  system: number;
  bytes: number;
}

const LINE = /^rank (\d+) of (\d+) user ([\d.]+) system ([\d.]+) kibibytes (\d+)$/gm;

export const printedRanks = (output: string): PrintedRank[] =>
  Array.from(output.matchAll(LINE), ([, rank, size, user, system, kibibytes]) => ({
    ...{ rank: Number(rank), size: Number(size), user: Number(user), system: Number(system) },
    bytes: Number(kibibytes) * 1024,
  })).sort((a, b) => a.rank - b.rank);
