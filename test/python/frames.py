"""Asks the package everything, and prints as JSON what came back. Arguments: two recordings of processes, the demo."""

import datetime
import json
import sys

import pandas
import tacho

first, second, demo = sys.argv[1:4]


def fault(question):
    try:
        question()
    except tacho.TachoError as error:
        return [error.message, error.hint, error.exit_code]
    raise AssertionError("no error")


def rows(frame):
    return json.loads(frame.to_json(orient="records", date_format="iso", date_unit="us"))


gpus = tacho.open(demo)
both = tacho.open([first, second])
one = tacho.open(first)
times = {"start": datetime.datetime(2026, 3, 2, 8, 0, 0, 500000), "end": pandas.Timestamp("2026-03-02T08:00:02.5Z")}
part = gpus.table("gpu", columns=["power_watts"], node="node02", **times)
wide = gpus.wide("gpu", columns=["power_watts"], **times)
ends = both.table("process_end")
print(
    json.dumps(
        {
            "repr": repr(one),
            "jobs": both.jobs()["job"].tolist(),
            "tables": gpus.tables().loc[["gpu", "loadavg"], ["keys", "nodes"]].values.tolist(),
            "unit": gpus.columns("gpu").loc["power_watts", ["type", "unit", "kind"]].tolist(),
            "part": rows(part),
            "zone": [str(part["time"].dt.tz), str(wide.index.tz)],
            "wide": [list(wide.columns.names), wide["power_watts"]["node02"]["1"].tolist()],
            "wide_times": [time.isoformat() for time in wide.index],
            "coarse": len(gpus.table("gpu", interval=60, node=["node01"])),
            "rates": gpus.wide("cpu", columns=["busy_ms"], interval=60, rates=True).dtypes.astype(str).unique().tolist(),
            "ends": [ends["job"].tolist(), ends["pid"].tolist(), ends["exename"].tolist()],
            "report": one.report()["job"]["id"],
            "reports": [report["job"]["id"] for report in both.reports()],
            "card": one.card().split("\n")[0],
            "processes": rows(one.processes()[["pid", "exename", "args", "start", "end", "cpu_time", "exitcode"]]),
            "busy": one.processes(filter=["cpu>1s", "node=c1"], sort="start", columns=["pid"])["pid"].tolist(),
            "threads": rows(one.threads(101)[["tid", "start", "cpu_time"]]),
            "operations": rows(one.operations(tag="op")[["operation", "processes", "duration"]]),
            "compare": rows(one.compare(second, by="operation")[["operation", "difference"]]),
            "metrics": both.compare(by="metric").set_index("figure").loc["duration"].tolist(),
            "asked": one.ask("operations", op_tag="op")[0]["intervals"],
            "no_table": fault(lambda: one.table("proces_end")),
            "no_folder": fault(lambda: tacho.open("/nonexistent")),
            "several": fault(both.report),
            "no_database": fault(tacho.database("postgres://ada:s3cret@127.0.0.1:1/tacho").jobs),
        }
    )
)
