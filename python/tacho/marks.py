"""Phases and figures of merit, written by the program itself: a line appended to a file, in microseconds.

    import tacho
    tacho.mark("load")                 # a phase begins …
    tacho.mark("train")                # … and ends where the next one begins
    with tacho.phase("validate"):      # phases may lie inside each other
        tacho.fom(loss=2.31)
"""

from __future__ import annotations

import atexit
import math
import os
import socket
import threading
import time
import warnings
from pathlib import Path
from typing import Callable, Optional, Union

from .program import TachoError, answer_text

Number = Union[int, float]

#: Whole numbers beyond this are not kept exactly by 64 bits.
_MOST_EXACT = 2**53


class Phase:
    """A phase that has begun: `with phase:` or `phase.end()` ends it."""

    def __init__(self, marks: Marks, name: str) -> None:
        self.name = name
        self._marks = marks
        self._open = True

    def end(self) -> None:
        """Ends the phase; the second call does nothing."""
        if self._open:
            self._open = False
            self._marks.write("end", self.name)

    def __enter__(self) -> Phase:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Marks:
    """The file that marks of this program go to. Nothing here ever stops the program: what fails is a warning, once."""

    def __init__(self, find: Callable[[], Optional[str]]) -> None:
        self._find = find
        self._fd = -1
        self._pid = -1
        self._failed = False
        self._lock = threading.Lock()
        self._times = threading.Lock()
        self._last = 0
        self._current: Optional[Phase] = None

    def phase(self, name: str) -> Phase:
        """Begins a phase."""
        self.write("begin", name)
        return Phase(self, str(name))

    def mark(self, name: Optional[str]) -> Optional[Phase]:
        """A phase begins, and the one that `mark` began before ends. `None` only ends it."""
        if self._current is not None:
            self._current.end()
        self._current = None if name is None else self.phase(name)
        return self._current

    def fom(self, name: Optional[str] = None, value: Optional[Number] = None, /, **figures: Number) -> None:
        """Figures of merit: `fom("loss", 2.31)` or `fom(loss=2.31, tokens_per_second=51200)`."""
        given = list(figures.items())
        if name is not None:
            if value is None:
                raise TypeError(f'the figure "{name}" has no value')
            given.insert(0, (name, value))
        for each, number in given:
            self.write("fom", each, _figure(each, number))

    def write(self, action: str, name: str, value: str = "") -> None:
        """Appends one line with one write: other processes and threads may do so at the same time."""
        pid = os.getpid()
        if pid != self._pid and not self._open(pid):
            return
        rest = f"{action},{_cell(str(name))},{value},{pid}\n"
        with self._times:
            # equal rows of one moment would be taken for one
            self._last = max(time.time_ns() // 1000, self._last + 1)
            line = f"{self._last},{rest}"
        try:
            os.write(self._fd, line.encode("utf-8", "replace"))
        except OSError as error:
            self._fail(f"a mark could not be written: {error.strerror}")

    def close(self) -> None:
        """Ends what `mark` began. The next mark looks for a recording again."""
        if self._pid == os.getpid() and self._current is not None:
            self._current.end()
        self._current = None
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd, self._pid, self._failed = -1, -1, False

    def _open(self, pid: int) -> bool:
        with self._lock:
            if self._pid == pid:
                return True
            if self._failed:
                return False
            # a child of fork goes on with the file of its parent
            if self._fd < 0:
                try:
                    file = self._find()
                    if file is None:
                        self._fail("nothing is being recorded here: marks are not kept; tacho run or tacho.record() records")
                        return False
                    self._fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                except (OSError, TachoError) as error:
                    self._fail(f"marks are not kept: {error}")
                    return False
            self._pid = pid
            return True

    def _fail(self, why: str) -> None:
        if not self._failed:
            self._failed = True
            warnings.warn(why, RuntimeWarning, stacklevel=5)


def _cell(text: str) -> str:
    """As CSV has it. Lines must stay lines."""
    if "\n" in text or "\r" in text:
        text = " ".join(text.split())
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _figure(name: str, value: Number) -> str:
    # numbers of NumPy
    item = getattr(value, "item", None)
    number = value if item is None else item()
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f'the figure "{name}" is {type(value).__name__}, not a number')
    if not math.isfinite(number):
        raise ValueError(f'the figure "{name}" is {number}, which is not a number that can be kept')
    if isinstance(number, int) and abs(number) > _MOST_EXACT and int(float(number)) != number:
        raise ValueError(f'the figure "{name}" has more digits than can be kept: {number}')
    return repr(number)


def running_marks() -> Optional[str]:
    """The file for marks of the recording that goes on around this program; None: there is none."""
    named = os.environ.get("TACHO_MARKS")
    if named and os.path.exists(named):
        return named
    recording = os.environ.get("TACHO_RECORDING")
    if recording:
        node = os.environ.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]
        here = Path(recording) / f"node={node}" / "marker.csv"
        if here.exists():
            return str(here)
    return ask_marks()


def ask_marks() -> Optional[str]:
    """As the program finds it: by the job or session that this is. It starts the program, once."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer_text(["mark", "file"]).strip()
    except TachoError:
        return None
    return found or None


marks = Marks(running_marks)
atexit.register(marks.close)


def mark(name: Optional[str]) -> Optional[Phase]:
    """A phase of the job begins, and the one that `mark` began before ends. `mark(None)` only ends it."""
    return marks.mark(name)


def phase(name: str) -> Phase:
    """A phase as a context manager: `with tacho.phase("epoch"):`."""
    return marks.phase(name)


def fom(name: Optional[str] = None, value: Optional[Number] = None, /, **figures: Number) -> None:
    """Figures of merit of the job: `tacho.fom(loss=2.31)`, or `tacho.fom("loss", 2.31)`."""
    marks.fom(name, value, **figures)
