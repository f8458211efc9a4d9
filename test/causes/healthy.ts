import type { Cause } from './cause.ts';

const healthy = (one: Omit<Cause, 'healthy' | 'must'>): Cause => ({ ...one, healthy: true, must: [] });

/** A GPU that does its work: no reason to slow down, its memory in use. */
const steady = (card: number, use: number, watts = 310): string =>
  [`use ${use}`, `watts ${watts}`, 'celsius 64', 'reasons 0', 'memory 60000']
    .map((value) => `set ${card} ${value}\n`)
    .join('');

/** Jobs of many kinds with which nothing is wrong. */
export const healthyJobs: readonly Cause[] = [
  healthy({ name: 'true', what: 'a command that ends at once', quick: true, takes: 'nothing', script: 'true' }),
  healthy({
    name: 'short sleep',
    what: 'a command that sleeps for three seconds',
    takes: 'nothing',
    script: 'sleep 3',
  }),
  healthy({
    name: 'interactive session',
    what: 'a shell on the whole machine that waits for its user most of the time',
    takes: 'nothing',
    script: 'for i in $(seq $((LONG / 2 + 1))); do ls -lR /usr/share/doc | wc -l; sleep 2; done',
  }),
  healthy({
    name: 'two threads on two CPUs',
    what: 'two busy threads on the two CPUs of the machine',
    needs: ['cc'],
    script: 'job spin 4 2',
  }),
  healthy({
    name: 'one busy CPU',
    what: 'one busy thread on the one CPU that it may use',
    takes: 'cpu',
    needs: ['cc', 'taskset'],
    script: 'job spin $LONG',
    recorded: { cpus: 1 },
  }),
  healthy({
    name: 'one busy thread under a quota of 1.5',
    what: 'a thread that the CPU quota pays for',
    needs: ['root', 'cc'],
    script: 'job spin 4',
    recorded: { quota: 1.5 },
  }),
  healthy({
    name: 'pipeline',
    what: 'a shell pipeline of four programs',
    quick: true,
    script: 'for i in 1 2 3; do seq 100000 | sort -R | sort -n | tail -n 1; done',
  }),
  healthy({
    name: 'compile',
    what: 'a C project of forty files, built with two compilers at a time',
    needs: ['cc', 'make'],
    script: 'many-sources 40; make -s -C src -j2',
  }),
  healthy({
    name: 'compile on one CPU',
    what: 'the same built with one compiler at a time on one CPU',
    takes: 'cpu',
    needs: ['cc', 'make', 'taskset'],
    script: 'many-sources 30; make -s -C src -j1',
    // the recorder shares that CPU
    recorded: { cpus: 1, interval: '0.5s' },
  }),
  healthy({
    name: 'Python imports',
    what: 'a Python program that imports most of its standard library',
    needs: ['python3'],
    script: `for i in 1 2 3; do python3 -c 'import asyncio, ctypes, decimal, email, http.client, json, logging, multiprocessing, sqlite3, ssl, unittest, urllib.request, xml.dom.minidom, zipfile'; done`,
  }),
  healthy({
    name: 'worker pool',
    what: 'two Python processes that share equal tasks on two CPUs',
    needs: ['python3'],
    script: 'pool 2 6',
  }),
  healthy({
    name: 'forty short commands',
    what: 'a loop over forty short commands',
    script: 'for i in $(seq 40); do cp case.sh copy; wc copy >/dev/null; sleep 0.05; done',
  }),
  healthy({
    name: 'xargs with two workers',
    what: 'xargs that keeps two programs running',
    script: 'many-sources 12; find src -name "*.c" | xargs -n1 -P2 gzip -9 -k',
  }),
  healthy({
    name: 'file cache fills the limit',
    what: 'a job that writes and reads 800 MiB of files where 600 MiB of memory are allowed',
    needs: ['root'],
    script: 'dd if=/dev/zero of=big bs=1M count=800 status=none; cat big >/dev/null; sleep 1',
    recorded: { memory: 600 },
    may: ['io-wait', 'memory-figures'],
  }),
  healthy({
    name: 'large writes',
    what: 'dd that writes 400 MiB in pieces of 4 MiB',
    script: 'dd if=/dev/zero of=out bs=4M count=100 status=none; sleep 1',
  }),
  healthy({
    name: 'fio with large blocks',
    what: 'fio that reads a file from beginning to end in pieces of 1 MiB',
    needs: ['fio'],
    script: 'fio --name=s --filename=data --size=256M --rw=read --bs=1M --runtime=4 --time_based --output=/dev/null',
  }),
  healthy({
    name: 'file from memory',
    what: 'a program that reads the same file again and again, from the page cache',
    script: 'dd if=/dev/zero of=data bs=1M count=64 status=none; for i in $(seq 30); do cksum data; done',
  }),
  healthy({
    name: 'archive',
    what: 'tar and gzip of many small files',
    script: 'mkdir d; for i in $(seq 300); do head -c 20000 /dev/urandom >d/$i; done; tar cz d | wc -c',
  }),
  healthy({
    name: 'search in files',
    what: 'find and grep in a large tree',
    script: 'find /usr/include /usr/share/doc -type f 2>/dev/null | head -n 4000 | xargs grep -l license | wc -l; true',
  }),
  healthy({
    name: 'external sort',
    what: 'sort of two million lines with files of its own',
    script: 'seq 2000000 | shuf --random-source=/usr/bin/env 2>/dev/null | sort -n -S 16M -T . | tail -n 1 || true',
  }),
  healthy({
    name: 'phases',
    what: 'a job with two marked phases, busy in both',
    needs: ['cc'],
    script:
      '$TACHO mark begin setup; job spin 1 2; $TACHO mark end setup; $TACHO mark begin solve; job spin 3 2; $TACHO mark end solve',
  }),
  healthy({
    name: 'memory well used',
    what: 'a program that keeps 900 of the 1,500 MiB that it may use',
    needs: ['root', 'cc'],
    script: 'job hold 900 2; job spin 1',
    recorded: { memory: 1500 },
  }),
  healthy({
    name: 'memory comes and goes',
    what: 'a program that takes 300 MiB six times, and gives them back',
    takes: 'nothing',
    needs: ['cc'],
    script: 'waves 300 6',
  }),
  healthy({
    name: 'memory that levels off',
    what: 'a program that fills a table at its start, and then works on it',
    takes: 'cpu',
    needs: ['cc', 'taskset'],
    script: 'level 400 $LONG',
    recorded: { cpus: 1 },
  }),
  healthy({
    name: 'shared memory of four processes',
    what: 'four processes that share 300 MiB of their parent',
    takes: 'nothing',
    needs: ['cc'],
    script: 'job share 300 4 3',
    may: ['memory-figures'],
  }),
  healthy({
    name: 'server that is stopped',
    what: 'a process in the background that the script ends, and waits for',
    takes: 'nothing',
    script: 'sleep 60 & server=$!; sleep 2; kill $server; wait $server; true',
  }),
  healthy({
    name: 'answers that are no failures',
    what: 'grep, test and diff whose exit code 1 is an answer',
    script:
      'for i in 1 2 3 4 5 6; do grep -q nothing case.sh; test -e none; diff -q case.sh /etc/passwd >/dev/null; done; true',
  }),
  healthy({
    name: 'database',
    what: 'sqlite3, by Python, that writes 20,000 rows in one transaction and counts them',
    needs: ['python3'],
    script: `python3 -c 'import sqlite3; d = sqlite3.connect("d"); d.execute("create table t(a, b)"); d.executemany("insert into t values(?, ?)", ((i, str(i)) for i in range(200000))); d.commit(); print(d.execute("select count(*), sum(a) from t").fetchone())'`,
  }),
  healthy({
    name: 'stress-ng on two CPUs',
    what: 'one worker of stress-ng for each CPU',
    needs: ['stress-ng'],
    script: 'stress-ng --cpu $(nproc) --timeout 5s --quiet',
  }),
  healthy({
    name: 'producer and consumer',
    what: 'two Python processes, one of which gives the other work through a pipe',
    needs: ['python3'],
    script: `python3 -c '
import sys
for i in range(300000): print(i * i)' | python3 -c '
import sys
print(sum(int(line) for line in sys.stdin))'`,
  }),
  healthy({
    name: 'transfer over a network',
    what: 'iperf3 that sends 200 MB between two network namespaces',
    needs: ['root', 'iperf3', 'ip'],
    script: `n=tc$$; ip netns add $n; ip netns add $n-s
trap 'ip netns del $n; ip netns del $n-s' EXIT
ip link add $n-a netns $n type veth peer name $n-b netns $n-s
ip -n $n addr add 10.213.78.2/24 dev $n-a; ip -n $n-s addr add 10.213.78.1/24 dev $n-b
ip -n $n link set $n-a up; ip -n $n-s link set $n-b up
ip netns exec $n-s iperf3 -s -1 >/dev/null & server=$!
for i in $(seq 50); do ip netns exec $n iperf3 -c 10.213.78.1 -n 200M >/dev/null 2>&1 && break; sleep 0.1; done
wait $server`,
  }),
  healthy({
    name: 'busy GPU',
    what: 'a GPU that is 93 % busy while the CPU waits for it',
    takes: 'nothing',
    needs: ['cc'],
    script: 'job spin 1; sleep $LONG',
    recorded: { gpus: `cards 1\n${steady(0, 93)}` },
  }),
  healthy({
    name: 'four busy GPUs',
    what: 'four GPUs that are 88 to 94 % busy',
    takes: 'nothing',
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: `cards 4\n${steady(0, 91)}${steady(1, 94)}${steady(2, 88)}${steady(3, 92)}` },
  }),
  healthy({
    name: 'GPU that warms up',
    what: 'a GPU that works well after a start of one second',
    takes: 'nothing',
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: `cards 1\n${steady(0, 0, 90)}set 0 use 95 1\nset 0 watts 330 1\n` },
  }),
  healthy({
    name: 'GPU of somebody else',
    what: 'a job without a GPU on a machine that has one',
    takes: 'nothing',
    needs: ['cc'],
    script: 'sleep $LONG',
    recorded: { gpus: `cards 1\n${steady(0, 0, 60)}`, env: { CUDA_VISIBLE_DEVICES: '' } },
  }),
  healthy({
    name: 'two busy threads in a batch job',
    what: 'a Slurm job of two CPUs with two busy threads',
    needs: ['slurm', 'cc'],
    script: 'job spin $LONG 2',
    recorded: { slurm: ['-c2', '-t5'] },
  }),
  healthy({
    name: 'two balanced nodes',
    what: 'a Slurm job on two nodes, one busy thread on each',
    needs: ['slurm', 'cc'],
    // one CPU for each, whatever else runs on the machine
    script: `srun bash -c 'exec taskset -c $SLURM_PROCID job spin $LONG'`,
    recorded: { slurm: ['-N2', '-n2', '-t5'] },
    may: ['scattered-nodes'],
  }),
  healthy({
    name: 'three good steps',
    what: 'a Slurm job of three steps that all succeed',
    needs: ['slurm', 'cc'],
    script: `for i in 1 2 3; do srun -n2 bash -c 'exec taskset -c $SLURM_PROCID job spin 2'; done`,
    recorded: { slurm: ['-n2', '-t5'] },
  }),
  healthy({
    name: 'serial job that asked for one CPU',
    what: 'a Slurm job of one CPU with a busy thread, its memory as asked for',
    needs: ['slurm', 'cc'],
    script: 'job hold 250 1; job spin $LONG',
    recorded: { slurm: ['-c1', '--mem=500', '-t5'] },
  }),
];
