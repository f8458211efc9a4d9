import { whyNot } from '../slurm/lab.ts';
import { has } from '../truth/ground.ts';
import { type Cause, PACKAGES } from './cause.ts';

let slurmTrouble: string | false | undefined;

/** Why a case cannot be recorded on this machine. */
export function whyLeftOut({ needs = [] }: Cause): string | undefined {
  for (const need of needs) {
    if (need === 'root') {
      if (process.getuid?.() !== 0) return 'needs root';
    } else if (need === 'slurm') {
      slurmTrouble ??= whyNot();
      if (slurmTrouble !== false) return slurmTrouble;
    } else if (!has(need)) return `needs ${need} (Debian's ${PACKAGES[need]})`;
  }
  return undefined;
}
