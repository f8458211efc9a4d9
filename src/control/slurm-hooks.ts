import * as fs from 'node:fs';
import { Fault, reason } from '../base/fault.ts';
import { ours } from '../base/ours.ts';
import { libraryOf } from './preload.ts';
import { READABLE, whyPrivate } from './private-path.ts';

export type Hook = 'prolog' | 'epilog' | 'task-prolog' | 'conf';

const CONF = `# Tacho: every node tells its agent of each job as soon as the job has the node
Prolog=/etc/slurm/prolog.d/*
Epilog=/etc/slurm/epilog.d/*
# merge these with lines of the same name, if slurm.conf has some: Slurm may read only the last one
# (Contain and X11 include Alloc)
PrologFlags=Alloc
# with a cgroup for each job, every process belongs to the right job, daemons too:
# ProctrackType=proctrack/cgroup
`;

/** What Slurm needs so that the agents of its nodes learn of jobs. */
export function hooks(): Record<Hook, string> {
  const script = (name: string): string => {
    const file = ours(`packaging/slurm/${name}`);
    try {
      return fs.readFileSync(file, 'utf8');
    } catch (error) {
      throw new Fault(`cannot read ${file}: ${reason(error)}`, { hint: 'it comes with Tacho: install it again' });
    }
  };
  return {
    prolog: script('prolog.sh'),
    epilog: script('epilog.sh'),
    // a task must not be led to a library by anything that its user, or another, can write
    'task-prolog': script('task-prolog.sh').replace(/^library=.*$/m, `library=${libraryOf({})}`),
    conf: CONF,
  };
}

/** Why tasks, which run as the job's user, cannot be started with the library of this Tacho; undefined: they can. */
export function whyTasksCannot(): string | undefined {
  const library = libraryOf({});
  const why = whyPrivate(library);
  return why === undefined ? undefined : `users cannot read ${library}, for ${why}; ${READABLE}`;
}

/** Where the hooks go, in words. */
export const WHERE = `Slurm tells the agent of a node of its jobs by two small scripts, on every node:

  mkdir -p /etc/slurm/prolog.d /etc/slurm/epilog.d
  tacho slurm hooks --prolog > /etc/slurm/prolog.d/50-tacho.sh
  tacho slurm hooks --epilog > /etc/slurm/epilog.d/50-tacho.sh
  chmod 755 /etc/slurm/prolog.d/50-tacho.sh /etc/slurm/epilog.d/50-tacho.sh

and in slurm.conf, on every node and the controller (tacho slurm hooks --conf):

${CONF.replaceAll(/^/gm, '  ').replace(/ +$/, '')}
then scontrol reconfigure. Each script takes some milliseconds, waits for nothing
and never fails a job. Without hooks the agent finds jobs by their cgroups, where
Slurm makes such.

To have every process and thread of jobs recorded too, as tacho env does in a
script: tacho slurm hooks --task-prolog > /etc/slurm/tacho-task-prolog.sh, and
TaskProlog=/etc/slurm/tacho-task-prolog.sh in slurm.conf. By that name Tacho
knows that it is no process of the job.
`;
