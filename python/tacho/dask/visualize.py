"""Plots of a worker's file: lines and boxes. They need matplotlib."""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from .files import Values, number, read_csv, values_of

Path = Union[str, "os.PathLike[str]"]
Number = Union[int, float]
#: Seconds, and the values of the devices, for each measurement.
Series = List[Tuple[float, Values]]


def lines(
    worker_file: Path,
    job: int,
    metrics: Sequence[str],
    width: Number = 20,
    height: Number = 10,
    save: Optional[Path] = None,
) -> None:
    """One panel for each metric, one line for each device. `save` names an image; without it the plot is shown."""

    def draw(axes: Any, series: Series) -> None:
        devices = max((len(values) for _, values in series), default=0)
        for device in range(devices):
            points = [(moment, values[device]) for moment, values in series if device < len(values)]
            # what is missing is a gap in the line
            cells = [float("nan") if value is None else value for _, value in points]
            axes.plot([moment for moment, _ in points], cells, label=f"device {device}")
        if devices > 1:
            axes.legend(loc="upper right")

    _draw(worker_file, job, metrics, width, height, save, draw)


def boxes(
    worker_file: Path,
    job: int,
    metrics: Sequence[str],
    width: Number = 20,
    height: Number = 10,
    save: Optional[Path] = None,
    freq: int = 15,
) -> None:
    """One panel for each metric; each box has `freq` measurements of all devices."""
    if isinstance(freq, bool) or not isinstance(freq, int) or freq < 1:
        raise ValueError(f"freq is a whole number above 0, not {freq!r}")

    def draw(axes: Any, series: Series) -> None:
        groups = [series[i : i + freq] for i in range(0, len(series), freq)]
        pooled = [[value for _, values in group for value in values if value is not None] for group in groups]
        starts = [group[0][0] for group in groups]
        steps = [b - a for a, b in zip(starts, starts[1:])]
        axes.boxplot(pooled, positions=starts, widths=min(steps) * 0.6 if steps else 0.5, manage_ticks=False)

    _draw(worker_file, job, metrics, width, height, save, draw)


def series_of(worker_file: Path, job: int, metrics: Sequence[str]) -> List[Series]:
    """What the plots show: for each metric the measurements of the job."""
    if isinstance(metrics, str):
        raise TypeError(f"metrics is a list of names, not the text '{metrics}'")
    if not metrics:
        raise ValueError("metrics is empty: name one at least")
    columns = read_csv(worker_file)
    for metric in metrics:
        if metric not in columns:
            raise KeyError(f"'{metric}' is not in {os.fspath(worker_file)}; it has {', '.join(columns)}")
    rows = [i for i, cell in enumerate(columns["job"]) if int(cell) == job]
    if not rows:
        jobs = sorted({int(cell) for cell in columns["job"]})
        raise ValueError(f"job {job} is not in {os.fspath(worker_file)}; it has {', '.join(map(str, jobs)) or 'none'}")
    return [[(float(number(columns["timestamp"][i])), _values(columns[metric][i], metric)) for i in rows] for metric in metrics]


def _values(cell: str, metric: str) -> Values:
    try:
        return values_of(cell)
    except ValueError:
        raise ValueError(f"'{metric}' has values that are no numbers: {cell[:40]}") from None


def _draw(
    worker_file: Path,
    job: int,
    metrics: Sequence[str],
    width: Number,
    height: Number,
    save: Optional[Path],
    draw: Callable[[Any, Series], None],
) -> None:
    panels = series_of(worker_file, job, metrics)
    try:
        import matplotlib.pyplot as plot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: apt-get install python3-matplotlib, or pip install matplotlib", name=error.name
        ) from None
    figure, all_axes = plot.subplots(len(panels), 1, sharex=True, squeeze=False, figsize=(width, height))
    for axes, metric, series in zip(all_axes[:, 0], metrics, panels):
        draw(axes, series)
        axes.set_ylabel(metric)
        axes.grid(alpha=0.3)
    all_axes[0, 0].set_title(f"job {job}, {os.path.basename(os.fspath(worker_file))}")
    all_axes[-1, 0].set_xlabel("seconds since start")
    if save is None:
        plot.show()
    else:
        figure.savefig(save, bbox_inches="tight")
        plot.close(figure)
