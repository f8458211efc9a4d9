import type { Cause } from './cause.ts';

/**
 * Jobs of run times that no rule was adjusted to (Java, Go, Tcl, Perl, PostgreSQL), and of limits that end a program without
 * killing it. What their first run gave is kept as it was (docs/causes-held-out-4.json); from then on they are cases like all
 * others.
 */

/** One file of Java, compiled and run. */
const java = (flags: string, ...lines: string[]): string =>
  `cat >Main.java <<'END'\n${lines.join('\n')}\nEND\njavac Main.java\njava ${flags} Main`;
const go = (...lines: string[]): string =>
  `cat >main.go <<'END'\n${lines.join('\n')}\nEND\ngo build -o main main.go\n./main`;
/** The CPU seconds of each of two equal threads. */
const JAVA_WORK =
  'static double work(long n) { double x = 0; for (long i = 1; i < n; i++) x += Math.sqrt(i) / (i + x); return x; }';

const cases: readonly Cause[] = [
  {
    name: 'parallel stream of Java',
    what: 'a Java program that works on all CPUs with a parallel stream, beside the threads of its compiler and collector',
    healthy: true,
    needs: ['javac'],
    script: java(
      '-Xmx256m',
      'import java.util.stream.*;',
      'public class Main {',
      JAVA_WORK,
      'public static void main(String[] a) {',
      '  for (int round = 0; round < 12; round++)',
      '    System.out.println(IntStream.range(0, 64).parallel().mapToDouble(i -> work(6_000_000L + i)).sum());',
      '} }',
    ),
    must: [],
  },
  {
    name: 'monitor of Java',
    what: 'a Java program of six threads that do their work inside one synchronized block',
    needs: ['javac'],
    script: java(
      '-Xmx256m',
      'public class Main {',
      JAVA_WORK,
      'static final Object lock = new Object(); static double sum;',
      'public static void main(String[] a) throws Exception {',
      '  long end = System.nanoTime() + 8_000_000_000L;',
      '  Thread[] all = new Thread[6];',
      '  for (int t = 0; t < all.length; t++) {',
      '    all[t] = new Thread(() -> { while (System.nanoTime() < end) synchronized (lock) { sum += work(40_000); } });',
      '    all[t].start();',
      '  }',
      '  for (Thread one : all) one.join();',
      '} }',
    ),
    must: ['lock-contention'],
    may: ['cpu-serial', 'thread-imbalance'],
  },
  {
    name: 'heap of Java that is full',
    what: 'a Java program that fills its heap of 96 MiB and ends with an OutOfMemoryError',
    needs: ['javac'],
    script: java(
      '-Xmx96m',
      'import java.util.*;',
      'public class Main { public static void main(String[] a) throws Exception {',
      '  List<byte[]> kept = new ArrayList<>();',
      '  for (int i = 0; i < 1000; i++) { kept.add(new byte[1 << 19]); Thread.sleep(15); }',
      '} }',
    ),
    must: ['job-failed'],
  },
  {
    name: 'goroutines on two CPUs',
    what: 'a Go program with a thousand goroutines that share equal work and a channel',
    healthy: true,
    needs: ['go'],
    script: go(
      'package main',
      'import ("fmt"; "math")',
      'func work(n int) float64 { x := 0.0; for i := 1; i < n; i++ { x += math.Sqrt(float64(i)) / (float64(i) + x) }; return x }',
      'func main() {',
      '  c := make(chan float64)',
      '  for g := 0; g < 1000; g++ { go func() { c <- work(4000000) }() }',
      '  sum := 0.0',
      '  for g := 0; g < 1000; g++ { sum += <-c }',
      '  fmt.Println(sum)',
      '}',
    ),
    must: [],
  },
  {
    name: 'pgbench of a small table',
    what: 'a PostgreSQL server that the script starts, two clients that query it, and an orderly end',
    healthy: true,
    needs: ['root', 'pgbench'],
    script: [
      'pg=$(ls -d /usr/lib/postgresql/*/bin | tail -1); here=$PWD; chmod 755 . ; mkdir db && chown nobody db',
      'as() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME=$here/db "$@"; }',
      'as $pg/initdb -D db -A trust -N >/dev/null && as $pg/pg_ctl -D db -w -o "-k $here/db -c listen_addresses= -c fsync=off" start >/dev/null',
      'as $pg/pgbench -q -h $here/db -i -s 2 postgres >/dev/null 2>&1; as $pg/pgbench -h $here/db -S -c 2 -j 2 -T 8 postgres >/dev/null',
      'as $pg/pg_ctl -D db -w stop >/dev/null',
    ].join('\n'),
    must: [],
    may: ['cpu-oversubscribed'],
  },
  {
    name: 'Tcl that evaluates in a loop',
    what: 'a Tcl program on the one CPU that it has',
    healthy: true,
    takes: 'cpu',
    needs: ['tclsh', 'taskset'],
    script: `echo 'proc f {n} { set x 0; for {set i 0} {$i < $n} {incr i} { set x [expr {($x + $i * 7) % 1000003}] }; return $x }; for {set r 0} {$r < 40} {incr r} { f 1500000 }' | tclsh`,
    recorded: { cpus: 1 },
    must: [],
  },
  {
    name: 'questions whose answer is no',
    what: 'commands whose exit code is an answer: cmp, getent, pgrep, command -v, kill -0, git diff, make -q, mountpoint',
    healthy: true,
    needs: ['git', 'make'],
    script: [
      'echo a >x; echo b >y; cmp -s x y; getent passwd nosuchuser; pgrep -x nosuchprogram; command -v nosuchprogram',
      'kill -0 99999999 2>/dev/null; mountpoint -q .; git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x',
      'git add x; git diff --cached --quiet; echo "z: x" >Makefile; make -q z; test -s nosuchfile; sleep 3; true',
    ].join('\n'),
    must: [],
  },
  {
    name: 'too many open files',
    what: 'a Python program that keeps more files open than ulimit -n allows, and ends with an exception',
    needs: ['python3'],
    script: `ulimit -n 60; python3 -c 'import time\nkept = []\nwhile True: kept.append(open("/dev/null")); time.sleep(0.02)'`,
    // which limit it was is in its own output alone
    must: ['job-failed'],
  },
  {
    name: 'stack that overflows',
    what: 'a C program whose recursion outgrows the stack that ulimit -s allows',
    needs: ['cc'],
    script:
      `echo '#include <unistd.h>\nstatic int f(int n) { volatile char room[4096]; room[n % 4096] = n; if (n % 256 == 0) usleep(300000); return f(n + 1) + room[0]; } int main() { return f(1); }' >s.c` +
      '; cc -O0 -o s s.c; ulimit -s 8192; ./s',
    // how much of its stack a process used is not sampled
    must: ['job-failed'],
  },
  {
    name: 'disk that is full',
    what: 'a program that writes into a file system without room, and ends with an error',
    needs: ['root'],
    script:
      'mkdir small; mount -t tmpfs -o size=64m none small; trap "umount small" EXIT; for i in $(seq 40); do head -c 2M /dev/zero >>small/out || exit 1; sleep 0.1; done',
    must: ['job-failed'],
  },
  {
    name: 'Perl workers that share a queue',
    what: 'two Perl processes that take turns at a file with flock, and work most of the time',
    healthy: true,
    script: `perl -e 'use Fcntl ":flock"; for (1..2) { next if fork; for (1..150) { open my $q, ">>", "queue"; flock $q, LOCK_EX; print $q "x\\n"; close $q; my $x = 0; $x += sqrt $_ for 1..600000 } exit } 1 while wait > 0'`,
    must: [],
  },
  {
    name: 'ranks with more threads than CPUs',
    what: 'two ranks of MPICH with four OpenMP threads each on two CPUs',
    needs: ['mpirun.mpich', 'mpicc.mpich'],
    script:
      `echo '#include <mpi.h>\n#include <omp.h>\nint main(int c, char **v) { MPI_Init(&c, &v); double e = MPI_Wtime() + 8; double s = 0;\n#pragma omp parallel reduction(+:s)\nwhile (MPI_Wtime() < e) for (int i = 1; i < 100000; i++) s += 1.0 / i;\nMPI_Finalize(); return s < 0; }' >h.c` +
      '; mpicc.mpich -fopenmp -O1 -o h h.c; OMP_NUM_THREADS=4 mpirun.mpich -n 2 ./h',
    must: ['rank-oversubscribed'],
    may: ['cpu-oversubscribed'],
  },
  {
    name: 'rank with ten times the memory',
    what: 'two ranks of Open MPI with the same work, of which one keeps 1.2 GiB more memory',
    needs: ['mpirun.openmpi', 'mpicc.openmpi'],
    script:
      `echo '#include <mpi.h>\n#include <stdlib.h>\n#include <string.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); size_t n = (r ? 60ul : 1300ul) << 20; char *m = malloc(n); memset(m, 1, n); double e = MPI_Wtime() + 8, s = 0; while (MPI_Wtime() < e) for (int i = 1; i < 100000; i++) s += 1.0 / i; MPI_Finalize(); return s < 0 || m[n - 1] != 1; }' >h.c` +
      '; mpicc.openmpi -O1 -o h h.c; mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 ./h',
    must: ['rank-imbalance'],
  },
  {
    name: 'OpenMP bound to one place',
    what: 'an OpenMP program of two threads whose OMP_PLACES names one CPU of the two',
    needs: ['cc'],
    script:
      `echo '#include <omp.h>\nint main() { double e = omp_get_wtime() + 9, s = 0;\n#pragma omp parallel reduction(+:s)\nwhile (omp_get_wtime() < e) for (int i = 1; i < 100000; i++) s += 1.0 / i;\nreturn s < 0; }' >o.c` +
      '; cc -fopenmp -O1 -o o o.c; OMP_NUM_THREADS=2 OMP_PROC_BIND=true OMP_PLACES="{0}" ./o',
    must: ['cpu-binding'],
    may: ['core-idle'],
  },
  {
    name: 'Node heap that is full',
    what: 'a JavaScript program that keeps all it makes until its heap of 60 MB is full, and aborts',
    needs: ['node'],
    script: `node --max-old-space-size=60 -e 'const k = []; setInterval(() => { for (let i = 0; i < 2000; i++) k.push({ i, text: "x".repeat(40) + i }) }, 20)'`,
    must: ['job-failed'],
  },
];

export const heldOutFourth: readonly Cause[] = cases.map((one) => ({ ...one, heldOut: 4 }));
