"""Jobs in a PostgreSQL database (`tacho submit`)."""

from __future__ import annotations

import os
import re
from typing import Any, Optional
from urllib.parse import unquote

import pandas

from .frames import moment, records_frame
from .jobs import Jobs, Words
from .program import answer_json


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
        found = self._ask("jobs", since=moment(since), until=moment(until), **options)
        return records_frame(found, ("start", "end"))

    def job(self, *names: Any) -> Jobs:
        """Jobs by the scheduler's id ("4711", "cluster:4711"), or by their number in the database ("#12")."""
        return Jobs([str(name) for name in names], self._options(), self._environment)

    def _options(self) -> dict[str, Any]:
        return {"db": self._address}

    def _ask(self, verb: str, **options: Any) -> Any:
        given = {**self._options(), **options, "format": "json"}
        return answer_json(["db", verb], (), given, self._environment)


def _without_password(address: Optional[str]) -> tuple[Optional[str], dict[str, str]]:
    """Everybody on a machine can read a command line: the password goes by way of the environment."""
    found = re.match(r"([a-z]+://[^:@/?#]*):(.*)@([^@]*)$", address or "")
    if found is None:
        return address, {}
    return f"{found[1]}@{found[3]}", {"PGPASSWORD": unquote(found[2])}
