"""Jobs in a PostgreSQL database (`tacho submit`)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Optional, Sequence
from urllib.parse import unquote

from .frames import moment, records_frame, rows_frame, stored_frame
from .jobs import Jobs, Words
from .program import TachoError, answer, answer_json

if TYPE_CHECKING:
    import pandas


def database(address: Optional[str] = None) -> Database:
    """The database at postgres://user@host/name; without an address that of TACHO_DB or of Tacho's configuration."""
    return Database(address or os.environ.get("TACHO_DB"))


class Database:
    """A database that holds many jobs."""

    def __init__(self, address: Optional[str] = None) -> None:
        self._address, self._environment = _without_password(address)

    def __repr__(self) -> str:
        return f"Database({self._address!r})"

    def status(self) -> dict[str, Any]:
        """What the database holds, and whether this Tacho can use it."""
        return self._ask("status")

    def jobs(
        self,
        user: Optional[str] = None,
        name: Optional[str] = None,
        state: Optional[str] = None,
        tag: Words = None,
        since: Any = None,
        until: Any = None,
        limit: int = 1000,
    ) -> pandas.DataFrame:
        """A row for each job, the newest last; `limit` keeps the newest. The column `job` is its number here."""
        options = {"user": user, "name": name, "state": state, "tag": tag, "limit": limit}
        found = self._ask("jobs", **{"from": moment(since), "to": moment(until)}, **options)
        return records_frame(found, ("start", "end"))

    def job(self, *names: Any) -> StoredJobs:
        """Jobs by the scheduler's id ("4711", "cluster:4711"), or by their number in the database ("#12")."""
        return StoredJobs(self, [str(name) for name in names])

    def tables(self) -> pandas.DataFrame:
        """What there is: a row for each table, with its columns."""
        found = [{"table": one["name"], "columns": [c["name"] for c in one["columns"]]} for one in self._ask("tables")]
        return rows_frame(found, ("table", "columns"), "table")

    def table(self, name: str, columns: Optional[Sequence[str]] = None) -> pandas.DataFrame:
        """A whole table, as the database has it: jobs, users, hosts, job_hosts, processes, threads, operations, models.

        Times are UTC, lists and objects Python's own; `job` is the number of a job here, as in `jobs()`.
        """
        return self._table(name, (), columns)

    def _table(self, name: str, jobs: Sequence[str], columns: Optional[Sequence[str]]) -> pandas.DataFrame:
        described = [table["columns"] for table in self._ask("tables") if table["name"] == name]
        if not described:
            raise TachoError(f'the database has no table "{name}"', "tables() lists those that it has", 2)
        picked = None if columns is None else ",".join(columns)
        given = {**self._options(), "columns": picked, "format": "csv"}
        return stored_frame(answer(["db", "table"], [name, *jobs], given, self._environment), described[0])

    def _options(self) -> dict[str, Any]:
        return {"db": self._address}

    def _ask(self, verb: str, **options: Any) -> Any:
        given = {**self._options(), **options, "format": "json"}
        return answer_json(["db", verb], (), given, self._environment)


class StoredJobs(Jobs):
    """Jobs in a database."""

    def __init__(self, of: Database, names: Sequence[str]) -> None:
        super().__init__(names, of._options(), of._environment)
        self._database = of

    def __repr__(self) -> str:
        return f"Jobs({', '.join(map(repr, self._names))})"

    def table(self, name: str, columns: Optional[Sequence[str]] = None) -> pandas.DataFrame:
        """What a table of the database holds of these jobs: `table("threads")` are the threads of all their processes."""
        return self._database._table(name, self._names, columns)


def _without_password(address: Optional[str]) -> tuple[Optional[str], dict[str, str]]:
    """Everybody on a machine can read a command line: the password goes by way of the environment."""
    found = re.match(r"([a-z]+://[^:@/?#]*):(.*)@([^@]*)$", address or "")
    if found is None:
        return address, {}
    return f"{found[1]}@{found[3]}", {"PGPASSWORD": unquote(found[2])}
