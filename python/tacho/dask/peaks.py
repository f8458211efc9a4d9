"""Peaks of a metric, by worker, and by job."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Union

from .files import ALWAYS, Values, values_of

#: One entry for each worker: the peak of each device, or that for each job.
Peaks = Union[List[Values], List[Dict[int, Values]]]


def peaks_of(
    workers: Sequence[Mapping[str, Sequence[str]]],
    metric: str,
    chosen: Optional[Sequence[int]],
    per_job: bool,
) -> Peaks:
    """Numbers are compared as numbers: 100 is more than 99."""
    if metric in (*ALWAYS, "tasks"):
        raise ValueError(f"'{metric}' has no peaks")
    indexes = range(len(workers)) if chosen is None else chosen
    for index in indexes:
        if not 0 <= index < len(workers):
            raise IndexError(f"there is no worker {index}: there are {len(workers)}, counted from 0")
    if per_job:
        return [_by_job(workers[index], metric, True) for index in indexes]
    return [_by_job(workers[index], metric, False).get(0, []) for index in indexes]


def _by_job(columns: Mapping[str, Sequence[str]], metric: str, per_job: bool) -> Dict[int, Values]:
    if metric not in columns:
        tracked = [name for name in columns if name not in (*ALWAYS, "tasks")]
        raise KeyError(f"'{metric}' was not tracked; there is: {', '.join(tracked) or 'nothing'}")
    peaks: Dict[int, Values] = {}
    for job, cell in zip(columns["job"], columns[metric]):
        try:
            values = values_of(cell)
        except ValueError:
            raise ValueError(f"'{metric}' has values that are no numbers: {cell[:40]}") from None
        if not values:
            continue
        group = int(job) if per_job else 0
        before = peaks.get(group, [])
        peaks[group] = [_larger(_at(before, i), _at(values, i)) for i in range(max(len(before), len(values)))]
    return peaks


def _at(values: Values, index: int) -> Optional[Union[int, float]]:
    return values[index] if index < len(values) else None


def _larger(a: Optional[Union[int, float]], b: Optional[Union[int, float]]) -> Optional[Union[int, float]]:
    return b if a is None else a if b is None else max(a, b)
