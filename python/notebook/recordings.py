# %% [markdown]
# # What the job did
#
# Frames come from the `tacho` program: `docs/python.md` lists what can be asked.

# %%
import tacho

recordings = tacho.open(".")
recordings.jobs()

# %% [markdown]
# ## Report card

# %%
print(recordings.card())

# %% [markdown]
# ## GPUs
#
# How busy the GPUs of each node were, on average.

# %%
tables = recordings.tables()
if "gpu" in tables.index:
    gpu = recordings.wide("gpu", columns=["utilization_percent"], interval="10s")
    per_node = gpu["utilization_percent"].T.groupby(level="node").mean().T
    per_node.plot(figsize=(12, 4), ylim=(0, 105), ylabel="GPU busy, %", xlabel="")
else:
    print("no GPU was recorded")

# %% [markdown]
# ## CPUs
#
# How many CPUs of each node were busy: counters grow, so their rates matter (milliseconds in a second).

# %%
if "cpu" in tables.index:
    cpu = recordings.table("cpu", columns=["busy_ms"], interval="10s", rates=True)
    cpu = cpu[cpu["cpu"] == "all"].set_index("time")
    axes = None
    for (job, node), busy in cpu.groupby(["job", "node"])["busy_ms"]:
        axes = (busy / 1000).plot(figsize=(12, 4), label=f"{node} ({job})", ax=axes)
    axes.set(ylabel="CPUs busy", xlabel="", ylim=(0, None))
    axes.legend()
else:
    print("no CPU was recorded")

# %% [markdown]
# ## Processes
#
# Those with the most CPU time; times and durations are in microseconds.

# %%
try:
    shown = recordings.processes(limit=20)
    shown = shown[["job", "node", "pid", "exename", "args", "start", "duration", "cpu_time", "rssmax", "exitcode"]]
except tacho.TachoError as error:
    shown = error
shown

# %% [markdown]
# ## Operations
#
# Processes that bear the same tag: `export TACHO_TAGS="op:build"` in a job's script tags what it starts from there on.

# %%
try:
    operations = recordings.operations()
except tacho.TachoError as error:
    operations = error
operations

# %% [markdown]
# ## Your own questions
#
# Every table, with the meaning and unit of its columns.

# %%
tables
