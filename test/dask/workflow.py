"""Workflows for tests: python3 workflow.py ADDRESS NAME…"""
import os
import random
import sys
import time

from distributed import Client


def inc(x, seconds=0.02):
    time.sleep(seconds)
    return x + 1


def fail(x):
    raise ValueError("no, %d" % x)


def die(marker):
    """Kills its worker the first time."""
    if not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return 7


def add(x, y):
    return x + y


def graphs(client, address):
    client.gather(client.map(inc, range(20)))
    client.gather(client.map(inc, range(100, 110)))
    with Client(address) as other:
        other.submit(inc, 1000).result()


def keys(client, address):
    names = ["quote-'\"-1", "two\nlines", "comma, here", "x" * 10000]
    client.gather([client.submit(inc, i, key=name) for i, name in enumerate(names)])
    graph = {("t-abc", 0, i): (inc, i) for i in range(3)}
    graph["total-abc"] = (sum, list(graph))
    client.get(graph, "total-abc")


def errors(client, address):
    for retries in (0, 2):
        try:
            client.submit(fail, retries, retries=retries).result()
        except ValueError:
            pass


class NotThere:
    """Can be read by the process that made it alone, like what uses a module that workers have not."""
    def __reduce__(self):
        return no_module, (os.getpid(),)


def no_module(pid):
    if os.getpid() != pid:
        raise ModuleNotFoundError("No module named 'only_here'")
    return NotThere()


def unreadable(client, address):
    try:
        client.submit(inc, NotThere()).result(timeout=5)
    except (ModuleNotFoundError, TimeoutError):
        pass


class Deadly:
    """Kills its worker when another one asks for it, the first time."""
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        if not os.path.exists(self.marker):
            die(self.marker)
        return Deadly, (self.marker,)


def use(x):
    return 1


def lost_input(client, address):
    first, second = list(client.scheduler_info()["workers"])[:2]
    x = client.submit(Deadly, os.environ["MARKER"], workers=[first], allow_other_workers=True, key="input-1")
    client.submit(use, x, workers=[second], key="use-1").result()


def fetched(client, address):
    """One worker fetches what another one has."""
    first, second = list(client.scheduler_info()["workers"])[:2]
    x = client.submit(bytes, 4_000_000, workers=[first], key="data-1")
    client.submit(len, x, workers=[second], key="fetch-1").result()


def again(client, address):
    """One key for several tasks, each in a graph of its own, faster than a monitor hears of them."""
    for i in range(6):
        future = client.submit(inc, i, 0.001, key="again-1")
        future.result()
        del future
        while client.run_on_scheduler(lambda dask_scheduler: "again-1" in dask_scheduler.tasks):
            pass


def death(client, address):
    client.submit(die, os.environ["MARKER"]).result()


def steal(key, thief, dask_scheduler):
    ts = dask_scheduler.tasks.get(key)
    if ts is None or ts.processing_on is None:
        return False
    dask_scheduler.extensions["stealing"].move_task_request(ts, ts.processing_on, dask_scheduler.workers[thief])
    return True


def stolen_death(client, address):
    """The worker of this task changes before it dies of it."""
    victim, thief = list(client.scheduler_info()["workers"])[:2]
    slow = client.map(inc, range(2), seconds=1, workers=[victim], pure=False)
    task = client.submit(die, os.environ["MARKER"], workers=[victim], allow_other_workers=True, key="die-1")
    while not client.run_on_scheduler(steal, "die-1", thief):
        pass
    client.gather([task, *slow])


def many(client, address):
    n = int(os.environ.get("TASKS", "100000"))
    futures = client.map(add, range(n), range(n), batch_size=5000, pure=False)
    client.gather(futures[-1])
    from distributed import wait
    wait(futures)


def wrong_clocks(dask_worker):
    """Heartbeats whose answers come late: after each the worker takes the scheduler's clock for another one."""
    from tornado.ioloop import PeriodicCallback

    def heartbeat():
        took = random.uniform(0.002, 1)
        dask_worker._update_latency(took)
        dask_worker.scheduler_delay = random.uniform(-took / 2, took / 2)

    dask_worker.wrong_clock = PeriodicCallback(heartbeat, 50)
    dask_worker.wrong_clock.start()


def right_clocks(dask_worker):
    dask_worker.wrong_clock.stop()


def wrong_clock(client, address):
    client.run(wrong_clocks)
    client.gather(client.map(inc, range(100), seconds=0.01, pure=False))
    client.run(right_clocks)


def busy(client, address):
    client.gather(client.map(inc, range(200), seconds=0.05, pure=False))


def main():
    address = sys.argv[1]
    if "SCHEDULER_FILE" in os.environ:
        with Client(scheduler_file=os.environ["SCHEDULER_FILE"]) as client:
            for name in sys.argv[2:]:
                globals()[name](client, client.scheduler.address)
        return
    security = None
    if "TLS_CA" in os.environ:
        from distributed.security import Security
        security = Security(tls_ca_file=os.environ["TLS_CA"], tls_client_cert=os.environ["TLS_CERT"], tls_client_key=os.environ["TLS_KEY"], require_encryption=True)
    with Client(address, security=security) as client:
        for name in sys.argv[2:]:
            globals()[name](client, address)


if __name__ == "__main__":
    main()
