#!/usr/bin/env python3
"""gil THREADS SECONDS: threads of pure Python, of which one runs at a time."""
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[2])


def work():
    while time.monotonic() < end:
        sum(range(1000))


threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
