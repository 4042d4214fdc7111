"""Reading Parquet, Arrow and Feather files, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from worthwhile._messages import missing_package
from worthwhile.cli._csv import refuse_doubles

MARKS = {b"PAR1": "Parquet", b"ARRO": "Arrow", b"FEA1": "Feather"}
"""First bytes of the files."""
SUFFIXES = {
    ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow", ".arrows": "Arrow stream",
}  # fmt: skip


def kind_of(path: Path) -> str | None:
    """Which of these formats a file has, by its content, else by its name; None if none."""
    with path.open("rb") as file:
        found = MARKS.get(file.read(4))
    return found or SUFFIXES.get(path.suffix)


def read_arrow(path: Path, rows: int, kind: str) -> Iterator[pd.DataFrame]:
    """A file in parts of at most ``rows`` rows."""
    try:
        from pyarrow import ArrowException
    except ImportError:
        raise missing_package(f"{kind} files need", "pyarrow", "files") from None
    try:
        for batch in _batches(path, rows, kind):
            for start in range(0, max(batch.num_rows, 1), rows):
                yield _frame(batch.slice(start, rows))
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not {'an' if kind[0] == 'A' else 'a'} {kind} file that can be read "
            f"({str(error).strip(' .')}): write it again, or name it .csv if it is CSV."
        ) from None


def _batches(path: Path, rows: int, kind: str) -> Iterator[Any]:
    """Tables or batches of rows; refuses two columns of one name."""
    from pyarrow import feather, ipc, parquet

    if kind == "Parquet":
        file = parquet.ParquetFile(path)
        refuse_doubles(file.schema_arrow.names, path)
        yield from file.iter_batches(rows)
    elif kind == "Feather":  # of the first version, which cannot be read in parts
        yield feather.read_table(path)
    else:
        with path.open("rb") as source:
            reader = (ipc.open_stream if kind == "Arrow stream" else ipc.open_file)(source)
            refuse_doubles(reader.schema.names, path)
            if kind == "Arrow stream":
                yield from reader
            else:
                yield from map(reader.get_batch, range(reader.num_record_batches))


def _frame(batch: Any) -> pd.DataFrame:
    """As pandas has it; exact decimals become numbers, days are dates."""
    from pyarrow import types

    frame: pd.DataFrame = batch.to_pandas(date_as_object=False)
    for field in batch.schema:
        if types.is_decimal(field.type) and field.name in frame.columns:
            frame[field.name] = pd.to_numeric(frame[field.name])
    return frame
