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
    takes: 'nothing',
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
    takes: 'nothing',
    needs: ['root', 'cc'],
    script: 'job hold 600 65',
    recorded: { memory: 1000 },
    must: [],
  },
  {
    name: 'memory counted many times',
    what: 'six processes that share 600 MiB: their resident sets add up to more than 3 GiB',
    takes: 'nothing',
    needs: ['cc'],
    script: 'job share 600 6 15',
    must: ['memory-figures'],
  },
  {
    name: 'memory counted once',
    what: 'a program that keeps 1,200 MiB of its own',
    healthy: true,
    takes: 'nothing',
    needs: ['cc'],
    script: 'job hold 1200 10',
    must: [],
  },
  {
    name: 'bytes one by one',
    what: 'dd with a block size of one byte',
    quick: true,
    script: 'dd if=/dev/zero of=out bs=1 count=600000 status=none',
    must: ['small-io'],
  },
  {
    name: 'records of 20 bytes',
    what: 'a Python program that writes records of 20 bytes without a buffer',
    needs: ['python3'],
    script: `python3 -c '
with open("out", "wb", buffering=0) as out:
    for i in range(400000):
        out.write(b"x" * 20)
'`,
    must: ['small-io'],
  },
  {
    name: 'large pieces',
    what: 'dd with a block size of 1 MiB',
    healthy: true,
    quick: true,
    script: 'dd if=/dev/zero of=out bs=1M count=300 status=none',
    must: [],
  },
  {
    name: 'many records through a buffer',
    what: 'a Python program that writes a million short lines, through its buffer',
    healthy: true,
    needs: ['python3'],
    script: `python3 -c '
with open("out", "w") as out:
    for i in range(1000000):
        out.write("a short line\\n")
'`,
    must: [],
  },
  {
    name: 'checkpoints all the time',
    what: 'a job that writes a checkpoint of three seconds after every six seconds of work',
    needs: ['cc'],
    script:
      'for i in 1 2 3 4; do job spin 6; tacho mark begin checkpoint; job write state 64; sleep 3; tacho mark end checkpoint; done',
    must: ['checkpoint-share'],
    may: ['io-wait'],
  },
  {
    name: 'a checkpoint at the end',
    what: 'a job that writes one short checkpoint after half a minute of work',
    healthy: true,
    needs: ['cc'],
    script: 'job spin 33; tacho mark begin checkpoint; job write state 16; tacho mark end checkpoint',
    must: [],
  },
  {
    name: 'disk that others fill up',
    what: 'small writes at a steady pace; after half of the time others keep the same disk busy',
    needs: ['fio'],
    script:
      'fio --name=steady --filename=steady --size=64M --rw=randwrite --bs=4k --direct=1 --rate_iops=40 --time_based --runtime=69 --output=/dev/null',
    recorded: {
      beside:
        'sleep 38; exec fio --name=others --directory=. --numjobs=8 --size=256M --rw=randwrite --bs=1M --direct=1 --iodepth=8 --ioengine=libaio --time_based --runtime=60 --output=/dev/null',
    },
    must: ['slow-file-system'],
    may: ['io-wait'],
  },
  {
    name: 'steady writes',
    what: 'small writes at a steady pace to a disk that is as quick as ever',
    healthy: true,
    needs: ['fio'],
    script:
      'fio --name=steady --filename=steady --size=64M --rw=randwrite --bs=4k --direct=1 --rate_iops=40 --time_based --runtime=65 --output=/dev/null',
    must: [],
    may: ['io-wait'],
  },
  {
    name: 'sampled too seldom',
    what: 'a job of more than a minute that was sampled every ten seconds',
    takes: 'nothing',
    script: 'sleep 62',
    recorded: { interval: '10s' },
    must: ['recording-quality'],
  },
];
