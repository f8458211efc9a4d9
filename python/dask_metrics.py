"""The names of dask-metrics, for workflows that import them: `tacho.dask` under another name."""

from tacho.dask import CustomMetric, Monitor, custom_metric, visualize

__all__ = ["CustomMetric", "Monitor", "custom_metric", "visualize"]
