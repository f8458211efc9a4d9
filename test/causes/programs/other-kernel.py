#!/usr/bin/env python3
"""
other-kernel steal|heat|lustre COMMAND…: runs a command, in a mount namespace of its own, that reads of hardware which is
not here where the kernel would tell of it. Everything else of these files is the kernel's own.

  steal    /proc/stat: a hypervisor takes 0.4 of every CPU
  heat     /proc/interrupts: 40 thermal events a second
  lustre   /sys/kernel/debug/lustre: 5,000 files a second are opened and closed, with 2 KiB each
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

kind, command = sys.argv[1], sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x00020000) != 0:  # CLONE_NEWNS
    sys.exit("other-kernel needs root")
run = lambda *words: subprocess.run(words, check=True)
run("mount", "--make-rprivate", "/")
start = time.monotonic()


def stat(text, seconds):
    lines = []
    for line in text.split("\n"):
        words = line.split()
        if words and words[0].startswith("cpu"):
            cpus = os.cpu_count() if words[0] == "cpu" else 1
            words[8] = str(int(words[8]) + int(0.4 * cpus * 100 * seconds))
            line = " ".join(words)
        lines.append(line)
    return "\n".join(lines)


def interrupts(text, seconds):
    kept = [line for line in text.split("\n") if not line.lstrip().startswith("TRM:") and line]
    counts = " ".join(f"{int(40 * seconds / os.cpu_count()):10d}" for _ in range(os.cpu_count()))
    return "\n".join([*kept, f" TRM: {counts}   Thermal event interrupts", ""])


def lustre(_, seconds):
    files = int(5000 * seconds)
    return f"""snapshot_time             {time.time():.9f} secs.nsecs
read_bytes                {files} samples [bytes] 2048 2048 {files * 2048}
open                      {files} samples [reqs]
close                     {files} samples [reqs]
getattr                   {files} samples [reqs]
"""


kinds = {"steal": ("/proc/stat", stat), "heat": ("/proc/interrupts", interrupts), "lustre": (None, lustre)}
real, told = kinds[kind]
if real is None:
    run("mount", "-t", "tmpfs", "tmpfs", "/sys/kernel/debug")
    folder = "/sys/kernel/debug/lustre/llite/scratch-ffff9d1a2b3c4000"
    os.makedirs(folder)
    place, kernel = f"{folder}/stats", None
else:
    kernel = open(real, "rb", buffering=0)
    _, place = tempfile.mkstemp()
read = lambda: "" if kernel is None else os.pread(kernel.fileno(), 1 << 20, 0).decode()
file = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
write = lambda: os.pwrite(file, told(read(), time.monotonic() - start).encode(), 0)
write()
os.chmod(place, 0o644)
if real is not None:
    run("mount", "--bind", place, real)
    os.unlink(place)
parent = os.getpid()
if os.fork() == 0:
    for fd in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    while os.getppid() == parent:
        write()
        time.sleep(0.05)
    os._exit(0)
os.execvp(command[0], command)
