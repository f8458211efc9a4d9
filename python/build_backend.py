"""Builds the package with nothing but Python: pip needs neither a network nor another package for it (PEP 517, PEP 660)."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import re
import tarfile
import zipfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("tacho", os.path.join("tacho", "dask"))
MODULES = ("dask_metrics.py",)


def project() -> Dict[str, Dict[str, Any]]:
    """The tables of pyproject.toml whose values are texts and lists, one to a line: these are literals of Python, too."""
    tables: Dict[str, Dict[str, Any]] = {}
    table: Dict[str, Any] = {}
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        for line in file:
            section = re.fullmatch(r"\[(.+)\]\n", line)
            if section:
                table = tables.setdefault(section[1], {})
            pair = re.fullmatch(r'([\w-]+) = (["\[].*)\n', line)
            if pair:
                table[pair[1]] = ast.literal_eval(pair[2])
    return tables


def metadata() -> str:
    tables = project()
    about = tables["project"]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {about['name']}",
        f"Version: {about['version']}",
        f"Summary: {about['description']}",
        f"Requires-Python: {about['requires-python']}",
        *(f"Requires-Dist: {each}" for each in about["dependencies"]),
    ]
    for extra, wanted in tables["project.optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {each} ; extra == '{extra}'" for each in wanted]
    with open(os.path.join(HERE, about["readme"]), encoding="utf-8") as file:
        return "\n".join([*lines, "Description-Content-Type: text/markdown", "", file.read()])


def sources() -> Iterator[str]:
    yield from MODULES
    for package in PACKAGES:
        for name in sorted(os.listdir(os.path.join(HERE, package))):
            if name.endswith(".py") or name == "py.typed":
                yield os.path.join(package, name)


def stem() -> str:
    about = project()["project"]
    return f"{about['name']}-{about['version']}"


def write_wheel(directory: str, files: List[Tuple[str, bytes]]) -> str:
    info = f"{stem()}.dist-info"
    tags = "Wheel-Version: 1.0\nGenerator: tacho\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = [*files, (f"{info}/METADATA", metadata().encode()), (f"{info}/WHEEL", tags.encode())]
    name = f"{stem()}-py3-none-any.whl"
    record = ""
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(content)}\n"
            wheel.writestr(path, content)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return name


def build_wheel(directory: str, settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    files = []
    for path in sources():
        with open(os.path.join(HERE, path), "rb") as file:
            files.append((path, file.read()))
    return write_wheel(directory, files)


def build_editable(directory: str, settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return write_wheel(directory, [("tacho.pth", f"{HERE}\n".encode())])


def build_sdist(directory: str, settings: Any = None) -> str:
    name = f"{stem()}.tar.gz"
    with tarfile.open(os.path.join(directory, name), "w:gz") as archive:
        for path in ["pyproject.toml", "README.md", os.path.basename(__file__), *sources()]:
            archive.add(os.path.join(HERE, path), f"{stem()}/{path}")
    return name
