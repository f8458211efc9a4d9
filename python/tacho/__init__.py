"""Tacho, the flight recorder for batch, HPC and ML jobs, from Python.

    import tacho

    with tacho.record("train") as r:         # records this program, or joins the recording around it
        with r.phase("epoch"):
            ...
        r.fom(loss=2.31)
    tacho.mark("load")                       # phases and figures in microseconds, wherever a recording goes on

    recording = tacho.open("tacho-4711")     # what was recorded, as frames of pandas or Polars
    recording.table("gpu", columns=["power_watts"])

    jobs = tacho.database("postgres://db.site/tacho")
    jobs.job("4711").operations()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from .marks import Phase, fom, mark, phase
from .program import TachoError
from .record import Recorder, record

if TYPE_CHECKING:
    from .database import Database, database
    from .jobs import Jobs
    from .recording import Recording, open

__all__ = [
    "Database",
    "Jobs",
    "Phase",
    "Recorder",
    "Recording",
    "TachoError",
    "database",
    "fom",
    "mark",
    "open",
    "phase",
    "record",
]

#: What a program that only marks its phases need not load.
_WHEN_ASKED = {
    "Database": "database",
    "database": "database",
    "Jobs": "jobs",
    "Recording": "recording",
    "open": "recording",
}


def __getattr__(name: str) -> Any:
    if name not in _WHEN_ASKED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    # all at once: as soon as it is imported, the module `database` would have the function's name
    for each, module in _WHEN_ASKED.items():
        globals()[each] = getattr(import_module(f".{module}", __name__), each)
    return globals()[name]


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
