"""The CSV files of workers: `worker_0.csv`, `worker_1.csv` and so on, with the columns of dask-metrics."""

from __future__ import annotations

import csv
import os
import re
import sys
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

Number = Union[int, float]
#: A cell: one value per device, or one value.
Values = List[Optional[Number]]

ALWAYS = ("job", "dag", "timestamp")
FILE = re.compile(r"(.+)_(\d+)\.csv")


def cell_text(cell: Any) -> str:
    """Values of devices joined; what is missing is empty."""
    if isinstance(cell, list):
        return ", ".join("" if value is None else str(value) for value in cell)
    return "" if cell is None else str(cell)


def write_csv(path: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """The file appears whole, or not at all."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        with open(temporary, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def read_csv(path: Union[str, "os.PathLike[str]"]) -> Dict[str, List[str]]:
    """The columns of a file."""
    # a cell of many long keys is longer than what is allowed otherwise
    csv.field_size_limit(sys.maxsize)
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        reader = csv.reader(file)
        header = next(reader, None)
        if header is None or [name for name in ALWAYS if name not in header]:
            raise ValueError(f"{os.fspath(path)} is not a file of a monitor: its first line has no job, dag and timestamp")
        columns: Dict[str, List[str]] = {name: [] for name in header}
        for row in reader:
            # a torn last line
            if len(row) != len(header):
                continue
            for name, cell in zip(header, row):
                columns[name].append(cell)
    return columns


def worker_files(folder: Union[str, "os.PathLike[str]"]) -> List[str]:
    """The files of a folder by the numbers of their workers: 2 before 10."""
    matching = [(int(match[2]), name) for name in os.listdir(folder) for match in [FILE.fullmatch(name)] if match]
    if not matching:
        raise FileNotFoundError(f"{os.fspath(folder)} has no files of workers (worker_0.csv): to_csv() writes them")
    return [os.path.join(folder, name) for _, name in sorted(matching)]


def values_of(cell: str) -> Values:
    """The numbers of a cell; an empty one has none."""
    if cell == "":
        return []
    return [None if word.strip() == "" else number(word) for word in cell.split(",")]


def number(word: str) -> Number:
    try:
        return int(word)
    except ValueError:
        return float(word)


def natural(name: str) -> Tuple[Any, ...]:
    """Sorts names as people do: w2 before w10."""
    return tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in re.split(r"(\d+)", name) if word)
