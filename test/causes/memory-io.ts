import type { Cause } from './cause.ts';

/** Causes in memory, limits, files and network. */
export const memoryAndFiles: readonly Cause[] = [
  {
    name: 'limit of CPU time',
    what: 'a program that ulimit -t ends after two seconds of CPU time',
    quick: true,
    needs: ['cc'],
    script: '(ulimit -t 2; exec job spin 30); sleep 1',
    must: ['process-limit'],
    may: ['failing-children', 'job-failed'],
  },
  {
    name: 'soft limit of CPU time',
    what: 'a program that SIGXCPU ends at its soft limit',
    needs: ['cc'],
    script: '(ulimit -S -t 2; exec job spin 30); sleep 1',
    must: ['process-limit'],
    may: ['failing-children', 'job-failed'],
  },
  {
    name: 'limit of file size',
    what: 'a program that writes more than ulimit -f allows',
    quick: true,
    needs: ['cc'],
    script: '(ulimit -f 1024; exec job write big 64); sleep 1; true',
    must: ['process-limit'],
    may: ['failing-children', 'job-failed'],
  },
  {
    name: 'limit of address space',
    what: 'a Python program that fills lists until ulimit -v ends it',
    needs: ['python3'],
    script: `(ulimit -v 400000; exec python3 -c '
import time
kept = []
while True:
    kept.append(bytearray(4 << 20))
    time.sleep(0.05)
'); sleep 1; true`,
    must: ['process-limit'],
    may: ['failing-children', 'job-failed'],
  },
  {
    name: 'limits that are not reached',
    what: 'a program with limits of CPU time, file size and address space that it stays below',
    healthy: true,
    quick: true,
    needs: ['cc'],
    script: 'ulimit -t 100; ulimit -f 1000000; ulimit -v 8000000; job spin 1; job write some 16',
    must: [],
  },
  {
    name: 'process killed by somebody',
    what: 'a child that its parent ends by kill -9, as it should',
    healthy: true,
    quick: true,
    needs: ['cc'],
    script: 'job spin 30 & sleep 1.5; kill -9 $!; wait $! 2>/dev/null; true',
    must: [],
    may: ['failing-children'],
  },
  {
    name: 'memory that grows to its limit',
    what: 'a program that takes 8 MiB more each second, and would reach its limit of 1,000 MiB soon',
    needs: ['root', 'cc'],
    script: 'job leak 8 90',
    recorded: { memory: 1000 },
    must: ['memory-growing'],
    may: ['memory-near-limit'],
  },
  {
    name: 'memory filled at the start',
    what: 'a program that takes 600 MiB at once, where 1,000 are allowed',
    healthy: true,
    needs: ['root', 'cc'],
    script: 'job hold 600 65',
    recorded: { memory: 1000 },
    must: [],
  },
  {
    name: 'memory counted many times',
    what: 'six processes that share 600 MiB: their resident sets add up to more than 3 GiB',
    needs: ['cc'],
    script: 'job share 600 6 15',
    must: ['memory-figures'],
  },
  {
    name: 'memory counted once',
    what: 'a program that keeps 1,200 MiB of its own',
    healthy: true,
    needs: ['cc'],
    script: 'job hold 1200 10',
    must: [],
  },
];
