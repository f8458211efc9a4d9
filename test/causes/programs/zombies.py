#!/usr/bin/env python3
"""zombies CHILDREN SECONDS: children that end at once, and are not waited for."""
import os
import sys
import time

for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os._exit(0)
time.sleep(float(sys.argv[2]))
