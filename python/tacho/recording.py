"""Recordings: folders on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from .frames import long_frame, moment, polars_frame, records_frame, rows_frame, wide_frame
from .jobs import Jobs, Words
from .program import TachoError, answer, answer_json, answer_text

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]


def open(paths: Union[Path, Sequence[Path]] = ".") -> Recording:
    """Opens recordings, or folders that hold some. Wrong paths are an error at once."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    recording = Recording([os.path.abspath(path) for path in several])
    if len(recording._listed()) == 0:
        raise TachoError(f"no recording in {', '.join(map(str, several))}", "tacho run -- COMMAND makes one")
    return recording


class Recording(Jobs):
    """One recording or several, opened together; the column `job` keeps them apart."""

    def jobs(self) -> pandas.DataFrame:
        """A row for each recording: where it is, its job, when, how large, how it ended."""
        return records_frame(self._listed(), ("start", "end"))

    def tables(self) -> pandas.DataFrame:
        """What was recorded: a row for each table."""
        rows = [
            {
                "table": table["name"],
                "keys": [key["name"] for key in table["keys"]],
                "columns": [column["name"] for column in table["columns"]],
                "nodes": table["nodes"],
                "help": table["help"],
            }
            for table in self._tables()
        ]
        return rows_frame(rows, ("table", "keys", "columns", "nodes", "help"), "table")

    def columns(self, table: str) -> pandas.DataFrame:
        """The columns of a table with their type, unit, kind (gauge or counter) and meaning."""
        found = [each["columns"] for each in self._tables() if each["name"] == table]
        if not found:
            raise TachoError(f'no table "{table}" was recorded', "tables() lists those that were", 2)
        rows = [{**each, "column": each["name"]} for each in found[0]]
        return rows_frame(rows, ("column", "type", "unit", "kind", "help"), "column")

    def table(
        self,
        name: str,
        columns: Optional[Sequence[str]] = None,
        start: Any = None,
        end: Any = None,
        node: Words = None,
        interval: Any = None,
        marker: Optional[str] = None,
        rates: bool = False,
        extremes: bool = False,
        frame: str = "pandas",
    ) -> Any:
        """A row for each sample: time (UTC), node, job, the table's keys, and what was measured.

        `start` and `end` are texts ("2026-11-15T20:49Z", "-10m") or times of Python or pandas; `interval` in seconds, or
        "1min", asks for one row each interval; `marker` confines it to the phases of that name; with `rates` counters are
        rates a second; with `extremes` each interval also has its lowest and highest value (NAME_min, NAME_max). `frame` is
        "pandas" or "polars".
        """
        if frame not in ("pandas", "polars"):
            raise TachoError(f'there are no frames of "{frame}"', 'frame is "pandas" or "polars"', 2)
        described = [table for table in self._tables() if table["name"] == name]
        texts = ["node", "job"]
        for table in described:
            texts += [key["name"] for key in table["keys"]]
            texts += [column["name"] for column in table["columns"] if column["type"] == "text"]
        exported = self._export(name, columns, start, end, interval, marker, rates, extremes, layout="long")
        wanted = [node] if isinstance(node, str) else node
        if frame == "polars":
            return polars_frame(exported, texts, ("time",), wanted)
        rows = long_frame(exported, texts, ("time",))
        return rows if wanted is None else rows[rows["node"].isin(wanted)].reset_index(drop=True)

    def wide(
        self,
        name: str,
        columns: Optional[Sequence[str]] = None,
        start: Any = None,
        end: Any = None,
        interval: Any = None,
        marker: Optional[str] = None,
        rates: bool = False,
        extremes: bool = False,
    ) -> pandas.DataFrame:
        """A row for each tick: the index is the time, columns are metric, (job,) node and keys. Good for `.plot()`."""
        return wide_frame(self._export(name, columns, start, end, interval, marker, rates, extremes, layout="wide"))

    def report(self) -> dict[str, Any]:
        """The report of the one job that this is."""
        reports = self.reports()
        if len(reports) != 1:
            raise TachoError(f"these are {len(reports)} jobs, not one", "reports() has one for each", 2)
        return reports[0]

    def reports(self) -> list[dict[str, Any]]:
        """The report of each job, as docs/report.schema.json describes it."""
        found = answer_json(["report"], self._names, {"format": "json"})
        return found if isinstance(found, list) else [found]

    def card(self) -> str:
        """The report card as text."""
        return answer_text(["report"], self._names)

    def _names_of(self, other: Any) -> list[str]:
        return other._names if isinstance(other, Jobs) else [os.path.abspath(other)]

    def _listed(self) -> list[dict[str, Any]]:
        return answer_json(["list"], self._names, {"format": "json"})

    def _tables(self) -> list[dict[str, Any]]:
        return answer_json(["list"], self._names, {"tables": True, "format": "json"})

    def _export(
        self,
        name: str,
        columns: Optional[Sequence[str]],
        start: Any,
        end: Any,
        interval: Any,
        marker: Optional[str],
        rates: bool,
        extremes: bool,
        layout: str,
    ) -> Any:
        options = {
            "table": name,
            "columns": None if columns is None else ",".join(columns),
            "from": moment(start),
            "to": moment(end),
            "interval": interval,
            "marker": marker,
            "rates": rates,
            "extremes": extremes,
            "layout": layout,
            "format": "csv",
            "epoch": True,
            "output": "-",
        }
        return answer(["export"], self._names, options)
