"""What can be asked of jobs, whether they are recordings or in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from .frames import long_frame
from .program import answer, answer_json

if TYPE_CHECKING:
    import pandas

Words = Union[str, Sequence[str], None]

#: Columns of text in the program's CSV of processes, threads, operations and comparisons; all others are numbers.
TEXTS = (
    *("job", "node", "user", "exename", "argv0", "path", "args", "command"),
    *("directory", "tags", "rank", "step", "ended", "source"),
    *("operation", "process", "figure", "unit"),
)
TIMES = ("start", "end", "process_start")


class Jobs:
    """One job or several. Durations and CPU times are in microseconds, memory in kB as in docs/processes.md."""

    def __init__(
        self,
        names: Sequence[str],
        options: Optional[Mapping[str, Any]] = None,
        environment: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._names = list(names)
        self._options = dict(options or {})
        self._environment = dict(environment or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._names))})"

    def processes(
        self,
        filter: Words = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
        columns: Optional[Sequence[str]] = None,
    ) -> pandas.DataFrame:
        """A row for each process, as `tacho processes` lists them: `filter="cpu>1s"`, `sort="rss"`."""
        picked = None if columns is None else ",".join(columns)
        return self._frame("processes", filter=filter, sort=sort, limit=limit, columns=picked)

    def threads(self, process: int, filter: Words = None) -> pandas.DataFrame:
        """A row for each thread of the process with this pid; `filter` says which, if several had it."""
        return self._frame("threads", process=process, filter=filter)

    def operations(self, tag: Words = None, filter: Words = None, sort: Optional[str] = None) -> pandas.DataFrame:
        """A row for each operation: the processes that have the same tag."""
        return self._frame("operations", op_tag=tag, filter=filter, sort=sort)

    def compare(self, *others: Any, by: Optional[str] = None) -> pandas.DataFrame:
        """What differs between these jobs and others, what explains most first; `by` operation, process or metric."""
        names = [*self._names, *(name for other in others for name in self._names_of(other))]
        return self._frame("compare", names, by=by, limit=0)

    def ask(self, verb: str, **options: Any) -> Any:
        """Any other verb, as its JSON says it: `ask("outliers", of="operations")`."""
        given = {**self._options, **options, "format": "json"}
        return answer_json(verb.split(), self._names, given, self._environment)

    def _frame(self, verb: str, names: Optional[Sequence[str]] = None, **options: Any) -> pandas.DataFrame:
        given = {**self._options, **options, "format": "csv"}
        return long_frame(answer([verb], names or self._names, given, self._environment), TEXTS, TIMES)

    def _names_of(self, other: Any) -> list[str]:
        return other._names if isinstance(other, Jobs) else [str(other)]
