import type { Cause } from './cause.ts';

/** Causes in nodes, links, clocks, and in hardware that is not here: that is read where the kernel would tell of it. */
export const elsewhere: readonly Cause[] = [
  {
    name: 'little work on three nodes',
    what: 'a batch job on three nodes, each of which is busy for a tenth of the time',
    needs: ['slurm', 'cc'],
    script: `srun bash -c 'for i in $(seq $((LONG * 3))); do job spin 0.03; sleep 0.3; done'`,
    recorded: { slurm: ['-N3', '-n3', '-t5'] },
    must: ['scattered-nodes'],
    may: ['cpu-underused', 'node-imbalance', 'rank-imbalance', 'process-imbalance'],
  },
  {
    name: 'one of two CPUs never used',
    what: 'two busy threads bound to CPU 0 of a batch job with two CPUs',
    needs: ['slurm', 'cc', 'taskset'],
    script: 'timeout 20 taskset -c 0 job spin 600 2; true',
    // the recorder would use the other one
    recorded: { slurm: ['-c2', '-t5'], interval: '2s', batch: 'taskset -c 0 $RECORD taskset -c 0,1 bash case.sh' },
    must: ['core-idle'],
    may: ['cpu-binding', 'failing-children'],
  },
  {
    name: 'hypervisor that takes CPUs',
    what: 'two busy threads on a virtual machine whose hypervisor takes 40 % of its CPUs',
    needs: ['root', 'cc', 'python3'],
    script: 'job spin 4 2',
    recorded: { within: 'other-kernel steal' },
    must: ['cpu-steal'],
  },
  {
    name: 'CPUs that are too hot',
    what: 'two busy threads on CPUs that report 40 thermal events a second',
    needs: ['root', 'cc', 'python3'],
    script: 'job spin 4 2',
    recorded: { within: 'other-kernel heat' },
    must: ['cpu-thermal'],
  },
  {
    name: 'thousands of small files on Lustre',
    what: 'a job that opens 5,000 files of 2 KiB a second on a Lustre file system',
    takes: 'nothing',
    needs: ['root', 'python3'],
    script: 'sleep 7',
    recorded: { within: 'other-kernel lustre' },
    must: ['metadata-storm'],
  },
  {
    name: 'full network link',
    what: 'iperf3 that sends all that a link of 10 Gbit/s can carry',
    needs: ['root', 'iperf3', 'ip'],
    script: 'iperf3 -c 10.213.79.1 -t 6 >/dev/null',
    recorded: { within: 'behind-a-link' },
    must: ['network-bound'],
  },
  {
    name: 'clock that is seven seconds ahead',
    what: 'a batch job on three nodes, of which one has a clock that is seven seconds ahead',
    takes: 'nothing',
    needs: ['slurm', 'cc'],
    script: 'sleep 6',
    recorded: {
      slurm: ['-N3', '-n3', '-t5'],
      batch: [
        `srun sh -c 'echo $((SLURM_PROCID == 1 ? 7 : 0)) >/tmp/clock'`,
        'export TEST_CLOCK=/tmp/clock LD_PRELOAD=$(dirname $(command -v job))/libclock.so',
        '$RECORD bash case.sh',
      ].join('\n'),
    },
    must: ['clock-skew'],
    may: ['node-lost', 'recording-gaps', 'recording-quality'],
  },
];
