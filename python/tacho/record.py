"""A recording of this program, or the one that goes on around it.

    import tacho
    with tacho.record("train") as r:
        with r.phase("epoch"):
            ...
        r.fom(loss=2.31)
    print(r.card())
"""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Type, Union

from .marks import Marks, Number, Phase, marks, running_marks
from .program import TachoError, program

if TYPE_CHECKING:
    from .recording import Recording

Path = Union[str, "os.PathLike[str]"]

#: What programs of the recording find it by.
_VARIABLES = ("TACHO_RECORDING", "TACHO_MARKS")


def record(
    name: str,
    folder: Optional[Path] = None,
    interval: Union[str, Number, None] = None,
    tags: Optional[Mapping[str, str]] = None,
    strict: bool = False,
) -> Recorder:
    """Records this program while the block runs.

    Inside `tacho run`, after `tacho start` or in another `record` it joins the recording that goes on: the block is then a
    phase of it. Elsewhere it starts an agent, and the recording is `folder` (default: named after the job, here). `interval`
    is in seconds, or a text like "500ms". What cannot be recorded is a warning, and the block runs; with `strict` an error.
    """
    return Recorder(name, folder, interval, tags, strict)


class Recorder:
    """What `record` gives. Phases and figures cost microseconds; questions ask the `tacho` program."""

    def __init__(
        self,
        name: str,
        folder: Optional[Path] = None,
        interval: Union[str, Number, None] = None,
        tags: Optional[Mapping[str, str]] = None,
        strict: bool = False,
    ) -> None:
        self.name = name
        #: The recording's folder; None before it began, and where nothing is recorded.
        self.path: Optional[str] = None
        #: Whether the recording was there before.
        self.joined = False
        self._folder = folder
        self._interval = interval
        self._tags = dict(tags or {})
        self._strict = strict
        self._marks: Marks = marks
        self._before: Dict[str, Optional[str]] = {}
        self._whole: Optional[Phase] = None

    def __repr__(self) -> str:
        return f"Recorder({self.name!r}, {self.path!r})"

    def __enter__(self) -> Recorder:
        around = running_marks()
        if around is not None:
            self.joined = True
            self.path = os.path.dirname(os.path.dirname(os.path.realpath(around)))
            self._whole = self._marks.phase(self.name)
            return self
        try:
            self._start()
        except TachoError as error:
            if self._strict:
                raise
            warnings.warn(f"nothing is recorded: {error}", RuntimeWarning, stacklevel=2)
            self._marks = Marks(lambda: os.devnull)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._whole is not None:
            self._whole.end()
        if self.joined or self.path is None:
            return
        marks.close()
        for variable, value in self._before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
        try:
            _run(["stop", self.path, "--no-report", f"--exit-code={_exit_code(error)}"])
        except TachoError as trouble:
            warnings.warn(f"the end of the recording {self.path}: {trouble}", RuntimeWarning, stacklevel=2)

    def phase(self, name: str) -> Phase:
        """A phase of the job: `with r.phase("epoch"):`."""
        return self._marks.phase(name)

    def mark(self, name: Optional[str]) -> Optional[Phase]:
        """A phase begins, and the one that `mark` began before ends. `None` only ends it."""
        return self._marks.mark(name)

    def fom(self, name: Optional[str] = None, value: Optional[Number] = None, /, **figures: Number) -> None:
        """Figures of merit: `r.fom(loss=2.31)`, or `r.fom("loss", 2.31)`."""
        self._marks.fom(name, value, **figures)

    @property
    def recording(self) -> Recording:
        """The recording, also while it goes on."""
        from .recording import open

        if self.path is None:
            raise TachoError("nothing was recorded", "the warning at the start of the block says why")
        return open(self.path)

    def report(self) -> Dict[str, Any]:
        """The report, as docs/report.schema.json describes it."""
        return self.recording.report()

    def card(self) -> str:
        """The report card as text."""
        return self.recording.card()

    def table(self, name: str, **options: Any) -> Any:
        """A row for each sample, as `Recording.table`: `r.table("gpu")`, `r.table("gpu", frame="polars")`."""
        return self.recording.table(name, **options)

    def _start(self) -> None:
        options: List[str] = ["--format=json", f"--name={self.name}"]
        if self._folder is not None:
            options.append(f"--output={os.fspath(self._folder)}")
        if self._interval is not None:
            options.append(f"--interval={self._interval}")
        options += [f"--tag={key}:{value}" for key, value in self._tags.items()]
        if self._strict:
            options.append("--strict")
        # another program of this terminal may be recorded, too: a session of its own keeps them apart
        said = _run(["start", *options], session=True)
        try:
            path = os.path.abspath(json.loads(said.stdout)["recording"])
        except (ValueError, KeyError):
            raise TachoError(said.stderr.strip() or "tacho start said nothing") from None
        self._before = {variable: os.environ.get(variable) for variable in _VARIABLES}
        self.path = os.environ["TACHO_RECORDING"] = path
        with open(os.path.join(path, "job.json"), encoding="utf-8") as file:
            planned = json.load(file).get("marks_file")
        if planned is not None:
            os.environ["TACHO_MARKS"] = planned
        # whatever failed before, there is a recording now
        marks.close()


def _run(words: List[str], session: bool = False) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            [program(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=session,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise TachoError(f"cannot start tacho: {error.strerror}", "the variable TACHO may name another one") from None
    if done.returncode != 0:
        raise TachoError(done.stderr.strip() or f"tacho {words[0]} ended with {done.returncode}")
    return done


def _exit_code(error: Optional[BaseException]) -> int:
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        code = error.code
        return 0 if code is None else code & 255 if isinstance(code, int) else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1
