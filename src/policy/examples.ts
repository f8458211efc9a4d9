/** Policies to begin with, all off: `tacho policy init` prints them. What each is like in other systems stands in docs/policies.md. */
export const EXAMPLE_POLICIES = `# Policies for tacho.toml or /etc/tacho/config.toml. All are off: try one on the past first,
#
#     tacho policy test gpu-idle /archive/tacho --from -30d
#
# then write enabled = true. Nothing is sent without actions = ["mail"] (or "webhook") and tacho policy run --send.

[[policy]]
name = "gpu-idle"
enabled = false
help = "GPUs that did nothing for an hour or longer"
advice = "Run a short test with your program's own GPU output, or ask for a node without GPUs."
jobs = "running"
window = "1d"
period = "4h"
when = ["gpus >= 1", "wall_seconds > 2h", "gpu_idle_seconds >= 60min"]
unless = ["interactive = yes"]
actions = ["mail"]
# After two warnings, and only if you state it:
# cancel = true
# warnings = 2

[[policy]]
name = "gpu-hours-unused"
enabled = false
help = "GPUs were reserved and did nothing at any time"
advice = "Ask for as many GPUs as the program uses; most programs use one unless they are told otherwise."
per = "user"
window = "7d"
when = ["wall_seconds >= 30min", "gpus_unused >= 1"]
total = ["gpu_hours_unused >= 100"]
actions = ["mail"]

[[policy]]
name = "low-gpu-use"
enabled = false
help = "GPUs were used little"
advice = "Look at the report card (tacho report JOB): waiting for data, small batches and CPU work are the usual causes."
per = "user"
window = "7d"
when = ["gpu_hours > 0"]
total = ["gpu_use <= 25%", "gpu_hours >= 50", "gpu_hours_share >= 2%"]
most = 10
actions = ["mail"]

[[policy]]
name = "low-cpu-use"
enabled = false
help = "Less than a quarter of the reserved cores was used"
advice = "Ask for as many cores as the program keeps busy (tacho advise says how many)."
per = "user"
window = "7d"
gpu = false
when = ["core_hours > 0"]
total = ["cpu_use < 25%", "core_hours >= 50"]
unless = ["node_busy < 50%", "interactive = yes"]
actions = ["mail"]

[[policy]]
name = "cpu-job-on-gpu-node"
enabled = false
help = "A job without GPUs ran on a GPU node while jobs that need GPUs waited"
advice = "Use a partition without GPUs."
window = "1d"
gpu = false
when = ["node_gpus >= 1", "gpu_jobs_waiting >= 1", "wall_seconds >= 10min", "cpus_busy >= 1"]
unless = ["node_busy < 50%"]
actions = ["list"]

[[policy]]
name = "serial-in-parallel"
enabled = false
help = "Several cores were reserved on a node, and one was used"
advice = "Ask for one core, or have the program use the others (threads, MPI, several runs at once)."
per = "user"
window = "7d"
when = ["nodes = 1", "cpus > 1", "cpus_busy > 0.85", "cpus_busy <= 1.05"]
total = ["core_hours_wasted > 100"]
actions = ["mail"]

[[policy]]
name = "idle-node"
enabled = false
help = "A node of the job did nothing for the whole time"
advice = "Check that the program starts on all nodes (srun, mpirun), or ask for fewer."
window = "7d"
when = ["wall_seconds >= 61min", "findings has node-idle"]
actions = ["mail"]

[[policy]]
name = "excess-memory"
enabled = false
help = "Most of the reserved memory was never used"
advice = "Ask for the peak of past runs and a fifth more (tacho advise)."
per = "user"
window = "7d"
when = ["wall_seconds >= 1h", "memory_byte_hours > 0"]
total = ["asked_memory_use <= 35%", "memory_byte_hours_wasted > 65TiBh"]
actions = ["mail"]

[[policy]]
name = "excess-time"
enabled = false
help = "Time limits were far longer than the jobs"
advice = "A shorter limit lets the scheduler start jobs sooner (tacho advise)."
per = "user"
window = "7d"
states = ["completed"]
when = ["time_limit_seconds > 0"]
total = ["time_use < 20%", "core_hours_not_run > 100000"]
actions = ["mail"]

[[policy]]
name = "gpu-too-powerful"
enabled = false
help = "The work of this job would fit on a smaller GPU, or on a part of one"
advice = "Use a smaller GPU, or a MIG instance where there are some."
per = "user"
window = "7d"
when = ["gpus = 1", "gpu_use > 0", "gpu_use <= 15%", "gpu_memory_peak_bytes <= 10GiB", "memory_peaks_bytes <= 32GiB"]
total = ["gpu_hours > 24"]
actions = ["mail"]

[[policy]]
name = "too-many-cpus-per-gpu"
enabled = false
help = "Jobs with many cores for each GPU keep other jobs from the node's GPUs"
advice = "Ask for at most 12 cores for each GPU unless the CPUs are busy."
window = "7d"
when = ["cpus_per_gpu > 18", "cpu_use < 60%", "gpu_hours >= 1"]
actions = ["mail"]

[[policy]]
name = "scattered"
enabled = false
help = "A few cores on each of many nodes"
advice = "Ask for fewer nodes and more tasks on each (--nodes, --ntasks-per-node)."
window = "7d"
when = ["nodes > 1", "node_share < 50%", "core_hours >= 10"]
unless = ["node_busy < 50%"]
actions = ["mail"]

[[policy]]
name = "cpu-hog"
enabled = false
help = "A job without GPUs used much of a GPU machine that others shared"
advice = "Run it on a machine without GPUs."
window = "1d"
gpu = false
when = ["node_gpus >= 1", "wall_seconds >= 10min", "cpu_use >= 10%"]
unless = ["node_busy < 50%"]
actions = ["list"]

[[policy]]
name = "zombies"
enabled = false
help = "Processes that have ended are never collected by their parents"
advice = "The parent has to wait for its child processes; ask the authors of the program."
window = "7d"
when = ["findings has zombies"]
actions = ["list"]
`;
