"""What a monitor runs on the scheduler and on the workers of a cluster.

The text of this file is sent there (`remote.py`), so that nothing has to be installed on the cluster. It uses the standard
library and distributed, from 2022.12 on, and nothing else of this package.
"""

from __future__ import annotations

import asyncio
import glob
import inspect
import json
import os
import pickle
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

NAME = "tacho-monitor"
#: The scheduler's handler for what a worker leaves when it closes.
LEFT = "tacho_monitor_left"
#: The scheduler's handler that says its time.
TIME = "tacho_monitor_time"
GPU_METRICS = ("total-mem", "mem-util", "compute-util")
MOST_NOTES = 20
#: So often a first sample is looked for, each 20 ms.
FIRST_SAMPLE_LOOKS = 250

#: A sample: seconds of the scheduler's clock, keys of executing tasks, then one cell for each column.
#: A cell is a list with one value per device, a single value, or None.
Row = List[Any]


# ---------------------------------------------------------------- on the scheduler


class JobNumbers(SchedulerPlugin):
    """Counts jobs and graphs, and keeps what workers leave that close. It stays when clients go."""

    name = NAME

    def __init__(self, options: Dict[str, Any], source: str) -> None:
        self.options = options
        self.source = source
        self.running = False
        self.started: Optional[float] = None
        self.job = 0
        self.clients: Dict[str, int] = {}
        self.graphs: Dict[int, int] = {}
        #: (time, job, dag): which are the current ones from then on.
        self.changes: List[Tuple[float, int, int]] = []
        self.left: List[Dict[str, Any]] = []

    def update_graph(self, scheduler: Any, *_: Any, client: Optional[str] = None, **__: Any) -> None:
        # a task that submits tasks: they belong to the job and graph that run
        if client is None or client.startswith("Client-worker-"):
            return
        if self.options["job_type"] == "client":
            if client not in self.clients:
                self.clients[client] = len(self.clients) + 1
            self.job = self.clients[client]
        dag = self.graphs.get(self.job, 0)
        self.graphs[self.job] = dag + 1
        self.changes.append((time.time(), self.job, dag))

    def new_job(self, job: Optional[int]) -> int:
        if self.options["job_type"] != "manual":
            raise Refused("jobs are counted by clients: attach with job_type='manual' to number them yourself")
        self.job = self.job + 1 if job is None else job
        self.graphs[self.job] = 0
        self.changes.append((time.time(), self.job, 0))
        return self.job

    def sampler(self) -> bytes:
        """The plugin of workers, as it is now: late ones begin at once where the others run."""
        options = {**self.options, "running": self.running}
        return pickle.dumps(Remote(self.source, "Sampler", options))

    def take(self, *_: Any, worker: Any = None, **__: Any) -> str:
        self.left.append(worker)
        return "OK"

    def state(self) -> Dict[str, Any]:
        return {
            **{key: self.options[key] for key in ("id", "tracking", "custom", "job_type", "polling_interval")},
            **{"running": self.running, "started": self.started, "job": self.job},
        }


class Remote:
    """Pickled, it is what a name of this file's text gives where it is unpickled, called with arguments if there are some."""

    def __init__(self, source: str, name: str, *arguments: Any) -> None:
        self.given = {"source": source, "name": name, "arguments": arguments}

    def __reduce__(self) -> Any:
        load = "(lambda n: (exec(compile(source, '<tacho.dask>', 'exec'), n), n[name])[1])({'__name__': 'tacho_on_cluster'})"
        return eval, (f"{load}(*arguments)" if self.given["arguments"] else load, self.given)


class Refused(Exception):
    """What the user is told. It is an answer: errors would be in the scheduler's log with a stack trace."""


async def ask(question: str, *arguments: Any, dask_scheduler: Any = None) -> Dict[str, Any]:
    """One of the questions below, to the scheduler."""
    try:
        answer = QUESTIONS[question](dask_scheduler, *arguments)
        return {"answer": await answer if inspect.isawaitable(answer) else answer}
    except Exception as error:
        # by its name: what is attached has a class of its own text
        if type(error).__name__ != Refused.__name__:
            raise
        return {"refused": str(error)}


def numbers_of(scheduler: Any) -> Any:
    found = scheduler.plugins.get(NAME)
    if found is None:
        raise Refused("no monitor is attached to this cluster: attach() comes first")
    return found


async def attach(scheduler: Any, options: Dict[str, Any], source: str) -> Dict[str, Any]:
    before = scheduler.plugins.get(NAME)
    if before is not None:
        if before.running:
            raise Refused("a monitor runs on this cluster already: stop() ends it, detach() takes it away")
        await detach(scheduler)
    numbers = JobNumbers(options, source)
    scheduler.add_plugin(numbers, name=NAME)
    scheduler.handlers[LEFT] = numbers.take
    scheduler.handlers[TIME] = lambda *_, **__: time.time()
    await _register(scheduler, numbers)
    return numbers.state()


async def _register(scheduler: Any, numbers: JobNumbers) -> None:
    plugin = numbers.sampler()
    try:
        answers = await scheduler.register_worker_plugin(None, plugin=plugin, name=NAME, idempotent=False)
    except TypeError:
        answers = await scheduler.register_worker_plugin(None, plugin=plugin, name=NAME)
    for answer in answers.values():
        if answer.get("status") == "error":
            raise Refused(f"a worker cannot be monitored: {answer.get('text', answer.get('exception_text', ''))}")


async def detach(scheduler: Any) -> None:
    if NAME in scheduler.worker_plugins:
        await scheduler.unregister_worker_plugin(None, name=NAME)
    if NAME in scheduler.plugins:
        scheduler.remove_plugin(name=NAME)
    # a worker that closes right now may still send what it has
    scheduler.handlers[LEFT] = lambda *_, **__: "OK"


def begin(scheduler: Any, tracking: Optional[List[str]] = None) -> Dict[str, Any]:
    numbers = numbers_of(scheduler)
    if tracking:
        numbers.options["tracking"] = list(tracking)
    numbers.running = True
    if numbers.started is None:
        numbers.started = time.time()
    scheduler.worker_plugins[NAME] = numbers.sampler()
    return numbers.state()


def end(scheduler: Any) -> Dict[str, Any]:
    numbers = numbers_of(scheduler)
    numbers.running = False
    scheduler.worker_plugins[NAME] = numbers.sampler()
    return numbers.state()


def new_job(scheduler: Any, job: Optional[int] = None) -> int:
    return numbers_of(scheduler).new_job(job)


def clear(scheduler: Any) -> None:
    numbers = numbers_of(scheduler)
    numbers.left.clear()
    if numbers.started is not None:
        numbers.started = time.time()


def state(scheduler: Any) -> Dict[str, Any]:
    return numbers_of(scheduler).state()


def collected(scheduler: Any) -> Dict[str, Any]:
    numbers = numbers_of(scheduler)
    return {**numbers.state(), "changes": list(numbers.changes), "left": list(numbers.left)}


QUESTIONS: Dict[str, Callable[..., Any]] = {
    "attach": attach,
    "detach": detach,
    "begin": begin,
    "end": end,
    "new_job": new_job,
    "clear": clear,
    "state": state,
    "collected": collected,
}


# ---------------------------------------------------------------- on a worker


class Asked:
    """A function that may hang: it runs in a thread of its own, and whoever asks waits only so long."""

    def __init__(self, what: str, function: Callable[[], Any], note: Callable[[str], None]) -> None:
        self.what, self.function, self.note = what, function, note
        self.wanted = threading.Event()
        self.ready = threading.Event()
        self.over = False
        self.busy_since: Optional[float] = None
        self.value: Any = None
        threading.Thread(target=self._work, name="tacho", daemon=True).start()

    def ask(self, seconds: float) -> Any:
        """Its value now; None when it has none, or is late."""
        now = time.monotonic()
        if self.busy_since is not None:
            if now - self.busy_since > 10 * max(seconds, 0.1):
                self.note(f"{self.what} hangs: its values are missing until it returns")
            return None
        self.busy_since = now
        self.ready.clear()
        self.wanted.set()
        return self.value if self.ready.wait(seconds) else None

    def close(self) -> None:
        self.over = True
        self.wanted.set()

    def _work(self) -> None:
        while True:
            self.wanted.wait()
            self.wanted.clear()
            if self.over:
                return
            try:
                self.value = self.function()
            except BaseException as error:
                self.value = None
                self.note(f"{self.what}: {type(error).__name__}: {error}")
            self.busy_since = None
            self.ready.set()


class Sampler(WorkerPlugin):
    """Samples a worker in a thread of its own, which a busy event loop does not hold up."""

    name = NAME

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options
        self.rows: List[Row] = []
        self.notes: List[str] = []
        self.dump: Optional[str] = None
        self.dumped = 0
        self.lock = threading.Lock()
        self.thread: Optional[threading.Thread] = None
        self.over = threading.Event()

    async def setup(self, worker: Any) -> None:
        self.worker = worker
        self.ahead = 0.0
        self.gpus: Optional[Asked] = None
        self.devices: Sequence[Any] = ()
        self.custom: List[Tuple[Dict[str, Any], Asked]] = []
        if self.options["running"]:
            await self.begin()

    async def teardown(self, worker: Any) -> None:
        self.end()
        if not self.rows and not self.dumped:
            return
        try:
            await getattr(worker.scheduler, LEFT)(worker=self.collected())
            self.forget()
        except Exception:
            # the scheduler has gone, or has no monitor any more; a dump file stays
            pass

    # -- control

    async def begin(self, tracking: Optional[List[str]] = None) -> None:
        if tracking:
            self.options["tracking"] = list(tracking)
        if self.thread is not None:
            return
        self.ahead = await clock_ahead(self.worker)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(self.over,), name="tacho", daemon=True)
        self.thread.start()

    def end(self) -> None:
        thread, self.thread = self.thread, None
        self.over.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    def collected(self) -> Dict[str, Any]:
        worker = self.worker
        with self.lock:
            rows = [*self._dumped_rows(), *self.rows]
        about = {"name": str(worker.name), "address": worker.address, "host": socket.gethostname()}
        columns = [*self._gpu_columns(), *(metric["name"] for metric in self.options["custom"])]
        return {**about, "columns": columns, "rows": rows, "notes": list(self.notes), "devices": len(self.devices)}

    def forget(self) -> None:
        with self.lock:
            self.rows.clear()
            if self.dump is not None:
                try:
                    os.unlink(self.dump)
                except OSError:
                    pass
            self.dump, self.dumped = None, 0

    def note(self, text: str) -> None:
        text = text[:300]
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    # -- samples

    def _run(self, over: threading.Event) -> None:
        interval = self.options["polling_interval"] / 1000
        try:
            self._open()
        except Exception as error:
            self.note(f"GPUs cannot be read: {error}")
        due = time.monotonic()
        while not over.is_set():
            try:
                self._sample(interval)
            except Exception as error:
                self.note(f"a sample failed: {type(error).__name__}: {error}")
            # a late sample is taken late; those that were missed are not made up
            due = max(due + interval, time.monotonic())
            over.wait(due - time.monotonic())
        for asked in [self.gpus, *(each for _, each in self.custom)]:
            if asked is not None:
                asked.close()
        self.gpus, self.custom = None, []

    def _open(self) -> None:
        wants_devices = bool(self._gpu_columns()) or any(metric["per_device"] for metric in self.options["custom"])
        cards = open_gpus() if wants_devices or self.options["custom"] else None
        handles: Sequence[Any] = ()
        if cards is not None:
            self.devices, handles = cards.devices, cards.handles()
            if self._gpu_columns():
                self.gpus = Asked("reading GPUs", cards.read, self.note)
        elif wants_devices:
            self.note("no GPU was found here")
        for metric in self.options["custom"]:
            what = f"custom metric {metric['name']}"
            try:
                function = pickle.loads(metric["function"])
            except BaseException as error:
                self.note(f"{what} cannot be loaded here: {type(error).__name__}: {error}")
                continue
            self.custom.append((metric, Asked(what, self._call(metric, function, list(handles)), self.note)))

    def _call(self, metric: Dict[str, Any], function: Any, handles: List[Any]) -> Callable[[], Any]:
        if metric["per_device"]:
            return lambda: [plain(function(self.worker, handle)) for handle in handles]
        return lambda: plain(function(self.worker, handles))

    def _gpu_columns(self) -> List[str]:
        return [name for name in GPU_METRICS if name in self.options["tracking"]]

    def _sample(self, interval: float) -> None:
        worker = self.worker
        moment = time.time() - self.ahead
        # a copy in one step: tasks begin and end in other threads
        tasks = ", ".join([key_text(key) for key in list(worker.active_threads.values())])
        row: Row = [moment, tasks if "tasks" in self.options["tracking"] else None]
        read = None if self.gpus is None else self.gpus.ask(interval)
        for name in self._gpu_columns():
            row.append(None if read is None else [gpu_cell(name, *values) for values in read])
        values = {metric["name"]: asked.ask(interval) for metric, asked in self.custom}
        row += [values.get(metric["name"]) for metric in self.options["custom"]]
        with self.lock:
            self.rows.append(row)
            limit = self.options["mem_limit"]
            if limit and len(self.rows) >= limit:
                self._dump()

    # -- dump files

    def _dump(self) -> None:
        """Moves rows to the disk. What cannot be written stays in memory."""
        lines = "".join([json.dumps(row) + "\n" for row in self.rows]).encode()
        try:
            if self.dump is None:
                folder = os.path.abspath(self.options["dump_loc"])
                os.makedirs(folder, exist_ok=True)
                safe = "".join(c if c.isalnum() or c in "-." else "_" for c in str(self.worker.name))[-80:]
                # of one worker and one monitor: others may have the same folder
                self.dump = os.path.join(folder, f"tacho-{self.options['id']}-{safe}-{os.getpid()}.jsonl")
            descriptor = os.open(self.dump, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    if os.write(descriptor, lines) != len(lines):
                        raise OSError("no space left")
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            self.note(f"metrics stay in memory: cannot write to {self.options['dump_loc']}: {error.strerror or error}")
            return
        self.dumped += len(self.rows)
        self.rows.clear()

    def _dumped_rows(self) -> List[Row]:
        if self.dump is None or not self.dumped:
            return []
        try:
            with open(self.dump, "rb") as file:
                return [json.loads(line) for line in file if line.endswith(b"\n")]
        except (OSError, ValueError) as error:
            self.note(f"{self.dumped} measurements are lost: cannot read {self.dump}: {error}")
            return []


async def clock_ahead(worker: Any) -> float:
    """Seconds by which the clock of this worker is ahead of the scheduler's; 0 where that cannot be told from the way there."""
    best = (float("inf"), 0.0)
    for _ in range(5):
        asked = time.time()
        try:
            there = await getattr(worker.scheduler, TIME)()
        except Exception:
            return 0.0
        answered = time.time()
        best = min(best, (answered - asked, (asked + answered) / 2 - there))
    way, ahead = best
    return ahead if abs(ahead) > way else 0.0


def sampler_of(worker: Any) -> Any:
    return worker.plugins.get(NAME)


async def begin_worker(tracking: Optional[List[str]] = None, dask_worker: Any = None) -> None:
    found = sampler_of(dask_worker)
    if found is None:
        return
    before = len(found.rows) + found.dumped
    await found.begin(tracking)
    # what is submitted from now on is measured from its first moment on
    for _ in range(FIRST_SAMPLE_LOOKS):
        if len(found.rows) + found.dumped > before:
            return
        await asyncio.sleep(0.02)


def end_worker(dask_worker: Any = None) -> List[str]:
    found = sampler_of(dask_worker)
    if found is None:
        return []
    found.end()
    return [f"worker {dask_worker.name}: {note}" for note in found.notes]


def clear_worker(dask_worker: Any = None) -> None:
    found = sampler_of(dask_worker)
    if found is not None:
        found.forget()


def collected_worker(dask_worker: Any = None) -> Optional[Dict[str, Any]]:
    found = sampler_of(dask_worker)
    return None if found is None else found.collected()


def key_text(key: Any) -> str:
    """A tuple as Python prints it, without a space behind its commas: keys of a cell are joined by them."""
    if isinstance(key, str):
        # older versions make a text of it themselves
        return key.replace(", ", ",") if key.startswith("('") and key.endswith(")") else key
    if isinstance(key, tuple):
        cells = [key_text(each) if isinstance(each, tuple) else repr(each) for each in key]
        return "(" + ",".join(cells) + ("," if len(cells) == 1 else "") + ")"
    return str(key)


def plain(value: Any) -> Any:
    """A number, a text or None: what a cell can hold."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def gpu_cell(name: str, used: Optional[int], total: Optional[int], busy: Optional[int]) -> Any:
    if name == "total-mem":
        return used
    if name == "compute-util":
        return busy
    if used is None or not total:
        return None
    share = round(100 * used / total, 4)
    return int(share) if share == int(share) else share


# ---------------------------------------------------------------- GPUs of a worker


def visible_devices(count: int, ids: Sequence[str], variables: Sequence[str]) -> List[int]:
    """Those that this process may use, in its order: dask-cuda and schedulers choose them by these variables."""
    asked = next((os.environ[name] for name in variables if name in os.environ), None)
    if asked is None:
        return list(range(count))
    chosen: List[int] = []
    for each in (word.strip() for word in asked.split(",")):
        if each.isdigit() and int(each) < count:
            chosen.append(int(each))
            continue
        # the driver, too, stops at the first that it does not know
        matching = [i for i, id in enumerate(ids) if each and id.startswith(each)]
        if len(matching) != 1:
            break
        chosen.append(matching[0])
    return chosen


class Nvidia:
    def __init__(self) -> None:
        import ctypes

        self.c = ctypes
        self.lib = ctypes.CDLL(os.environ.get("TACHO_NVML") or "libnvidia-ml.so.1")
        if self.lib.nvmlInit_v2() != 0:
            raise OSError("the driver of NVIDIA does not answer")
        count = ctypes.c_uint()
        self.lib.nvmlDeviceGetCount_v2(ctypes.byref(count))
        all: List[Any] = []
        ids: List[str] = []
        for index in range(count.value):
            handle, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
            self.lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
            self.lib.nvmlDeviceGetUUID(handle, text, 96)
            all.append(handle)
            ids.append(text.value.decode("ascii", "replace"))
        self.devices = visible_devices(count.value, ids, ("CUDA_VISIBLE_DEVICES",))
        self.chosen = [all[i] for i in self.devices]

        # drivers before 510 have the first one, which counts what they keep for themselves as used
        second = hasattr(self.lib, "nvmlDeviceGetMemoryInfo_v2")
        self.get_memory = self.lib.nvmlDeviceGetMemoryInfo_v2 if second else self.lib.nvmlDeviceGetMemoryInfo
        names = ("total", "reserved", "free", "used") if second else ("total", "free", "used")

        class Memory(ctypes.Structure):
            _fields_ = [
                *([("version", ctypes.c_uint)] if second else []),
                *[(name, ctypes.c_ulonglong) for name in names],
            ]

        class Rates(ctypes.Structure):
            _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]

        self.memory: Any = Memory()
        self.rates: Any = Rates()

    def read(self) -> List[Tuple[Optional[int], Optional[int], Optional[int]]]:
        rows = []
        for handle in self.chosen:
            used = total = busy = None
            self.memory.version = self.c.sizeof(self.memory) | 2 << 24
            if self.get_memory(handle, self.c.byref(self.memory)) == 0:
                used, total = self.memory.used, self.memory.total
            if self.lib.nvmlDeviceGetUtilizationRates(handle, self.c.byref(self.rates)) == 0:
                busy = self.rates.gpu
            rows.append((used, total, busy))
        return rows

    def handles(self) -> List[Any]:
        """Those of pynvml, if it is here; else the library's own."""
        try:
            import pynvml

            pynvml.nvmlInit()
            return [pynvml.nvmlDeviceGetHandleByIndex(i) for i in self.devices]
        except Exception:
            return list(self.chosen)


AMD_VARIABLES = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class Amd:
    """By ROCm's library."""

    def __init__(self) -> None:
        import ctypes

        self.c = ctypes
        self.lib = ctypes.CDLL(os.environ.get("TACHO_ROCM_SMI") or "librocm_smi64.so")
        if self.lib.rsmi_init(ctypes.c_uint64(0)) != 0:
            raise OSError("the driver of AMD does not answer")
        count = ctypes.c_uint32()
        self.lib.rsmi_num_monitor_devices(ctypes.byref(count))
        if count.value == 0:
            raise OSError("no GPU of AMD")
        self.devices = visible_devices(count.value, [], AMD_VARIABLES)

    def _number(self, kind: Any, name: str, *arguments: Any) -> Optional[int]:
        value = kind()
        failed = getattr(self.lib, name)(*arguments, self.c.byref(value))
        return None if failed else int(value.value)

    def read(self) -> List[Tuple[Optional[int], Optional[int], Optional[int]]]:
        c = self.c
        return [
            (
                self._number(c.c_uint64, "rsmi_dev_memory_usage_get", c.c_uint32(i), 0),
                self._number(c.c_uint64, "rsmi_dev_memory_total_get", c.c_uint32(i), 0),
                self._number(c.c_uint32, "rsmi_dev_busy_percent_get", c.c_uint32(i)),
            )
            for i in self.devices
        ]

    def handles(self) -> List[Any]:
        return list(self.devices)


class AmdFiles:
    """By the kernel's files, where ROCm is not installed."""

    def __init__(self) -> None:
        found = glob.glob("/sys/class/drm/card[0-9]*/device/mem_info_vram_used")
        if not found:
            raise OSError("no GPU of AMD")
        number = {path: int("".join(c for c in path.split("/")[4] if c.isdigit())) for path in found}
        self.folders = [os.path.dirname(path) for path in sorted(found, key=number.__getitem__)]
        self.devices = visible_devices(len(found), [], AMD_VARIABLES)

    def _number(self, device: int, name: str) -> Optional[int]:
        try:
            with open(os.path.join(self.folders[device], name), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def read(self) -> List[Tuple[Optional[int], Optional[int], Optional[int]]]:
        names = ("mem_info_vram_used", "mem_info_vram_total", "gpu_busy_percent")
        return [(self._number(i, names[0]), self._number(i, names[1]), self._number(i, names[2])) for i in self.devices]

    def handles(self) -> List[Any]:
        return list(self.devices)


def open_gpus() -> Any:
    """The GPUs of this worker, whoever made them; None: there are none."""
    for kind in (Nvidia, Amd, AmdFiles):
        try:
            return kind()
        except (OSError, AttributeError):
            continue
    return None
