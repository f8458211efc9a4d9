import type { Cause } from './cause.ts';

const healthy = (one: Omit<Cause, 'healthy' | 'must'>): Cause => ({ ...one, healthy: true, must: [] });

/** Jobs of many kinds with which nothing is wrong. */
export const healthyJobs: readonly Cause[] = [
  healthy({ name: 'true', what: 'a command that ends at once', quick: true, script: 'true' }),
  healthy({
    name: 'two threads on two CPUs',
    what: 'two busy threads on the two CPUs of the machine',
    needs: ['cc'],
    script: 'job spin 4 2',
  }),
  healthy({
    name: 'one busy CPU',
    what: 'one busy thread on the one CPU that it may use',
    needs: ['cc', 'taskset'],
    script: 'job spin $LONG',
    recorded: { cpus: '1' },
  }),
  healthy({
    name: 'pipeline',
    what: 'a shell pipeline of four programs',
    quick: true,
    script: 'for i in $(seq 6); do seq 200000 | sort -R | sort -n | tail -n 1; done',
  }),
  healthy({
    name: 'busy GPU',
    what: 'a GPU that is 93 % busy while the CPU waits for it',
    needs: ['cc'],
    script: 'job spin 1; sleep $LONG',
    recorded: { gpus: 'cards 1\nset 0 use 93\nset 0 watts 310\nset 0 memory 60000\n' },
  }),
];
