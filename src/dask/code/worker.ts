import { pythonText } from '../pickle.ts';

export interface SamplerOptions {
  /** Under which the plugin and its messages are known on the cluster. */
  readonly id: string;
  readonly intervalSeconds: number;
  /** Source text of custom metrics in Python. */
  readonly custom?: string;
}

/**
 * The sampler of a worker, in Python. It has a thread of its own: a task that blocks the worker's event loop does not keep it
 * from sampling. GPUs and custom metrics have threads of theirs, as they may hang: then their values are missing.
 */
export const samplerSource = ({ id, intervalSeconds, custom = '' }: SamplerOptions): string => `
import math, os, sys, time, types, threading, socket, msgpack
from distributed.diagnostics.plugin import WorkerPlugin
ID = ${pythonText(id)}
EVERY = ${intervalSeconds}
CUSTOM = ${pythonText(custom)}
# seconds that samples wait for the end of a task to go with, and at most before they go alone
WITH_TASK, ALONE = 0.4, 0.8
PAGE = os.sysconf("SC_PAGE_SIZE")

def key_text(k):
    if type(k) is str: return k
    if type(k) is tuple: return "(" + ",".join([key_text(e) if type(e) is tuple else repr(e) for e in k]) + ("," if len(k) == 1 else "") + ")"
    return str(k)

def said(e): return "%s: %s" % (type(e).__name__, e) if str(e) else type(e).__name__

def load_custom(source):
    found = []
    def custom_metric(name, per_device=True):
        def note(function):
            found.append((str(name), bool(per_device), function))
            return function
        return note
    names = ("dask_metrics", "tacho", "tacho.dask")
    before = {n: sys.modules.get(n) for n in names}
    module = types.ModuleType("tacho.dask"); module.custom_metric = custom_metric
    package = types.ModuleType("tacho"); package.dask = module
    sys.modules.update({"dask_metrics": module, "tacho": package, "tacho.dask": module})
    try: exec(compile(source, "<custom metrics>", "exec"), {"__name__": "custom_metrics"})
    finally:
        for n, old in before.items():
            if old is None: sys.modules.pop(n, None)
            else: sys.modules[n] = old
    return found

def visible(count, uuids):
    asked = os.environ.get("CUDA_VISIBLE_DEVICES", os.environ.get("HIP_VISIBLE_DEVICES", os.environ.get("ROCR_VISIBLE_DEVICES")))
    if asked is None: return list(range(count))
    chosen = []
    for each in asked.split(","):
        each = each.strip()
        if each.isdigit() and int(each) < count: chosen.append(int(each))
        else:
            match = [i for i, uuid in enumerate(uuids) if each and uuid.startswith(each)]
            if len(match) != 1: break
            chosen.append(match[0])
    return chosen

class Nvml:
    def __init__(self):
        import ctypes
        self.c = ctypes
        self.lib = ctypes.CDLL(os.environ.get("TACHO_NVML", "libnvidia-ml.so.1"))
        if self.lib.nvmlInit_v2() != 0: raise OSError("nvmlInit fails")
        count = ctypes.c_uint()
        self.lib.nvmlDeviceGetCount_v2(ctypes.byref(count))
        handles, uuids = [], []
        for i in range(count.value):
            h = ctypes.c_void_p()
            self.lib.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(h))
            text = ctypes.create_string_buffer(96)
            self.lib.nvmlDeviceGetUUID(h, text, 96)
            handles.append(h); uuids.append(text.value.decode("ascii", "replace"))
        self.devices = visible(count.value, uuids)
        self.handles = [handles[i] for i in self.devices]
        sizes = [(n, ctypes.c_ulonglong) for n in ("total", "reserved", "free", "used")]
        try:
            self.get_memory = self.lib.nvmlDeviceGetMemoryInfo_v2
            class Memory(ctypes.Structure): _fields_ = [("version", ctypes.c_uint), *sizes]
        except AttributeError:
            self.get_memory = self.lib.nvmlDeviceGetMemoryInfo
            class Memory(ctypes.Structure): _fields_ = [sizes[0], *sizes[2:]]
        class Rates(ctypes.Structure): _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]
        self.memory, self.rates = Memory(), Rates()
        if hasattr(self.memory, "version"): self.memory.version = ctypes.sizeof(Memory) | (2 << 24)
    def read(self):
        rows = []
        for i, h in zip(self.devices, self.handles):
            used = total = busy = None
            if self.get_memory(h, self.c.byref(self.memory)) == 0: used, total = self.memory.used, self.memory.total
            if self.lib.nvmlDeviceGetUtilizationRates(h, self.c.byref(self.rates)) == 0: busy = self.rates.gpu
            rows.append((str(i), used, total, busy))
        return rows
    def for_custom(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            return [pynvml.nvmlDeviceGetHandleByIndex(i) for i in self.devices]
        except Exception: return list(self.handles)

class Amd:
    def __init__(self):
        import glob
        cards = sorted(glob.glob("/sys/class/drm/card[0-9]*/device/mem_info_vram_used"), key=lambda p: int("".join(c for c in p.split("/")[4] if c.isdigit())))
        if not cards: raise OSError("no AMD GPU")
        self.folders = [os.path.dirname(p) for p in cards]
        self.devices = visible(len(cards), [])
    def read(self):
        def number(i, name):
            try:
                with open(self.folders[i] + "/" + name) as f: return int(f.read())
            except Exception: return None
        return [(str(i), number(i, "mem_info_vram_used"), number(i, "mem_info_vram_total"), number(i, "gpu_busy_percent")) for i in self.devices]
    def for_custom(self): return list(self.devices)

def open_gpus():
    for kind in (Nvml, Amd):
        try: return kind()
        except Exception: pass
    return None

# the dicts that a mapping of Dask keeps its keys in; itself where that cannot be told
def dicts_of(mapping):
    def inner(m):
        if type(m) is dict or type(m).__module__.split(".")[0] not in ("zict", "distributed"): return [m]
        if hasattr(m, "fast") and hasattr(m, "slow"): return inner(m.fast) + inner(m.slow)
        for name in ("d", "data", "filenames"):
            if hasattr(m, name): return inner(getattr(m, name))
        return [m]
    found = inner(mapping)
    return found if sum(map(len, found)) == len(mapping) else [mapping]

def host_of(address): return address.split("://")[-1].rsplit(":", 1)[0]

# Dask adds its guess of the scheduler's clock to the times of a task. Each heartbeat guesses anew; one whose answer came late is
# wrong by up to half of that time. Here the guess with the quickest answer counts, and every task gets that one.
class Clock:
    DRIFT = 1e-4
    def __init__(self, worker):
        self.worker, self.told, self.started = worker, 0.0, {}
        self.guess, self.latency = worker.scheduler_delay, worker.latency
        # one host has one clock
        self.is_same = host_of(worker.address) == host_of(worker.scheduler.address)
        self.offset, self.error, self.learned = 0.0 if self.is_same else self.guess, math.inf, time.monotonic()
    def learn(self):
        w = self.worker
        if w.scheduler_delay == self.guess: return
        # Dask keeps 5 % of the newest answer's time and 95 % of what it kept before
        took, self.latency, self.guess = (w.latency - 0.95 * self.latency) / 0.05, w.latency, w.scheduler_delay
        now = time.monotonic()
        if self.is_same or not 0 < took / 2 < self.error + (now - self.learned) * self.DRIFT: return
        self.offset, self.error, self.learned = self.guess, took / 2, now
    def begins(self, key):
        self.learn()
        self.started[key] = self.guess
    def shift(self, key):
        # what the times of a task that ended lack
        self.learn()
        guess = self.started.pop(key)
        if guess != self.guess:
            # which guess Dask took is not known, but when it handed the task to its thread
            task = self.worker.state.tasks.get(key)
            for step in task.startstops if task is not None and task.start_time else ():
                if step["action"] == "compute": guess = step["start"] - task.start_time
        return self.offset - guess

class Sampler(WorkerPlugin):
    name = ID
    def setup(self, worker):
        self.worker, self.rows, self.notes = worker, [], []
        self.clock = Clock(worker)
        self.over = threading.Event()
        self.gpu_values, self.values, self.asked, self.with_column = None, {}, {}, set()
        self.host, self.pid = socket.gethostname(), os.getpid()
        self.received, self.last_transfer, self.sent_at, self.alone = 0, None, 0.0, ALONE
        self.io_loop = worker.loop
        self.statm = os.open("/proc/self/statm", os.O_RDONLY)
        self.sample = self.quick_sample(worker, worker.state)
        self.run(self.sample_all)
        self.run(self.read_gpus)
    def teardown(self, worker):
        self.over.set()
        self.flush()
    def transition(self, key, start, finish, **kw):
        started = self.clock.started
        if finish == "executing":
            if key not in started: self.clock.begins(key)
        elif key in started and finish not in ("long-running", "cancelled", "resumed"):
            shift = self.clock.shift(key)
            # in one message with the end of the task: the scheduler is not woken for samples
            if time.monotonic() - self.sent_at >= WITH_TASK and self.rows: self.flush()
            # the stream keeps the order: this comes before the end of the task
            if shift != self.clock.told and self.worker.batched_stream is not None:
                try: self.worker.batched_stream.send({"op": ID, "shift": shift})
                except Exception: return
                self.clock.told = shift
    def run(self, function, *args): threading.Thread(target=function, args=args, name="tacho", daemon=True).start()
    def note(self, text):
        text = " ".join(text.split())
        if text not in self.notes and len(self.notes) < 20: self.notes.append(text[:300])
    def every(self, work):
        due = time.monotonic()
        while not self.over.is_set():
            work()
            due = max(due + EVERY, time.monotonic() - EVERY)
            self.over.wait(max(0.0, due - time.monotonic()))
    def sample_all(self):
        def work():
            try: self.sample()
            except Exception as e: self.note("sample: %s" % said(e))
        self.every(work)
        os.close(self.statm)
    def read_gpus(self):
        gpus = open_gpus()
        self.start_custom(gpus)
        if gpus is None or not gpus.devices: return
        def read():
            try: self.gpu_values = gpus.read()
            except Exception as e: self.note("GPUs: %s" % said(e))
        self.every(read)
    def start_custom(self, gpus):
        if not CUSTOM: return
        try: found = load_custom(CUSTOM)
        except BaseException as e:
            self.note("custom metrics cannot be loaded: %s" % said(e))
            return
        if not found: self.note("the custom metrics' file has no function with @custom_metric")
        devices = gpus.devices if gpus is not None else []
        handles = gpus.for_custom() if gpus is not None else []
        for name, per_device, function in found:
            if per_device and not devices: self.note("custom metric %s is read for each GPU, and no GPU was found" % (name,))
            else: self.run(self.run_custom, name, per_device, function, devices, handles)
    # one that has no value has a column, too
    def need_column(self, name, empty):
        if name not in self.with_column:
            self.with_column.add(name)
            self.values[name] = empty
    def run_custom(self, name, per_device, function, devices, handles):
        def plain(v): return v if isinstance(v, (int, float, str)) and not isinstance(v, bool) else int(v) if isinstance(v, bool) else float(v) if hasattr(v, "__float__") else None if v is None else str(v)
        empty = [(str(d), None) for d in devices] if per_device else [("", None)]
        def read():
            self.asked[name] = time.monotonic(), empty
            try:
                if per_device: self.values[name] = [(str(d), plain(function(self.worker, h))) for d, h in zip(devices, handles)]
                else: self.values[name] = [("", plain(function(self.worker, handles)))]
            except BaseException as e:
                self.note("custom metric %s: %s" % (name, said(e)))
                self.need_column(name, empty)
            else: self.with_column.add(name)
            del self.asked[name]
        self.every(read)
    def incoming(self, log):
        fresh = 0
        for entry in reversed(log):
            if entry is self.last_transfer: break
            fresh += entry.get("total", 0)
        self.last_transfer = log[-1]
        self.received += fresh
        return self.received
    # After 200 ms nothing of this is in the CPU's caches, so that every object that is looked at costs. What stays the same is
    # looked up once, and Dask's collections are asked for their length without Dask's own methods.
    def quick_sample(self, w, s):
        time_, cpu, thread, monotonic, pread, statm, page = time.time, time.process_time_ns, time.thread_time_ns, time.monotonic, os.pread, self.statm, PAGE
        active, executing, fetching, log, clock = w.active_threads.values, s.executing, s.in_flight_tasks, w.transfer_incoming_log, self.clock
        ready, constrained = (getattr(heap, "_data", heap) for heap in (s.ready, s.constrained))
        # what spills keeps its sums there
        slow = getattr(w.data, "_slow_uncached", None)
        stored, spilled = dicts_of(w.data), [] if slow is None else dicts_of(w.data.slow)
        def sample():
            began = thread()
            count = disk = 0
            for each in stored: count += len(each)
            managed = s.nbytes
            for each in spilled:
                if each:
                    weight = slow.total_weight
                    managed, disk = managed - weight.memory, weight.disk
            row = [time_() + clock.offset, list(active()), len(executing), len(ready) + len(constrained), len(fetching), count,
                int(pread(statm, 64, 0).split(None, 2)[1]) * page, managed, disk, cpu() // 1000,
                self.received if not log or log[-1] is self.last_transfer else self.incoming(log), w.transfer_outgoing_bytes_total, None, None, 0]
            for i, k in enumerate(row[1]):
                if type(k) is not str: row[1][i] = key_text(k)
            if self.gpu_values is not None: row[12], self.gpu_values = self.gpu_values, None
            if self.values: row[13], self.values = self.values, {}
            row[14] = (thread() - began) // 1000
            self.rows.append(row)
            if monotonic() - self.sent_at >= self.alone:
                self.sent_at = monotonic()
                self.io_loop.add_callback(self.flush)
        return sample
    def flush(self):
        w = self.worker
        self.sent_at = time.monotonic()
        self.clock.learn()
        # the more workers there are, the rarer Dask wants messages of each
        beat = w.periodic_callbacks.get("heartbeat")
        self.alone = max(ALONE, beat.callback_time / 1000 if beat is not None else 0)
        for name, (since, empty) in list(self.asked.items()):
            if time.monotonic() - since > max(2, 10 * EVERY):
                self.note("custom metric %s hangs: its values are missing until it returns" % (name,))
                self.need_column(name, empty)
        if w.batched_stream is None or not (self.rows or self.notes): return
        rows, self.rows = self.rows, []
        if len(rows) > 10000: rows = rows[-10000:]
        notes, told = self.notes, getattr(self, "told", 0)
        self.told = len(notes)
        limit = getattr(getattr(w, "memory_manager", None), "memory_limit", None) or getattr(w, "memory_limit", None)
        # the scheduler hands the rows on as they are
        packed = msgpack.packb(rows, unicode_errors="surrogatepass", default=str)
        try: w.batched_stream.send({"op": ID, "about": [str(w.name), self.host, self.pid, w.state.nthreads, limit, self.alone], "rows": packed, "notes": notes[told:]})
        except Exception: self.rows = rows + self.rows

sampler = Sampler()
`;
