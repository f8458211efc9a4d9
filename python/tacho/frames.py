"""What the program prints, as frames of pandas or Polars."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from typing import IO, TYPE_CHECKING, Any, Collection, Dict, Iterable, Mapping, Sequence

if TYPE_CHECKING:
    import pandas


#: Only what is empty is missing: a program may well be called NA.
HOW: Dict[str, Any] = {"keep_default_na": False, "na_values": [""], "encoding": "utf-8"}


def with_pandas() -> Any:
    """The module, imported by the first frame: reports, cards and frames of Polars do not need it."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        how = "apt-get install python3-pandas, or pip install pandas"
        raise ModuleNotFoundError(f"frames of pandas need it: {how}", name=error.name) from None
    return pandas


def utc(microseconds: pandas.Series) -> pandas.Series:
    """Epoch microseconds as UTC times; missing ones as NaT. By way of whole numbers: floats would lose digits."""
    known = microseconds.notna()
    return with_pandas().to_datetime(microseconds.fillna(0).astype("int64"), unit="us", utc=True).where(known)


def long_frame(output: IO[bytes], texts: Iterable[str], times: Collection[str]) -> pandas.DataFrame:
    """A frame of CSV with one header row."""
    with output:
        frame = with_pandas().read_csv(output, dtype={name: str for name in texts}, **HOW)
    for name in times:
        if name in frame.columns:
            frame[name] = utc(frame[name])
    return frame


def polars_frame(output: IO[bytes], texts: Iterable[str], times: Collection[str], nodes: Any = None) -> Any:
    """The same as a frame of Polars; what is missing is null."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("frames of Polars need it: pip install polars", name=error.name) from None
    with output:
        dtypes = {name: polars.String for name in texts}
        frame = polars.read_csv(output.read(), schema_overrides=dtypes, infer_schema_length=None)
    present = [name for name in times if name in frame.columns]
    moments = [polars.from_epoch(polars.col(name), time_unit="us").dt.replace_time_zone("UTC") for name in present]
    frame = frame.with_columns(moments)
    return frame if nodes is None else frame.filter(polars.col("node").is_in(list(nodes)))


def wide_frame(output: IO[bytes]) -> pandas.DataFrame:
    """A frame of the wide layout: as many header rows as there are above the one that names the index."""
    pandas = with_pandas()
    with output:
        depth = 0
        for line in output:
            if line.startswith(b"time"):
                break
            depth += 1
        output.seek(0)
        frame = pandas.read_csv(output, header=list(range(depth)), index_col=0, **HOW)
    frame.index = pandas.DatetimeIndex(utc(frame.index.to_series()), name="time")
    return frame


def stored_frame(output: IO[bytes], columns: Iterable[Mapping[str, str]]) -> pandas.DataFrame:
    """A frame of a table in the database, whose columns are described; lists and objects become Python's own."""
    kinds = {column["name"]: column["type"] for column in columns}
    texts = [name for name, kind in kinds.items() if kind in ("text", "json", "truth")]
    frame = long_frame(output, texts, [name for name, kind in kinds.items() if kind == "time"])
    pandas = with_pandas()
    for name in frame.columns:
        if kinds[name] == "json":
            frame[name] = [None if pandas.isna(cell) else json.loads(cell) for cell in frame[name]]
        elif kinds[name] == "truth":
            frame[name] = frame[name].map({"t": True, "f": False})
    return frame


def records_frame(records: Iterable[Mapping[str, Any]], times: Collection[str]) -> pandas.DataFrame:
    """A frame of JSON objects."""
    frame = with_pandas().DataFrame.from_records(list(records))
    for name in times:
        if name in frame.columns:
            frame[name] = utc(frame[name])
    return frame


def rows_frame(rows: Iterable[Any], columns: Sequence[str], index: str) -> pandas.DataFrame:
    """A frame of rows that are at hand, one of its columns as index."""
    return with_pandas().DataFrame(rows, columns=list(columns)).set_index(index)


def moment(time: Any) -> Any:
    """A time as the command line takes it. Texts go as they are; times without a zone are UTC, as in every frame."""
    if time is None or isinstance(time, str):
        return time
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if type(time) is datetime:
        return (time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time).isoformat()
    stamp = with_pandas().Timestamp(time)
    return (stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp).isoformat()
