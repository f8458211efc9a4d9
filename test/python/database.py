"""Asks a database and recordings the same. Arguments: its address, then the recordings of jobs 1 and 2."""

import json
import sys

import tacho



def refused(question):
    try:
        question()
    except tacho.TachoError as error:
        return error.message


database = tacho.database(sys.argv[1])
recordings = tacho.open(sys.argv[2:4])
stored = database.job("1", "2")
jobs = database.jobs(user="ada")
print(
    json.dumps(
        {
            "repr": repr(database),
            "schema": database.status()["jobs"],
            "jobs": jobs["id"].tolist(),
            "began": jobs["start"].iloc[0].isoformat(),
            "numbered": database.job(f"#{jobs['job'].iloc[-1]}").processes()["job"].unique().tolist(),
            "processes": stored.processes().equals(recordings.processes()),
            "threads": stored.threads(101).equals(recordings.threads(101)),
            "operations": stored.operations().equals(recordings.operations()),
            "compare": stored.compare().equals(recordings.compare()),
            "tables": database.tables().loc["hosts", "columns"],
            "hosts": [[name, facts["cpus"]] for name, facts in database.table("hosts")[["name", "facts"]].values],
            "nodes": database.table("jobs")["nodes"].tolist(),
            "times": str(database.table("jobs")["start_time"].dtype),
            "thread_sum": int(database.job("1").table("threads")["cpu_time"].sum()),
            "of_both": len(stored.table("processes")),
            "args": database.job("2").table("processes", columns=["args"])["args"].dropna().tolist(),
            "models": len(database.table("models")),
            "no_table": str(refused(lambda: database.job("1").table("process_end"))),
            "no_job": str(refused(lambda: database.job("77").table("hosts"))),
        }
    )
)
