"""What the GPUs of a Dask cluster do, by worker, job, graph and task.

    from tacho.dask import Monitor

    monitor = Monitor(client)
    monitor.attach(tracking=["tasks", "mem-util", "compute-util"])
    monitor.start()
    ...
    monitor.stop()
    monitor.to_csv("metrics")

Names, defaults and files are those of dask-metrics: `import tacho.dask as dask_metrics`, or the module `dask_metrics`.
"""

from __future__ import annotations

from . import visualize
from .custom import CustomMetric, custom_metric
from .monitor import Monitor

__all__ = ["CustomMetric", "Monitor", "custom_metric", "visualize"]
