import type { Cause } from './cause.ts';

/**
 * Jobs that wait for CPUs, written after cpu-starved had learnt to look at what others used. What their first run gave is kept
 * as it was (docs/causes-held-out-3.json); from then on they are cases like all others.
 */

const cases: readonly Cause[] = [
  {
    name: 'short commands of a neighbour',
    what: 'a program on the CPU on which three shells of somebody else start one short command after the other',
    takes: 'cpu',
    needs: ['bzip2', 'taskset'],
    script: 'head -c 40M /dev/urandom | timeout $LONG bzip2 -9 | wc -c',
    recorded: { cpus: 1, beside: 'for i in 1 2 3; do while :; do expr 6 "*" 7 >/dev/null; done & done; wait' },
    must: ['cpu-starved'],
    may: ['recording-gaps', 'recording-quality', 'failing-children'],
  },
  {
    name: 'neighbour of higher priority',
    what: 'a program on the CPU that another program uses with a nice value of -5',
    takes: 'cpu',
    needs: ['root', 'openssl', 'taskset'],
    script: 'timeout $LONG openssl enc -aes-256-ctr -k x -iter 1 </dev/zero >/dev/null 2>&1; true',
    recorded: { cpus: 1, beside: 'nice -n -5 gzip -9 </dev/zero >/dev/null' },
    must: ['cpu-starved'],
    may: ['recording-gaps', 'recording-quality', 'failing-children'],
  },
  {
    name: 'make -j4 on two CPUs',
    what: 'a build with twice as many compilers at a time as there are CPUs',
    healthy: true,
    needs: ['cc', 'make'],
    script: 'many-sources 60; make -s -C src -j$((2 * $(nproc)))',
    must: [],
    // twice as many is what it says; nobody else is to blame
    may: ['cpu-oversubscribed', 'short-processes'],
  },
  {
    name: 'pipeline of four',
    what: 'four programs that each work on what the one before sends, on two CPUs',
    healthy: true,
    script: 'seq 25000000 | gzip -1 | gzip -dc | sha256sum',
    must: [],
    may: ['cpu-oversubscribed'],
  },
];

export const heldOutThird: readonly Cause[] = cases.map((one) => ({ ...one, heldOut: 3 }));
