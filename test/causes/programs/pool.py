#!/usr/bin/env python3
"""pool WORKERS SECONDS: a pool of worker processes that share equal tasks."""
import multiprocessing
import sys
import time


def task(_):
    end = time.process_time() + 0.2
    total = 0
    while time.process_time() < end:
        total += sum(range(1000))
    return total


if __name__ == "__main__":
    workers, seconds = int(sys.argv[1]), float(sys.argv[2])
    with multiprocessing.Pool(workers) as pool:
        pool.map(task, range(int(workers * seconds / 0.2)), chunksize=1)
