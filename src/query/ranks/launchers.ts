/** What starts the ranks of parallel programs: the command that people type, without the name of its MPI or its file type. */
const COMMANDS = /^(mpirun|mpiexec|orterun|prun|prterun|srun|aprun|jsrun|flux)(\.\w+)?$/;

/** What it leaves on each node to start the ranks there. They may have a rank of their own: Slurm starts them, too. */
const DAEMONS = /^(orted|prted|prte|hydra_pmi_proxy|hydra_bstrap_proxy|hydra_nameserver|pmi_proxy|slurmstepd)$/;

/** The command that left a daemon on another node, where that command is not seen. */
export const launcherBehind = (daemon: string): string =>
  /^(hydra|pmi)_/.test(daemon) ? 'mpiexec' : /^(orted|prted|prte)$/.test(daemon) ? 'mpirun' : '';

export const isLauncher = (program: string): boolean => COMMANDS.test(program);
export const isDaemon = (program: string): boolean => DAEMONS.test(program);
