"""The zip around a model file: written the same to the byte each time, read with suspicion."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._writing import write_whole
from worthwhile.exceptions import BadModelFile
from worthwhile.persist._foreign import unpacked_size

FORMAT = 2
"""Of the files written here; older ones are read too."""
MEMBER = re.compile(r"model\.json|arrays/\d{4,}\.npy|foreign/\d{4,}\.skops")
MOST_JSON = 64 * 2**20
KINDS = "biufU"  # dtypes that hold plain values


def write_archive(path: str | os.PathLike[str], members: dict[str, bytes]) -> None:
    """Write members in a fixed order with a fixed date; the file appears whole or not at all."""
    # In memory first: written straight into a pipe, a zip has other bytes than in a file.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name])
    write_whole(path, stream.getvalue())


def read_archive(path: str | os.PathLike[str], max_bytes: int) -> dict[str, bytes]:
    """Read all members, none of them larger than it says and all together within ``max_bytes``."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise BadModelFile("the file has two members of one name.")
        if strange := [name for name in names if not MEMBER.fullmatch(name)]:
            raise BadModelFile(
                f"the file has a member {strange[0][:80]!r}, which no model file has."
            )
        size = sum(info.file_size for info in infos)
        _check_size(size, max_bytes)
        if "model.json" not in names:
            raise BadModelFile("the file has no model.json: it is not a model file.")
        members = {}
        for info in infos:
            with archive.open(info) as member:
                content = member.read(info.file_size + 1)
            if len(content) != info.file_size:
                raise BadModelFile(f"member {info.filename} is not as long as it says.")
            members[info.filename] = content
            if info.filename.startswith("foreign/"):
                size += max(unpacked_size(content) - len(content), 0)
                _check_size(size, max_bytes)
    return members


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise BadModelFile(
            f"the file unpacks to {size / 2**20:,.0f} MB, more than the {max_bytes / 2**20:,.0f} MB allowed: "
            "if you trust it, pass a larger max_bytes."
        )


def write_array(array: npt.NDArray[Any]) -> bytes:
    """An array in numpy's own format, little-endian and in C order."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def read_array(content: bytes, name: str) -> npt.NDArray[Any]:
    """Read an array; nothing is allocated before its header agrees with the bytes that follow."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise BadModelFile(f"{name} is not an array of numpy's format 1.0.")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if (
        dtype.kind not in KINDS
        or dtype.hasobject
        or dtype.itemsize == 0
        or fortran
        or dtype.byteorder == ">"
    ):
        raise BadModelFile(
            f"{name} has the dtype {dtype}: model files hold plain numbers and text."
        )
    count = 1
    for length in shape:
        if length < 0:
            raise BadModelFile(f"{name} has the shape {shape}.")
        count *= length
    data = content[stream.tell() :]
    if count * dtype.itemsize != len(data):
        raise BadModelFile(f"{name} says shape {shape} of {dtype} but has {len(data)} bytes.")
    # A copy: compiled kernels want aligned, writable memory.
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def read_json(content: bytes) -> Any:
    """Read JSON without NaN, doubled keys or endless size."""
    if len(content) > MOST_JSON:
        raise BadModelFile(f"model.json has {len(content)} bytes: it has at most {MOST_JSON}.")

    def refuse(constant: str) -> Any:
        raise BadModelFile(f"model.json holds {constant}, which is not JSON.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise BadModelFile("model.json has a key twice in one object.")
        return result

    return json.loads(content.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)


def write_json(value: Any) -> bytes:
    """Write JSON with a fixed layout."""
    return json.dumps(value, allow_nan=False, sort_keys=True, indent=1, ensure_ascii=False).encode(
        "utf-8"
    )
