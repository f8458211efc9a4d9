"""
Blocks of tasks for the bench: each line of its input is `KIND TASKS`; it runs them and answers with the seconds it took. `plugin` runs
no tasks: the scheduler's plugin of an attached monitor notes as many, and the answer is its CPU time in seconds.
"""
import contextlib
import os
import sys
import time

from distributed import Client, performance_report, wait
from distributed.diagnostics import MemorySampler


def add(x, y):
    return x + y


def plugin_cost(tasks, dask_scheduler):
    from types import SimpleNamespace

    from distributed.protocol import dumps

    attached = next(p for name, p in dask_scheduler.plugins.items() if str(name).startswith("tacho-"))
    handed_over = type(attached).close.__globals__["handed_over"]
    worker = next(iter(dask_scheduler.workers.values()))
    keys = ["add-0123456789abcdef0123456789abcdef-%d" % i for i in range(tasks)]
    ran = [{"action": "compute", "start": time.time(), "stop": time.time() + 1e-4}]
    states = {key: SimpleNamespace(key=key, processing_on=worker) for key in keys}
    plugin = type(attached)(SimpleNamespace(tasks={}, workers=dask_scheduler.workers))
    plugin.scheduler.tasks = states
    plugin.registered = None
    began = time.thread_time()
    plugin.update_graph(client="Client-1", keys=keys, tasks=keys)
    for i, key in enumerate(keys):
        # as the scheduler calls it for each step of a task
        plugin.transition(key, "released", "waiting", stimulus_id="s")
        plugin.transition(key, "waiting", "processing", stimulus_id="s")
        done = {"worker": worker.address, "nbytes": 28, "typename": "int", "startstops": ran, "thread": 1, "metadata": {}}
        plugin.transition(key, "processing", "memory", stimulus_id="s", **done)
        plugin.transition(key, "memory", "released", stimulus_id="s")
        plugin.transition(key, "released", "forgotten", stimulus_id="s")
        # so many end in the 0.2 s of a step
        if i % 400 == 399:
            dumps(handed_over(plugin))
    dumps(handed_over(plugin))
    return time.thread_time() - began


def around(kind, client):
    if kind == "report":
        return performance_report(filename=os.environ["REPORT"])
    if kind == "sampler":
        return MemorySampler().sample("block", client=client, interval=0.2)
    return contextlib.nullcontext()


def main():
    with Client(scheduler_file=sys.argv[1]) as client:
        client.wait_for_workers(int(sys.argv[2]))
        print("ready", flush=True)
        for line in sys.stdin:
            kind, tasks = line.split()
            if kind == "plugin":
                print(client.run_on_scheduler(plugin_cost, int(tasks)), flush=True)
                continue
            began = time.perf_counter()
            with around(kind, client):
                futures = client.map(add, range(int(tasks)), range(int(tasks)), pure=False)
                wait(futures)
            print(time.perf_counter() - began, flush=True)
            del futures
            # what the scheduler forgets is not part of the next block
            while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
                time.sleep(0.01)


if __name__ == "__main__":
    main()
