"""Marks and records itself every way, and prints as JSON what came of it. Argument: a folder for a recording."""

import json
import os
import subprocess
import sys
import threading
import warnings

import tacho

light = not any(name in sys.modules for name in ("pandas", "polars", "distributed"))


def caught(work):
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("always")
        work()
    return [str(each.message) for each in all]


def refused(*arguments):
    try:
        tacho.fom(*arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    raise AssertionError(arguments)


if sys.argv[1] == "joins":
    with tacho.record("whole") as r:
        tacho.mark("load")
        tacho.mark('say "a, b"\nc')
        with r.phase("outer"):
            with r.phase("inner"):
                pass
        threads = [threading.Thread(target=lambda: [tacho.fom(x=i) for i in range(100)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if os.fork() == 0:
            with tacho.phase("in a child"):
                pass
            os._exit(0)
        os.wait()
        tacho.fom("digits", 0.1 + 0.2)
    print(json.dumps([light, r.joined, r.path]))
else:
    nowhere = caught(lambda: (tacho.mark("lost"), tacho.fom(lost=1)))
    try:
        with tacho.record("alone", folder=sys.argv[1], interval="200ms", tags={"op": "x"}) as r:
            tacho.mark("main")
            subprocess.run(["sh", "-c", 'printf "%s,fom,of a child,7,\\n" "$1" >> "$TACHO_MARKS"', "-", "1794960981913497"])
            live = r.report()["job"]["state"]
            raise RuntimeError("as programs do")
    except RuntimeError:
        pass
    report = r.report()
    other = tacho.record("refused", folder="/proc/none", strict=True)
    try:
        other.__enter__()
        strict = ""
    except tacho.TachoError as error:
        strict = str(error)
    print(
        json.dumps(
            {
                "nowhere": nowhere,
                "live": live,
                "job": [report["job"][key] for key in ("name", "state", "exit_code", "tags")],
                "phases": [each["name"] for each in report["phases"]],
                "figures": [[each["name"], each["value"]] for each in report["figures"]],
                "rows": len(r.table("cpu")) > 0,
                "strict": strict,
                "goes on": caught(lambda: tacho.record("x", folder="/proc/none").__enter__().fom(x=1))[0][:21],
                "left": os.environ.get("TACHO_MARKS"),
                "refused": [refused("x", "1"), refused("x", float("nan")), refused("x", 2**53 + 1), refused("x")],
            }
        )
    )
