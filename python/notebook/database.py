# %% [markdown]
# # Jobs in the database
#
# Frames come from the `tacho` program: `docs/python.md` lists what can be asked.

# %%
import tacho

database = tacho.database("postgres://host/name")
names = []
jobs = database.jobs()
jobs

# %% [markdown]
# ## How long jobs took
#
# In hours, by name.

# %%
if jobs.empty:
    hours = "no job is in the database: tacho submit stores one"
else:
    hours = (jobs["end"] - jobs["start"]).dt.total_seconds() / 3600
    hours = hours.groupby(jobs["name"]).describe()
hours

# %% [markdown]
# ## One job
#
# Those that were named when the notebook was made, else the newest.

# %%
if not names and not jobs.empty:
    names = [f"#{jobs['job'].iloc[-1]}"]
job = database.job(*names)
job

# %% [markdown]
# ## Processes
#
# Those with the most CPU time; times and durations are in microseconds.

# %%
try:
    processes = job.processes(limit=20)
except tacho.TachoError as error:
    processes = error
processes

# %%
if not isinstance(processes, tacho.TachoError):
    busiest = processes.groupby("exename")["cpu_time"].sum().sort_values() / 1e6
    busiest.plot.barh(figsize=(12, 5), xlabel="CPU time, s", ylabel="")

# %% [markdown]
# ## Operations

# %%
try:
    operations = job.operations()
except tacho.TachoError as error:
    operations = error
operations
