"""Functions of `on_cluster.py`, as they are sent to a cluster: by their text, whatever is installed there."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=None)
def source() -> str:
    with open(os.path.join(os.path.dirname(__file__), "on_cluster.py"), encoding="utf-8") as file:
        return file.read()


def remote(name: str) -> Any:
    """The function of that name, for `Client.run` and `Client.run_on_scheduler`."""
    from .on_cluster import Remote

    return Remote(source(), name)
