"""The `tacho` program: where it is, and how it is asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import IO, Any, Mapping, Optional, Sequence


class TachoError(Exception):
    """What the program said when it could not answer. `hint` says what to do, `exit_code` is 2 for wrong use."""

    def __init__(self, message: str, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def program() -> str:
    """The program's path: $TACHO, else that of the checkout or release which holds this package, else that in the path."""
    named = os.environ.get("TACHO")
    if named:
        return named
    beside = Path(__file__).resolve().parents[2] / "tacho"
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which("tacho")
    if found is None:
        raise TachoError("the program tacho was not found", "put it on the path, or its path into the variable TACHO")
    return found


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options as the command line has them; those that are None or False are left out, lists are given one by one."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        else:
            words += [f"{flag}={one}" for one in (value if isinstance(value, (list, tuple)) else [value])]
    return words


def answer(
    verb: Sequence[str],
    names: Sequence[str] = (),
    options: Optional[Mapping[str, Any]] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> IO[bytes]:
    """Asks the program; a file with its answer. What it says beside it becomes a warning, its errors a TachoError."""
    command = [program(), *verb, *flags(options or {}), *(["--", *names] if names else [])]
    # a file: an answer may be larger than what should be kept twice in memory
    output = tempfile.TemporaryFile()
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
    except OSError as error:
        output.close()
        raise TachoError(f"cannot start {command[0]}: {error.strerror}", "the variable TACHO may name another one") from None
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        output.close()
        raise _error(said, done.returncode)
    for line in said.splitlines():
        warnings.warn(line, stacklevel=4)
    output.seek(0)
    return output


def answer_text(*arguments: Any, **more: Any) -> str:
    """As `answer`, the text of it."""
    with answer(*arguments, **more) as output:
        return output.read().decode("utf-8")


def answer_json(*arguments: Any, **more: Any) -> Any:
    """As `answer`, what its JSON holds."""
    return json.loads(answer_text(*arguments, **more))


def _error(said: str, exit_code: int) -> TachoError:
    """The last message on stderr: lines so far in as its first word say what to do, the others what happened."""
    before = "tacho: "
    message: list[str] = []
    hint: list[str] = []
    for line in said.splitlines():
        if line.startswith(before):
            message, hint = [line[len(before) :]], []
        elif line.startswith(" " * len(before)):
            hint.append(line.strip())
        elif line and not hint:
            message.append(line)
    return TachoError("\n".join(message) or f"tacho ended with {exit_code}", "\n".join(hint), exit_code)
