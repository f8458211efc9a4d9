"""Monitors small clusters of Dask, and prints as JSON what came of it. Argument: an empty folder."""

import json
import os
import sys
import time
import warnings
from importlib.util import find_spec

import dask
from dask_metrics import Monitor, custom_metric
from dask_metrics import visualize as vis
from distributed import Client, LocalCluster

FOLDER = sys.argv[1]
LONG = "k" * 10_000
HARD = "it's \"quoted\",\nand has lines"


def at(*names):
    return os.path.join(FOLDER, *names)


def has(module):
    return find_spec(module) is not None


def caught(work):
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("always")
        work()
    return sorted(str(each.message) for each in all if each.category is RuntimeWarning or "files of" in str(each.message))


def fault(work):
    try:
        work()
    except (Exception,) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


def wait_for(what):
    """A task that runs until the file is there."""
    limit = time.time() + 60
    while not os.path.exists(at(what)) and time.time() < limit:
        time.sleep(0.02)
    return what


def tell(what):
    open(at(what), "w").close()


def until(what, holds):
    limit = time.time() + 60
    while not holds():
        assert time.time() < limit, what
        time.sleep(0.05)


def columns(file):
    from tacho.dask.files import read_csv

    return read_csv(file)


@custom_metric("power")
def power_usage(worker, handle):
    return 7.5


@custom_metric("running", per_device=False)
def running(worker, handles):
    return len(worker.active_threads) * 10 + len(handles)


@custom_metric("throws", per_device=False)
def throws(worker, handles):
    raise ValueError("not now")


@custom_metric("hangs", per_device=False)
def hangs(worker, handles):
    import time

    time.sleep(1000)


TRACKING = ["tasks", "total-mem", "mem-util", "compute-util"]


def in_process():
    """One worker in this process; each client comes and goes, as the manual has it."""
    with LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            inside = fault(Monitor(client).record().__enter__).split(" at ")[0]
            nothing = fault(Monitor(client).start)
            monitor = Monitor(client)
            monitor.attach(
                tracking=TRACKING,
                custom_metrics=[power_usage, running, throws, hangs],
                polling_interval=20,
                mem_limit=3,
                dump_loc=at("temp"),
            )
            monitor.start()
            twice = fault(lambda: Monitor(client).attach(tracking=["tasks"]))
        for job, keys in [(1, [LONG]), (2, [HARD, ("x-1", 0, ("a",))])]:
            with Client(cluster) as client:
                for dag, key in enumerate(keys):
                    name = f"go-{job}-{dag}"
                    # with a key of its own; tuples are keys of graphs
                    futures = client.get({key: (wait_for, name)}, [key], sync=False)
                    with Client(cluster) as other:
                        until(
                            f"the task of job {job} in a sample",
                            lambda: any(
                                (int(j), int(d)) == (job, dag) and tasks and count == "12"
                                for each in Monitor(other)._tables()
                                for j, d, tasks, count in zip(each["job"], each["dag"], each["tasks"], each["running"])
                            ),
                        )
                    tell(name)
                    client.gather(futures)
        with Client(cluster) as client:
            monitor = Monitor(client)
            stopped = caught(monitor.stop)
            folder = at("csv")
            os.makedirs(folder)
            open(os.path.join(folder, "worker_10.csv"), "w").close()
            other_files = caught(lambda: monitor.to_csv(folder))
            monitor.to_csv(folder, clear_dir=True)
            worker = columns(os.path.join(folder, "worker_0.csv"))
            both = [worker, columns(os.path.join(folder, "worker_1.csv"))]
            seen = sorted({cell for each in both for cell in each["tasks"] if cell})
            pairs = sorted({(int(j), int(d)) for each in both for j, d in zip(each["job"], each["dag"])})
            peaks = [monitor.get_peaks("running", per_job=False), monitor.get_peaks(metric="compute-util", workers=[1])]
            same = [
                Monitor.peaks_from_csv(folder, "running", per_job=False),
                Monitor.peaks_from_csv(folder, "compute-util", workers=[1]),
            ]
            result = {
                "inside": inside,
                "nothing": nothing,
                "twice": twice,
                "stopped": [note for note in stopped if "throws" in note],
                "hung": any(worker["hangs"]),
                "other files": [note.replace(FOLDER, "FOLDER") for note in other_files],
                "header": list(worker),
                "tasks": [cell == LONG or cell for cell in seen],
                "jobs": pairs,
                "first": [worker[name][0] for name in ("total-mem", "mem-util", "compute-util", "power", "throws", "hangs")],
                "dumped": len(os.listdir(at("temp"))),
                "peaks": [peaks == same, peaks[0], {job: values for job, values in peaks[1][0].items()}],
                "power": monitor.get_peaks("power", workers=[0], per_job=False),
                "untracked": fault(lambda: monitor.get_peaks("loss")),
                "no worker": fault(lambda: monitor.get_peaks("running", workers=[8])),
                "new job": fault(monitor.new_job),
            }
            monitor.detach()
            result["detached"] = [fault(monitor.stop), len(os.listdir(at("temp")))]
    return result


def manual():
    """Processes: one worker leaves, one comes late, one dump folder cannot be written to."""
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            monitor = Monitor(client)
            open(at("a file"), "w").close()
            monitor.attach(
                tracking=["tasks"], job_type="manual", polling_interval=20, mem_limit=2, dump_loc=at("a file", "below")
            )
            monitor.start()
            numbers = []
            for given in (None, 42, None):
                numbers.append(monitor.new_job(job=given))
                until("a sample of the job", lambda: str(numbers[-1]) in monitor._tables()[0]["job"])
            client.submit(lambda: 1 / 0, pure=False).exception()
            cluster.scale(2)
            client.wait_for_workers(2)
            until("samples of the late worker", lambda: len(monitor._tables()) == 2 and monitor._tables()[1]["job"])
            # it closes as adaptive clusters do: what it measured stays
            addresses = list(client.scheduler_info()["workers"])
            client.retire_workers([addresses[0]], close_workers=True)
            until("the worker to leave", lambda: len(client.scheduler_info()["workers"]) == 1)
            # newer versions of Dask forget a worker before it has closed
            until("what the worker left", lambda: len(monitor._tables()) == 2)
            # one that has not told anything yet
            monitor = Monitor(client)
            told = caught(monitor.stop) + caught(lambda: monitor.to_csv(at("manual")))
            files = [columns(at("manual", f"worker_{i}.csv")) for i in (0, 1)]
            with monitor.record(at("rec"), custom_metrics=[running], job_type="manual", polling_interval=50) as r:
                given = [r.new_job(), r.new_job(7)]
                client.submit(time.sleep, 0.5, key="recorded").result()
                until("a sample in the recording", lambda: r.status()["samples"] > 0 and r.status()["tasks"] > 0)
            recorded = [given]
            if has("pandas"):
                recorded += [r.table("dask_task")["key"].tolist(), sorted(set(r.table("dask_metric")["metric"]))]
            done = {
                "recorded": recorded,
                "numbers": numbers,
                "jobs": sorted({job for each in files for job in each["job"]}),
                "rows": [len(each["job"]) > 0 for each in files],
                "in memory": sorted({note.split(": ", 1)[1].replace(FOLDER, "") for note in told}),
            }
    return done


def plots():
    if not has("matplotlib"):
        return None
    file = at("csv", "worker_0.csv")
    jobs = sorted({int(job) for job in columns(file)["job"]})
    busy = next(int(job) for job, tasks in zip(columns(file)["job"], columns(file)["tasks"]) if tasks)
    vis.lines(file, jobs[-1], ["compute-util", "mem-util"], save=at("lines.png"))
    vis.boxes(file, jobs[-1], ["compute-util"], 10, 5, save=at("boxes.png"), freq=2)
    import matplotlib.image as image

    shapes = [image.imread(at(name)).shape[:2] for name in ("lines.png", "boxes.png")]
    return {
        "sizes": [[height > 400, width > height] for height, width in shapes],
        "no job": fault(lambda: vis.lines(file, 99, ["compute-util"])).split(" is not in")[0],
        "no metric": fault(lambda: vis.boxes(file, jobs[-1], ["loss"])).split(" is not in")[0],
        "no number": fault(lambda: vis.boxes(file, busy, ["tasks"])).split(": ")[1],
        "none": fault(lambda: vis.lines(file, busy, [])),
    }


def wrong():
    class Stand:
        asynchronous = False

    monitor = Monitor(Stand())
    return [
        fault(lambda: monitor.attach(tracking="tasks")),
        fault(lambda: monitor.attach(tracking=["gpu"])),
        fault(lambda: monitor.attach(tracking=[], job_type="auto")),
        fault(lambda: monitor.attach(tracking=[], polling_interval=0)),
        fault(lambda: monitor.attach(tracking=[], custom_metrics=[lambda worker, handle: 1]))[:9],
        fault(lambda: monitor.attach(tracking=[], custom_metrics=[running, running])),
        fault(lambda: Monitor.peaks_from_csv(FOLDER, "tasks"))[:17],
    ]


if __name__ == "__main__":
    dask.config.set({"distributed.worker.daemon": True})
    answers = {"wrong": wrong(), "in process": in_process(), "manual": manual(), "plots": plots()}
    print(json.dumps(answers))
