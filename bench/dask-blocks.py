"""
Blocks of tasks for the bench: each line of its input is `KIND TASKS`; it runs them and answers with the seconds it took. For `account`
it answers with the seconds on a CPU that the scheduler spent for an attached monitor: on steps of tasks, graphs, the feed, samples.
"""
import contextlib
import os
import sys
import time

from distributed import Client, performance_report, wait
from distributed.diagnostics import MemorySampler


def add(x, y):
    return x + y


def account(dask_scheduler):
    """Begins to add up what the scheduler does for the monitor, wherever it does it."""
    import asyncio
    from time import perf_counter_ns, thread_time_ns

    from distributed.protocol import dumps, loads
    from tlz import merge

    scheduler = dask_scheduler
    plugin = next(p for name, p in scheduler.plugins.items() if str(name).startswith("tacho-"))
    spent = {"transitions": 0, "graphs": 0, "feed": 0, "samples": 0}
    transition, update_graph, hear = plugin.transition, plugin.update_graph, scheduler.stream_handlers[plugin.name]
    handle_run = asyncio.Handle._run
    empty = dumps([])
    # what looking at the clock twice takes at least
    clock = min(-perf_counter_ns() + perf_counter_ns() for _ in range(1000))

    def timed_transition(*args, **kw):
        began = perf_counter_ns()
        transition(*args, **kw)
        took = perf_counter_ns() - began
        # the CPU's own clock takes as long as this step; beyond 0.1 ms the CPU was another's meanwhile
        if took < 100_000:
            spent["transitions"] += took - clock

    def timed_graph(*args, **kw):
        began = thread_time_ns()
        update_graph(*args, **kw)
        spent["graphs"] += thread_time_ns() - began

    def timed_samples(worker=None, **message):
        # its part of a message that was read already: read once more, less what reading any message takes
        frames = dumps([{"op": plugin.name, **message}])
        began = thread_time_ns()
        loads(empty)
        spent["samples"] -= thread_time_ns() - began
        began = thread_time_ns()
        (message,) = loads(frames)
        message.pop("op")
        asyncio.iscoroutinefunction(hear)
        hear(**merge({"worker": worker}, message))
        spent["samples"] += thread_time_ns() - began

    def feeding():
        for task in asyncio.all_tasks():
            coroutine = task.get_coro()
            while coroutine is not None and hasattr(coroutine, "cr_frame"):
                # what runs for the connection of the feed
                if coroutine.cr_frame is not None and coroutine.cr_frame.f_locals.get("comm") is plugin.comm:
                    return task
                coroutine = coroutine.cr_await

    feed = feeding()

    def timed_run(handle):
        if getattr(handle._callback, "__self__", None) is not feed:
            return handle_run(handle)
        began = thread_time_ns()
        handle_run(handle)
        spent["feed"] += thread_time_ns() - began

    def end():
        asyncio.Handle._run = handle_run
        plugin.transition, plugin.update_graph = transition, update_graph
        scheduler.stream_handlers[plugin.name] = hear
        return [spent[part] / 1e9 for part in ("transitions", "graphs", "feed", "samples")]

    plugin.transition, plugin.update_graph = timed_transition, timed_graph
    scheduler.stream_handlers[plugin.name] = timed_samples
    asyncio.Handle._run = timed_run
    scheduler.end_of_account = end


def accounted(dask_scheduler):
    return dask_scheduler.end_of_account()


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
            if kind == "account":
                client.run_on_scheduler(account)
            began = time.perf_counter()
            with around(kind, client):
                futures = client.map(add, range(int(tasks)), range(int(tasks)), pure=False)
                wait(futures)
            seconds = time.perf_counter() - began
            del futures
            # what the scheduler forgets is not part of the next block
            while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
                time.sleep(0.01)
            print(*(client.run_on_scheduler(accounted) if kind == "account" else [seconds]), flush=True)


if __name__ == "__main__":
    main()
