import * as fs from 'node:fs';
import { usage } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';

/** CPUs of a kernel's list like `0-3,8`. */
function listOf(text: string): number[] {
  return [...text.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i),
  );
}

const read = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

/** The CPUs that this process may use, one of each core first: two threads of a core are not two cores. */
export function usableCpus(root = ''): number[] {
  const allowed = /^Cpus_allowed_list:\s*(\S+)/m.exec(read(`${root}/proc/self/status`) ?? '')?.[1] ?? '0';
  const cpus = listOf(allowed);
  const siblingsBefore = (cpu: number): number => {
    const siblings = listOf(read(`${root}/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`) ?? `${cpu}`);
    return siblings.filter((other) => other < cpu && cpus.includes(other)).length;
  };
  return cpus
    .map((cpu) => ({ cpu, siblings: siblingsBefore(cpu) }))
    .sort((a, b) => a.siblings - b.siblings || a.cpu - b.cpu)
    .map(({ cpu }) => cpu);
}

/** The CPUs for a run on so many cores. */
export function cpusFor(cores: number, usable: readonly number[]): number[] {
  if (cores > usable.length)
    throw usage(
      `there are no ${cores} CPUs: this process may use ${count(usable.length, 'CPU')}`,
      'ask the scheduler for a larger allocation, or use --no-bind when the command binds itself',
    );
  return usable.slice(0, cores).sort((a, b) => a - b);
}
