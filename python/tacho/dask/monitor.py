"""A monitor of a Dask cluster, with the names and defaults of dask-metrics."""

from __future__ import annotations

import os
import uuid
import warnings
from bisect import bisect_right
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

from .custom import CustomMetric
from .files import cell_text, natural, read_csv, worker_files, write_csv
from .peaks import Peaks, peaks_of
from .recorder import ClusterRecorder
from .remote import remote, source

#: As in `on_cluster.py`, which needs Dask: files of a monitor are read without it.
GPU_METRICS = ("total-mem", "mem-util", "compute-util")
METRICS = ("tasks", *GPU_METRICS)
JOB_TYPES = ("client", "manual")
Path = Union[str, "os.PathLike[str]"]


class Monitor:
    """A monitor bound to a client. All of its state is on the cluster: another object, of a later client, finds it there."""

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            raise TypeError("a monitor needs a client that is not asynchronous")
        self.client = client
        self._told: Set[str] = set()

    def attach(
        self,
        tracking: Sequence[str],
        custom_metrics: Sequence[CustomMetric] = (),
        job_type: str = "client",
        polling_interval: Union[int, float] = 200,
        mem_limit: Optional[int] = None,
        dump_loc: Path = "temp",
    ) -> None:
        """Puts the monitor on the cluster; it measures nothing before `start`.

        `tracking` has names of metrics: tasks, total-mem, mem-util, compute-util. `polling_interval` is in milliseconds.
        With `mem_limit` each worker moves so many measurements at a time to a file in `dump_loc`.
        """
        options: Dict[str, Any] = {
            "id": uuid.uuid4().hex[:12],
            "tracking": _tracking(tracking),
            "custom": [_custom(metric) for metric in custom_metrics],
            "job_type": _one_of("job_type", job_type, JOB_TYPES),
            "polling_interval": _positive("polling_interval", polling_interval),
            "mem_limit": None if not mem_limit else int(_positive("mem_limit", mem_limit)),
            "dump_loc": os.fspath(dump_loc),
        }
        names = [*METRICS, "job", "dag", "timestamp", *(metric["name"] for metric in options["custom"])]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two metrics are named '{name}'")
        self._on_scheduler("attach", options, source())

    def start(self, tracking: Optional[Sequence[str]] = None) -> None:
        """Begins to measure, on all workers and on those that come later."""
        names = None if tracking is None else _tracking(tracking)
        self._on_scheduler("begin", names)
        self._on_workers("begin_worker", names)

    def stop(self, force: bool = False) -> None:
        """Ends measuring. It never waits for tasks; `force` is there for programs that have it."""
        self._on_scheduler("end")
        for notes in self._on_workers("end_worker").values():
            self._tell(notes)

    def new_job(self, job: Optional[int] = None) -> int:
        """The next job begins, or the one with this number; with `job_type='manual'`. Returns its number."""
        number: int = self._on_scheduler("new_job", None if job is None else int(job))
        return number

    def to_csv(self, path: Path, fname: str = "worker", clear_dir: bool = False) -> None:
        """Writes one file for each worker, `worker_0.csv` and so on; workers are sorted by their names."""
        folder = os.fspath(path)
        os.makedirs(folder, exist_ok=True)
        tables = self._tables()
        ours = {f"{fname}_{i}.csv" for i in range(len(tables))}
        others = [name for name in os.listdir(folder) if name.startswith(f"{fname}_") and name.endswith(".csv")]
        others = sorted(name for name in others if name not in ours)
        if clear_dir:
            for name in others:
                os.unlink(os.path.join(folder, name))
        elif others:
            warnings.warn(
                f"{folder} has files of other workers: {', '.join(others[:5])}; clear_dir=True removes them", stacklevel=2
            )
        for i, columns in enumerate(tables):
            write_csv(os.path.join(folder, f"{fname}_{i}.csv"), list(columns), zip(*columns.values()))

    def get_peaks(self, metric: str, workers: Optional[Sequence[int]] = None, per_job: bool = True) -> Peaks:
        """The highest value of each device, for each worker: `[{job: [...]}, ...]`, or `[[...], ...]`."""
        return peaks_of(self._tables(), metric, workers or None, per_job)

    @classmethod
    def peaks_from_csv(
        cls, csv_dir: Path, metric: str, workers: Optional[Sequence[int]] = None, per_job: bool = True
    ) -> Peaks:
        """The same from the files that `to_csv` has written."""
        return peaks_of([read_csv(file) for file in worker_files(csv_dir)], metric, workers or None, per_job)

    def record(
        self,
        folder: Optional[Path] = None,
        tracking: Sequence[str] = METRICS,
        custom_metrics: Sequence[CustomMetric] = (),
        job_type: str = "client",
        polling_interval: Union[int, float] = 200,
    ) -> ClusterRecorder:
        """Records the cluster with the `tacho` program while a block runs: `with monitor.record("run7") as r:`.

        The recording is an ordinary one, with the tables dask_task, dask_worker, dask_gpu, dask_metric and dask_graph. Inside
        another recording (`tacho run`, `tacho.record`) they are written into that one. It needs no `attach`.
        """
        for metric in custom_metrics:
            _custom(metric)
        _one_of("job_type", job_type, JOB_TYPES)
        _positive("polling_interval", polling_interval)
        return ClusterRecorder(self.client, folder, _tracking(tracking), custom_metrics, job_type, polling_interval)

    def clear_metrics(self) -> None:
        """Forgets what was measured; time counts from now."""
        self._on_scheduler("clear")
        self._on_workers("clear_worker")

    def detach(self) -> None:
        """Takes everything back that `attach` put on the cluster."""
        self._on_scheduler("detach")

    shutdown = detach

    def status(self) -> Dict[str, Any]:
        """Whether it measures, since when, and the current job."""
        state: Dict[str, Any] = self._on_scheduler("state")
        return {**state, "custom": [metric["name"] for metric in state["custom"]]}

    def _tables(self) -> List[Dict[str, List[str]]]:
        """The columns of each worker as its file has them."""
        cluster: Dict[str, Any] = self._on_scheduler("collected")
        found: List[Dict[str, Any]] = [*cluster["left"]]
        found += [worker for worker in self._on_workers("collected_worker").values() if worker is not None]
        for worker in found:
            self._tell([f"worker {worker['name']}: {note}" for note in worker["notes"]])
        workers: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
        for worker in found:
            # a worker that was restarted comes back under its name
            key = worker["name"] if "://" not in worker["name"] else worker["address"]
            workers.setdefault((key, worker["host"]), []).append(worker)
        ordered = sorted(workers.items(), key=lambda item: (natural(item[0][0]), item[0][1]))
        return [_table(cluster, parts) for _, parts in ordered]

    def _on_scheduler(self, function: str, *arguments: Any) -> Any:
        said: Dict[str, Any] = self.client.run_on_scheduler(remote("ask"), function, *arguments)
        if "refused" in said:
            raise RuntimeError(said["refused"])
        return said["answer"]

    def _on_workers(self, function: str, *arguments: Any) -> Dict[str, Any]:
        answers: Dict[str, Any] = self.client.run(remote(function), *arguments, on_error="return")
        failed = {address: answer for address, answer in answers.items() if isinstance(answer, BaseException)}
        if failed:
            self._tell([f"worker {address} does not answer: {error!r}" for address, error in failed.items()])
        return {address: answer for address, answer in answers.items() if address not in failed}

    def _tell(self, notes: Sequence[str]) -> None:
        for note in notes:
            if note not in self._told:
                self._told.add(note)
                warnings.warn(note, RuntimeWarning, stacklevel=3)


def _table(cluster: Dict[str, Any], parts: Sequence[Dict[str, Any]]) -> Dict[str, List[str]]:
    tracking = cluster["tracking"]
    names = [name for name in GPU_METRICS if name in tracking] + [metric["name"] for metric in cluster["custom"]]
    header = ["job", "dag", "timestamp", *(["tasks"] if "tasks" in tracking else []), *names]
    columns: Dict[str, List[str]] = {name: [] for name in header}
    changes = cluster["changes"]
    times = [change[0] for change in changes]
    started = cluster["started"] or 0.0
    rows = [(row, part["columns"]) for part in parts for row in part["rows"]]
    for row, recorded in sorted(rows, key=lambda each: each[0][0]):
        moment, tasks = row[0], row[1]
        at = bisect_right(times, moment) - 1
        job, dag = (0, 0) if at < 0 else changes[at][1:]
        cells = dict(zip(recorded, row[2:]))
        columns["job"].append(str(job))
        columns["dag"].append(str(dag))
        columns["timestamp"].append(f"{max(0.0, moment - started):.6f}".rstrip("0").rstrip("."))
        if "tasks" in columns:
            columns["tasks"].append(tasks or "")
        for name in names:
            columns[name].append(cell_text(cells.get(name)))
    return columns


def _tracking(tracking: Sequence[str]) -> List[str]:
    if isinstance(tracking, str):
        raise TypeError(f"tracking is a list of names, not the text '{tracking}'")
    for name in tracking:
        if name not in METRICS:
            raise ValueError(f"there is no metric '{name}'; there are {', '.join(METRICS)}, and custom metrics")
    return [name for name in METRICS if name in tracking]


def _custom(metric: Any) -> Dict[str, Any]:
    if not isinstance(metric, CustomMetric):
        raise TypeError(f"{metric!r} is not a custom metric: decorate it with @custom_metric('name')")
    import cloudpickle

    function: bytes = cloudpickle.dumps(metric.function)
    return {"name": metric.name, "per_device": metric.per_device, "function": function}


def _one_of(what: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ValueError(f"{what} is one of {', '.join(allowed)}, not '{value}'")
    return value


def _positive(what: str, value: Union[int, float]) -> Union[int, float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{what} is a number above 0, not {value!r}")
    return value

