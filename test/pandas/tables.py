"""Long and wide exports as docs/export.md shows how to open them; prints what they give."""
import json

import pandas

long = pandas.read_csv("gpu.csv", parse_dates=["time"], dtype={"job": str, "gpu": str})
wide = pandas.read_csv("gpu-wide.csv", header=[0, 1, 2], index_col=0, parse_dates=True)
lines = pandas.read_json("gpu.ndjson", lines=True, dtype={"job": str, "gpu": str})
plain = pandas.read_csv("load-wide.csv", header=[0, 1], index_col=0, parse_dates=True)

means = long.groupby(["node", "gpu"])["utilization_percent"].mean()

print(json.dumps({
    "rows": len(long),
    "zone": str(long["time"].dt.tz),
    "missing": int(long["power_watts"].isna().sum()),
    "means": {"/".join(key): value for key, value in means.items()},
    "wide_levels": list(wide.columns.names),
    "wide_zone": str(wide.index.tz),
    "wide_means": {"/".join(key): value for key, value in wide["utilization_percent"].mean().items()},
    "json_equal": bool((lines["utilization_percent"] == long["utilization_percent"]).all()),
    "json_missing": int(lines["power_watts"].isna().sum()),
    "load": [float(value) for value in plain["load1"]["node01"]],
}))
