"""Asks a database and recordings the same. Arguments: its address, then the recordings of jobs 1 and 2."""

import json
import sys

import tacho

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
        }
    )
)
