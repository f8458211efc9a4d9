#!/usr/bin/python3
"""dask-case NAME: a workflow on a LocalCluster, once it is recorded."""
import glob
import os
import sys
import time

from distributed import Client, LocalCluster, wait


def work(x, seconds=0.1):
    time.sleep(seconds)
    return x


def nothing(x):
    return x


def data(x, size):
    return os.urandom(1 << 20) * (size >> 20)


def use(x):
    return len(x)


def die(marker):
    if not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return 1


def healthy(client):
    client.gather(client.map(work, range(150)))


def idle(client):
    end = time.monotonic() + 12
    while time.monotonic() < end:
        client.submit(work, time.monotonic(), 0.3).result()


def stragglers(client):
    client.gather(client.map(work, range(30), [0.1] * 29 + [5.0]))


def spilling(client):
    kept = client.map(data, range(16), size=24 << 20)
    wait(kept)
    time.sleep(2)


def transfers(client):
    here, there = list(client.scheduler_info()["workers"])[:2]
    for i in range(20):
        one = client.submit(data, i, 64 << 20, workers=[here])
        client.submit(use, one, workers=[there]).result()


def tiny(client):
    client.gather(client.map(nothing, range(3000)))


def recomputed(client):
    for _ in range(3):
        client.gather(client.map(work, range(20)))
        time.sleep(0.5)


def death(client):
    client.gather([client.submit(die, os.path.abspath("died")), *client.map(work, range(20))])


CLUSTERS = {"idle": {"n_workers": 4}, "spilling": {"n_workers": 1, "memory_limit": "320MB"}}


def main():
    name = sys.argv[1]
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", **CLUSTERS.get(name, {})}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        limit = time.monotonic() + 60
        while not glob.glob(os.environ["TACHO_RECORDING"] + "/node=*/dask_worker.csv") and time.monotonic() < limit:
            time.sleep(0.1)
        time.sleep(0.5)
        globals()[name](client)


if __name__ == "__main__":
    main()
