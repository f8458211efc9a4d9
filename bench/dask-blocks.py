"""Blocks of tasks for the bench: each line of its input is `KIND TASKS`; it runs them and answers with the seconds it took."""
import contextlib
import os
import sys
import time

from distributed import Client, performance_report, wait
from distributed.diagnostics import MemorySampler


def add(x, y):
    return x + y


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
