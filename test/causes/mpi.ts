import * as path from 'node:path';
import { AS_ROOT } from '../mpi/programs.ts';
import type { Cause } from './cause.ts';

/** The program is compiled by the job, as jobs do: for each MPI by its own compiler. */
const SOURCE = path.join(import.meta.dirname, '../mpi/ranks.c');
const build = (mpi: 'openmpi' | 'mpich'): string => `mpicc.${mpi} -O1 -o ranks '${SOURCE}' && `;
const openmpi = {
  needs: ['cc', 'mpirun.openmpi', 'mpicc.openmpi'],
  env: AS_ROOT,
} as const;
const mpich = { needs: ['cc', 'mpirun.mpich', 'mpicc.mpich'] } as const;

/** Ranks of real MPI programs. */
export const mpiCauses: readonly Cause[] = [
  {
    name: 'two equal ranks',
    what: 'two ranks of Open MPI with the same work',
    healthy: true,
    needs: openmpi.needs,
    script: `${build('openmpi')}mpirun.openmpi -n 2 ./ranks 3`,
    recorded: { env: openmpi.env },
    must: [],
  },
  {
    name: 'four ranks that share two CPUs in turn',
    what: 'four ranks of MPICH that work two fifths of the time and sleep otherwise',
    healthy: true,
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -n 4 ./ranks 1.5 duty=0.4`,
    must: [],
  },
  {
    name: 'four ranks with little work',
    what: 'four ranks of Open MPI that are over at once',
    healthy: true,
    quick: true,
    needs: openmpi.needs,
    script: `${build('openmpi')}mpirun.openmpi --oversubscribe --bind-to none -n 4 ./ranks 0.1`,
    recorded: { env: openmpi.env },
    must: [],
  },
  {
    name: 'one rank with most of the work',
    what: 'two ranks of MPICH, of which one has eight times the work',
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -n 2 ./ranks 1 1=8`,
    must: ['rank-imbalance'],
  },
  {
    name: 'one of four ranks with most of the work',
    what: 'four ranks of Open MPI, of which one has thirty times the work',
    needs: openmpi.needs,
    script: `${build('openmpi')}mpirun.openmpi --oversubscribe --bind-to none -n 4 ./ranks 0.2 2=6`,
    recorded: { env: openmpi.env },
    must: ['rank-imbalance'],
  },
  {
    name: 'twice as many busy ranks as CPUs',
    what: 'ranks of MPICH that never rest, two for each CPU of the machine',
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -n $(( $(nproc) * 2 )) ./ranks 4`,
    must: ['rank-oversubscribed'],
    may: ['cpu-oversubscribed'],
  },
  {
    name: 'two busy ranks on one CPU',
    what: 'two ranks of Open MPI that never rest, where one CPU is allowed',
    takes: 'cpu',
    needs: [...openmpi.needs, 'taskset'],
    script: `${build('openmpi')}mpirun.openmpi --oversubscribe --bind-to none -n 2 ./ranks 4`,
    recorded: { cpus: 1, env: openmpi.env },
    must: ['rank-oversubscribed'],
    may: ['cpu-oversubscribed'],
  },
  {
    name: 'ranks bound to one CPU',
    what: 'two busy ranks of MPICH that mpirun binds to CPU 0, both of them',
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -bind-to user:0,0 -n 2 ./ranks 4`,
    must: ['rank-binding'],
    may: ['cpu-binding', 'core-idle'],
  },
  {
    name: 'mpirun within taskset',
    what: 'two busy ranks of MPICH below a taskset that allows them CPU 0',
    needs: [...mpich.needs, 'taskset'],
    script: `${build('mpich')}taskset -c 0 mpirun.mpich -n 2 ./ranks 4`,
    must: ['rank-binding'],
    may: ['cpu-binding', 'core-idle'],
  },
  {
    name: 'a rank with a segmentation fault',
    what: 'two ranks of Open MPI, of which one is ended by SIGSEGV',
    quick: true,
    needs: openmpi.needs,
    script: `${build('openmpi')}mpirun.openmpi -n 2 ./ranks 0.2 die=1:11`,
    recorded: { env: openmpi.env },
    must: ['rank-died', 'job-failed'],
    may: ['failing-children'],
  },
  {
    name: 'a rank with an exit code',
    what: 'two ranks of MPICH, of which one ends with exit code 3',
    quick: true,
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -n 2 ./ranks 0.2 exit=1:3`,
    must: ['rank-died', 'job-failed'],
    may: ['failing-children'],
  },
  {
    name: 'a rank that dies unnoticed',
    what: 'two ranks of MPICH, of which one is killed, in a script that goes on',
    quick: true,
    needs: mpich.needs,
    script: `${build('mpich')}mpirun.mpich -n 2 ./ranks 0.2 die=0:9 || true; sleep 0.5`,
    must: ['rank-died'],
    may: ['failing-children'],
  },
];
