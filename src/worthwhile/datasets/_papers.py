"""The public data sets of the papers: from a local folder, or downloaded when told to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from worthwhile.costs import Costs
from worthwhile.datasets._shipped import heart_costs

__all__ = ["fetch_forest", "fetch_miniboone", "fetch_paper_set"]

Arrays = dict[str, NDArray[Any]]
PathLike = str | os.PathLike[str]

PARTS = {"train": "train", "val": "validation", "test": "test"}
"""Ending of a key in a file, and what that part is called."""


@dataclass(frozen=True)
class PaperSet:
    """How one data set is found, checked and described."""

    file: str
    n_features: int
    text: str
    download: Callable[[], Arrays] | None = None
    instead: str = ""
    """What to do where there is no download."""
    costs: Callable[[], Costs] | None = None
    names: tuple[str, ...] = ()
    """Column names, where the file has none."""


def _forest() -> Arrays:
    from sklearn.datasets import fetch_covtype

    found = fetch_covtype(as_frame=True)
    return {
        "X": found.data.to_numpy(np.int16),
        "y": np.asarray(found.target, dtype=np.uint8),
        "feature_names": np.array(list(found.feature_names)),
    }


def _openml(**which: Any) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    from sklearn.datasets import fetch_openml

    found = fetch_openml(**which, as_frame=True, parser="auto")
    return found.data, np.asarray(found.target).astype(str)


def _miniboone() -> Arrays:
    X, y = _openml(name="MiniBooNE", version=1)
    signal = np.char.lower(y) == "true"
    return {"X": X.to_numpy(np.float32), "y": signal.astype(np.uint8)}


def _pima() -> Arrays:
    X, y = _openml(name="diabetes", version=1)
    return {"X": X.to_numpy(np.float32), "y": (y == "tested_positive").astype(np.uint8)}


def _usps() -> Arrays:
    X, y = _openml(data_id=41082)
    # OpenML numbers the digits from 1 and has pixels from -1 to 1; training rows come first.
    digit, pixels = y.astype(np.int64) - 1, (X.to_numpy(np.float32) + 1) / 2
    return {
        "X_train": pixels[:7291],
        "y_train": digit[:7291].astype(np.uint8),
        "X_test": pixels[7291:],
        "y_test": digit[7291:].astype(np.uint8),
    }


PIMA_NAMES = ("pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age")


def _pima_costs() -> Costs:
    prices = dict.fromkeys(PIMA_NAMES, 1.0) | {"glucose": 15.51, "insulin": 20.68}
    blood = {"fee": 2.10, "features": ["glucose", "insulin"]}
    return Costs(prices, groups={"blood": blood}, unit="CAD")


SETS: dict[str, PaperSet] = {
    "forest": PaperSet(
        "covtype.npz",
        54,
        "Forest cover types: 581012 patches of forest, 10 numbers, 4 wilderness areas and 40 soil "
        "types as indicators; classes 1 to 7. J. Blackard (1998), UCI doi:10.24432/C50K5N.",
        download=_forest,
    ),
    "miniboone": PaperSet(
        "miniboone.npz",
        50,
        "MiniBooNE: 130064 events of a neutrino experiment, 50 particle variables, target 1 for "
        "electron neutrinos; -999 marks a missing value. B. Roe (2005), UCI doi:10.24432/C5QC87.",
        download=_miniboone,
        names=tuple(f"particle_{k}" for k in range(50)),
    ),
    "miniboone_sample": PaperSet(
        "miniboone_sample.npz",
        50,
        "A balanced sample of MiniBooNE, 2000 / 1000 / 2000 rows, published with the code of the "
        "budgeted forests; -999 marks a missing value.",
        instead="fetch_miniboone(download=True) gives the whole set",
        names=tuple(f"particle_{k}" for k in range(50)),
    ),
    "letter": PaperSet(
        "letter.npz",
        16,
        "Letter recognition: 20000 images of capital letters, 16 whole numbers, classes 0..25.",
        instead="load_letters() gives the same rows from the package",
    ),
    "segmentation": PaperSet(
        "segmentation.npz",
        19,
        "Image segmentation: 210 training and 2100 test regions, 19 numbers, 7 classes.",
        instead="load_segmentation() gives the same rows from the package, in another order",
    ),
    "ionosphere": PaperSet(
        "ionosphere.npz",
        34,
        "Ionosphere: 351 radar returns, 34 numbers, 1 for good.",
        instead="load_ionosphere() gives the same rows from the package",
    ),
    "heart_cleveland": PaperSet(
        "heart_cleveland.npz",
        13,
        "Heart disease, Cleveland: 303 patients, 13 tests with published prices (CAD); NaN where "
        "a result is missing.",
        instead="load_heart() gives the 297 complete rows from the package",
        costs=heart_costs,
    ),
    "pima": PaperSet(
        "pima.npz",
        8,
        "Diabetes of Pima women: 768 patients, 8 tests with prices (CAD), target 1 for diabetes. "
        "Prices of P. Turney, second hand; that glucose and insulin share a fee is inferred.",
        download=_pima,
        costs=_pima_costs,
        names=PIMA_NAMES,
    ),
    "usps": PaperSet(
        "usps.npz",
        256,
        "USPS digits: 7291 training and 2007 test images of 16 x 16 pixels from 0 to 1.",
        download=_usps,
        names=tuple(f"pixel_{row:02d}_{col:02d}" for row in range(16) for col in range(16)),
    ),
    "cifar10_hog400": PaperSet(
        "cifar10_hog400.npz",
        400,
        "CIFAR-10 images, 50000 + 10000, as 400 numbers (gradient histograms, colours): not the "
        "features of the papers, so error figures cannot be compared with theirs.",
        instead="there is no public copy of these features",
    ),
    "mq2007_agg": PaperSet(
        "mq2007_agg.npz",
        21,
        "MQ2007 rank aggregation (LETOR 4.0): 69623 documents of 1692 queries, the ranks that 21 "
        "systems gave (0 = none), grades 0 to 2; part 1..5, fold 1 = 1-3 / 4 / 5.",
        instead="the publisher of LETOR 4.0 has it",
    ),
}


def fetch_paper_set(name: str, folder: PathLike | None = None, download: bool = False) -> Bunch:
    """Read one of the papers' public data sets, from a local folder first.

    ========================  ===========================  ==================================
    name                      file in ``folder``           with ``download=True``
    ========================  ===========================  ==================================
    ``forest``                ``covtype.npz``              scikit-learn's ``fetch_covtype``
    ``miniboone``             ``miniboone.npz``            OpenML
    ``miniboone_sample``      ``miniboone_sample.npz``     no
    ``letter``                ``letter.npz``               no: ``load_letters()``
    ``segmentation``          ``segmentation.npz``         no: ``load_segmentation()``
    ``ionosphere``            ``ionosphere.npz``           no: ``load_ionosphere()``
    ``heart_cleveland``       ``heart_cleveland.npz``      no: ``load_heart()``
    ``pima``                  ``pima.npz``                 OpenML
    ``usps``                  ``usps.npz``                 OpenML
    ``cifar10_hog400``        ``cifar10_hog400.npz``       no
    ``mq2007_agg``            ``mq2007_agg.npz``           no
    ========================  ===========================  ==================================

    A file is a numpy archive without pickle with ``X`` and ``y``, or ``X_train``, ``y_train``,
    ``X_test``, ``y_test`` (and ``X_val``, ``y_val``) where a split is published. It may have
    ``feature_names``, ``class_names``, and for ranking ``qid`` and ``part``.

    Parameters
    ----------
    name : str
        One of the names above.
    folder : path, optional
        Folder with the files. It comes first, also with ``download=True``.
    download : bool, default=False
        Whether to download what the folder does not have; scikit-learn keeps it in its own data
        folder. Nothing is ever downloaded without it.

    Returns
    -------
    Bunch
        ``data`` (frame, in the dtype of the file), ``target``, ``costs`` (published prices where
        there are any, else 1 each), ``feature_names``, ``target_names`` (None where not known),
        ``DESCR``; ``split`` ("train", "validation" or "test" for each row) where a split is
        published; ``qid`` and ``part`` for ranking.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from worthwhile.datasets import fetch_paper_set
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/pima.npz", X=np.zeros((5, 8)), y=np.arange(5) % 2)
    ...     pima = fetch_paper_set("pima", folder)
    >>> pima.data.shape, pima.costs.price(["glucose", "insulin"])
    ((5, 8), 38.29)
    """
    if name not in SETS:
        raise ValueError(f"name is {name!r}: the data sets are {', '.join(map(repr, SETS))}.")
    what = SETS[name]
    path = None if folder is None else Path(folder) / what.file
    if path is not None and path.is_file():
        source, arrays = str(path), _read(path)
    elif download and what.download is not None:
        source, arrays = "the download", what.download()
    else:
        raise FileNotFoundError(_advice(name, what, path, download))
    return _bunch(what, _joined(arrays, what, source))


def fetch_forest(folder: PathLike | None = None, download: bool = False) -> Bunch:
    """Read the forest cover types, 581012 x 54: ``fetch_paper_set("forest", ...)``.

    Parameters
    ----------
    folder : path, optional
        Folder with ``covtype.npz`` (keys ``X`` and ``y``).
    download : bool, default=False
        Whether scikit-learn may download it where the folder does not have it.

    Returns
    -------
    Bunch
        As :func:`fetch_paper_set`; every feature costs 1, classes are 1 to 7.

    Examples
    --------
    >>> from worthwhile.datasets import fetch_forest
    >>> fetch_forest()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError: no folder was given for 'forest': ...
    """
    return fetch_paper_set("forest", folder, download)


def fetch_miniboone(folder: PathLike | None = None, download: bool = False) -> Bunch:
    """Read MiniBooNE, 130064 x 50: ``fetch_paper_set("miniboone", ...)``.

    Used like :func:`fetch_forest`; the file is ``miniboone.npz``, the download comes from OpenML, and every
    feature costs 1.

    Examples
    --------
    >>> from worthwhile.datasets import fetch_miniboone
    >>> fetch_miniboone()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError: no folder was given for 'miniboone': ...
    """
    return fetch_paper_set("miniboone", folder, download)


def _advice(name: str, what: PaperSet, path: Path | None, download: bool) -> str:
    if path is None:
        problem, fix = f"no folder was given for {name!r}", f"pass folder= with {what.file} in it"
    else:
        problem, fix = f"there is no file {path} for {name!r}", f"put {what.file} there"
    if what.download is not None:
        return f"{problem}, and download is False: {fix}, or pass download=True."
    refused = " and it cannot be downloaded" if download else ""
    return f"{problem}{refused}: {fix}; {what.instead}."


def _read(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _joined(arrays: Arrays, what: PaperSet, source: str) -> Arrays:
    """One ``X`` and one ``y``; the parts of a published split one after the other."""
    keys = [key for key in PARTS if f"X_{key}" in arrays and f"y_{key}" in arrays]
    if keys:
        X = np.concatenate([arrays[f"X_{key}"] for key in keys])
        y = np.concatenate([arrays[f"y_{key}"] for key in keys])
        sizes = [len(arrays[f"y_{key}"]) for key in keys]
        arrays = arrays | {"X": X, "y": y}
        arrays["split"] = np.repeat([PARTS[key] for key in keys], sizes)
    if "X" not in arrays or "y" not in arrays:
        raise ValueError(
            f"{source} has the keys {sorted(arrays)}: it needs X and y, or X_train, y_train, "
            "X_test, y_test."
        )
    shape, rows = arrays["X"].shape, len(arrays["y"])
    if shape != (rows, what.n_features):
        raise ValueError(
            f"{source} has X of shape {shape} and {rows} targets: "
            f"X should have shape ({rows}, {what.n_features}). It is another data set."
        )
    return arrays


def _bunch(what: PaperSet, arrays: Arrays) -> Bunch:
    X = arrays["X"]
    found = [str(name) for name in arrays.get("feature_names", ())]
    names = found or list(what.names) or [f"x{k}" for k in range(X.shape[1])]
    classes = [str(name) for name in arrays["class_names"]] if "class_names" in arrays else None
    extra = {key: arrays[key] for key in ("split", "qid", "part") if key in arrays}
    return Bunch(
        data=pd.DataFrame(X, columns=names),
        target=arrays["y"].astype(np.int64),
        costs=what.costs() if what.costs else Costs(dict.fromkeys(names, 1)),
        feature_names=names,
        target_names=classes,
        DESCR=what.text,
        **extra,
    )
