"""An ordinary recording of a cluster, made by the program: `tacho dask attach`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Dict, IO, List, Optional, Sequence, Union

from ..program import TachoError, answer_json, program
from .custom import CustomMetric

if TYPE_CHECKING:
    from ..recording import Recording

Path = Union[str, "os.PathLike[str]"]
#: The program gives up earlier where it cannot connect.
_STOP_SECONDS = 60


class ClusterRecorder:
    """Records a cluster while the block runs: tasks, graphs, workers, GPUs and the hardware of this node."""

    def __init__(
        self,
        client: Any,
        folder: Optional[Path],
        tracking: Sequence[str],
        custom_metrics: Sequence[CustomMetric],
        job_type: str,
        polling_interval: Union[int, float],
    ) -> None:
        #: The recording's folder, once it has begun.
        self.path: Optional[str] = None
        self._address: str = client.scheduler.address
        self._words: List[str] = [
            "--format=json",
            f"--tracking={','.join(tracking)}",
            f"--interval={polling_interval}ms",
            f"--job-type={job_type}",
        ]
        if folder is not None:
            self._words.append(f"--output={os.fspath(folder)}")
        self._words += _certificates(client)
        self._custom = list(custom_metrics)
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._said: Optional[IO[bytes]] = None
        self._metrics: Optional[str] = None

    def __enter__(self) -> ClusterRecorder:
        if not self._address.startswith(("tcp://", "tls://")):
            raise TachoError(
                f"a cluster at {self._address} is inside of its Python program, where tacho cannot connect",
                "use processes=True, or Monitor.attach()",
            )
        words = [*self._words]
        if self._custom:
            self._metrics = _metrics_file(self._custom)
            words.append(f"--custom={self._metrics}")
        self._said = tempfile.TemporaryFile()
        try:
            process = subprocess.Popen(
                [program(), "dask", "attach", *words, "--", self._address],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._said,
                # Ctrl-C is for the program; it ends the block, and the block ends this
                start_new_session=True,
            )
        except OSError as error:
            self._forget()
            raise TachoError(f"cannot start tacho: {error.strerror}", "the variable TACHO may name another one") from None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            told = self._errors()
            self._forget()
            raise TachoError(told or f"tacho dask attach ended with {process.returncode}")
        self._process = process
        self.path = os.path.abspath(json.loads(line)["recording"])
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        try:
            self._ask("detach")
        except TachoError:
            # it has ended by itself: the cluster has gone
            process.send_signal(signal.SIGTERM)
        self._process = None
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            warnings.warn(f"the end of the recording {self.path} is missing", RuntimeWarning, stacklevel=2)
        if process.stdout is not None:
            process.stdout.close()
        for line in self._errors().splitlines():
            warnings.warn(line, RuntimeWarning, stacklevel=2)
        self._forget()

    def new_job(self, job: Optional[int] = None) -> int:
        """The next job begins, or the one with this number; with `job_type="manual"`."""
        number: int = self._ask("new-job", job=job)["job"]
        return number

    def start(self) -> None:
        """Goes on, after `stop`."""
        self._ask("start")

    def stop(self) -> None:
        """Pauses, once everything until now is written."""
        self._ask("stop")

    def status(self) -> Dict[str, Any]:
        """What it has recorded so far, and what it could not."""
        return self._ask("status")

    @property
    def recording(self) -> Recording:
        """The recording, also while it goes on."""
        from ..recording import open as open_recording

        if self.path is None:
            raise TachoError("nothing was recorded")
        return open_recording(self.path)

    def report(self) -> Dict[str, Any]:
        """The report, as docs/report.schema.json describes it."""
        return self.recording.report()

    def table(self, name: str, **options: Any) -> Any:
        """A table as a frame: `r.table("dask_task")`, `r.table("dask_worker")`, `r.table("dask_gpu")`."""
        return self.recording.table(name, **options)

    def _ask(self, request: str, **options: Any) -> Dict[str, Any]:
        if self._process is None or self.path is None:
            raise TachoError("the cluster is not being recorded")
        said: Dict[str, Any] = answer_json(["dask", request], [self.path], {**options, "format": "json"})
        return said

    def _errors(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        text = self._said.read().decode("utf-8", "replace").strip()
        return "\n".join(line[len("tacho: ") :] if line.startswith("tacho: ") else line for line in text.splitlines())

    def _forget(self) -> None:
        if self._said is not None:
            self._said.close()
            self._said = None
        if self._metrics is not None:
            os.unlink(self._metrics)
            self._metrics = None


def _certificates(client: Any) -> List[str]:
    security = getattr(client, "security", None)
    files = {"tls-ca": "tls_ca_file", "tls-cert": "tls_client_cert", "tls-key": "tls_client_key"}
    given = {flag: getattr(security, name, None) for flag, name in files.items()}
    return [f"--{flag}={file}" for flag, file in given.items() if isinstance(file, str) and os.path.exists(file)]


def _metrics_file(metrics: Sequence[CustomMetric]) -> str:
    """A file for --custom that makes the same functions on the workers."""
    import cloudpickle

    lines = ["import pickle", "from tacho.dask import custom_metric"]
    for metric in metrics:
        function = f"pickle.loads({cloudpickle.dumps(metric.function)!r})"
        lines.append(f"custom_metric({metric.name!r}, {metric.per_device!r})({function})")
    descriptor, path = tempfile.mkstemp(suffix=".py", prefix="tacho-metrics-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path
