"""Metrics of the user's own."""

from __future__ import annotations

from typing import Any, Callable


class CustomMetric:
    """A function of a worker and a device handle, with its name. It can still be called."""

    def __init__(self, function: Callable[[Any, Any], Any], name: str, per_device: bool) -> None:
        self.function = function
        self.name = name
        self.per_device = per_device
        self.__doc__ = function.__doc__

    def __call__(self, worker: Any, handle: Any) -> Any:
        return self.function(worker, handle)

    def __repr__(self) -> str:
        return f"CustomMetric({self.name!r}, per_device={self.per_device})"


def custom_metric(name: str, per_device: bool = True) -> Callable[[Callable[[Any, Any], Any]], CustomMetric]:
    """Makes a function a metric; `name` is its column.

    It gets the worker and the handle of a device, and is called for each device. With `per_device=False` it is called once,
    with a list of all handles. Handles are those of pynvml where that is installed on the worker.
    """

    def decorate(function: Callable[[Any, Any], Any]) -> CustomMetric:
        return CustomMetric(function, str(name), per_device)

    return decorate
