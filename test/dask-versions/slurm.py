"""A cluster of dask-jobqueue on Slurm, monitored from the login node. Argument: a folder that all nodes share."""

import json
import os
import sys

from dask_jobqueue import SLURMCluster
from dask_metrics import Monitor, custom_metric
from distributed import Client

FOLDER = sys.argv[1]


@custom_metric("node", per_device=False)
def node(worker, handles):
    import os

    return int(os.environ["SLURMD_NODENAME"][1:])


def work(i):
    import time

    time.sleep(0.3)
    return i


def main():
    with SLURMCluster(
        queue="all",
        cores=1,
        processes=1,
        memory="400MB",
        walltime="00:05:00",
        job_extra_directives=["--exclusive"],
        job_directives_skip=["--mem"],
        local_directory=os.path.join(FOLDER, "space"),
        log_directory=os.path.join(FOLDER, "logs"),
        python=sys.executable,
        scheduler_options={"dashboard_address": None},
    ) as cluster:
        cluster.scale(2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=120)
            monitor = Monitor(client)
            monitor.attach(tracking=["tasks"], custom_metrics=[node], polling_interval=50)
            monitor.start()
            total = sum(client.gather(client.map(work, range(8))))
            monitor.stop()
            monitor.to_csv(os.path.join(FOLDER, "csv"))
            peaks = monitor.get_peaks("node", per_job=False)
            jobs = [sorted(each) for each in monitor.get_peaks("node")]
    print(json.dumps({"total": total, "nodes": sorted(value for each in peaks for value in each), "jobs": jobs}))


if __name__ == "__main__":
    main()
