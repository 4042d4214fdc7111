"""Models of other libraries inside our files, through skops: no pickle, types named by the user."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from worthwhile._messages import missing_package
from worthwhile.exceptions import BadModelFile

MOST_SCHEMA = 64 * 2**20


def dump(model: Any) -> bytes:
    """A foreign model as bytes that are the same each time."""
    return _stable(_skops().dumps(model))


def loader(trusted: Sequence[str]) -> Callable[[bytes], Any]:
    """A function that reads foreign models of types that skops or the user trusts."""

    def load(content: bytes) -> Any:
        skops = _skops()
        if unknown := sorted(set(skops.get_untrusted_types(data=content)) - set(trusted)):
            raise BadModelFile(
                f"the file holds objects of {', '.join(unknown)}, which are not known to be safe. If you trust the "
                f"file, load it with trusted={unknown!r}."
            )
        return skops.loads(content, trusted=list(trusted))

    return load


def unpacked_size(content: bytes) -> int:
    """Bytes that skops would read from a foreign part, each array as often as it is read.

    Nothing is built. Members that are packed are refused: they may hold more than they say, and
    :func:`dump` writes none.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if (
            any(member.compress_type != zipfile.ZIP_STORED for member in members)
            or sum(member.file_size for member in members) > len(content)
            or archive.getinfo("schema.json").file_size > MOST_SCHEMA
        ):
            raise BadModelFile("the model of another library in it is not as model files hold it.")
        sizes = {member.filename: _unpacked(archive.read(member)) for member in members}
        schema = json.loads(archive.read("schema.json"))
    total, seen = 0, set()
    for node in _reading(schema):
        known = (node["file"], node.get("__id__"))  # skops reads a node with an id once
        if known not in seen:
            total += sizes.get(node["file"], 0)
        if node.get("__id__"):
            seen.add(known)
    return total


def _unpacked(content: bytes) -> int:
    """Size of a member; sparse matrices are zip files of their own."""
    if not content.startswith(b"PK"):
        return len(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(member.file_size for member in archive.infolist())


def _reading(schema: Any) -> Iterator[dict[str, Any]]:
    """Nodes of skops' schema that read a member."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("file"), str):
                yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def refuse(content: bytes) -> Any:
    """Used where nothing foreign can be run."""
    raise BadModelFile(
        "the file holds a model of another library: read it with worthwhile.load(path, trusted=[...])."
    )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise missing_package(
            "models of other libraries are stored with", "skops", "files"
        ) from None
    return skops.io


def _stable(content: bytes) -> bytes:
    """Give skops' archive fixed dates and numbers: it names objects by memory address."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members.pop("schema.json").decode("utf-8")
    numbers: dict[str, str] = {}
    for address in re.findall(r'"__id__": (\d+)', schema):
        numbers.setdefault(address, str(len(numbers) + 1))
    renamed = re.sub(r'("__id__": )(\d+)', lambda m: m[1] + numbers[m[2]], schema)
    files = {name: f"{numbers.get(name.split('.')[0], name.split('.')[0])}.npy" for name in members}
    for old, new in files.items():
        renamed = renamed.replace(json.dumps(old), json.dumps(new))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in sorted(files, key=files.__getitem__):
            archive.writestr(zipfile.ZipInfo(files[name], (1980, 1, 1, 0, 0, 0)), members[name])
        archive.writestr(zipfile.ZipInfo("schema.json", (1980, 1, 1, 0, 0, 0)), renamed)
    return stream.getvalue()
