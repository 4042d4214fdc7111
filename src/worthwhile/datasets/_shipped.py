"""Small real data sets that come with the package, with their prices."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from worthwhile.costs import Costs

__all__ = ["heart_costs", "load_heart", "load_ionosphere", "load_letters", "load_segmentation"]

LETTER_NAMES = (
    "x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar",
    "y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx",
)  # fmt: skip

SEGMENTATION_NAMES = (
    "region-centroid-col", "region-centroid-row", "region-pixel-count", "short-line-density-5",
    "short-line-density-2", "vedge-mean", "vedge-sd", "hedge-mean", "hedge-sd", "intensity-mean",
    "rawred-mean", "rawblue-mean", "rawgreen-mean", "exred-mean", "exblue-mean", "exgreen-mean",
    "value-mean", "saturation-mean", "hue-mean",
)  # fmt: skip

SEGMENTATION_CLASSES = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")

# Turney's discount prices: what a test costs once its group's fee has been paid.
HEART_PRICES = {
    "age": 1.00, "sex": 1.00, "cp": 1.00, "trestbps": 1.00, "chol": 5.17, "fbs": 3.10,
    "restecg": 15.50, "thalach": 1.00, "exang": 1.00, "oldpeak": 1.00, "slope": 1.00,
    "ca": 100.90, "thal": 1.00,
}  # fmt: skip

# Full price minus discount price, the same for each test of a group.
HEART_GROUPS: dict[str, dict[str, Any]] = {
    "blood": {"fee": 2.10, "features": ["chol", "fbs"]},
    "thallium": {"fee": 101.90, "features": ["thalach", "thal"]},
    "exercise": {"fee": 86.30, "features": ["exang", "oldpeak", "slope"]},
}

_UCI = """
Source: UCI Machine Learning Repository, {doi}, licence CC BY 4.0.
{authors}
Taken from {taken}.
"""

_HEART = """Heart disease, Cleveland clinic
===============================

297 patients with complete records, 13 medical tests, target 1 where the narrowing of a vessel was
found (num > 0: 137 patients) and 0 where not (160).

age (years), sex (1 male), cp (chest pain, 1 typical angina .. 4 none), trestbps (blood pressure at
rest), chol (cholesterol), fbs (fasting blood sugar > 120 mg/dl), restecg (electrocardiogram at
rest), thalach (maximum heart rate), exang (angina in exercise), oldpeak and slope (ST segment in
exercise), ca (vessels coloured by fluoroscopy), thal (thallium scan: 3 normal, 6 fixed defect,
7 reversible defect).

Prices, in Canadian dollars: P. D. Turney, JAIR 2 (1995), 369-409, after the Ontario fee schedule.
A test has a full price, and a lower one when another test of its group was ordered before. Here
the difference is the group's fee, paid once: blood 2.10 (chol, fbs), thallium 101.90 (thalach,
thal), exercise 86.30 (exang, oldpeak, slope). All thirteen tests together cost 323.97.
The names of the groups are ours (Turney: A, B, C).
""" + _UCI.format(
    doi="doi:10.24432/C52P4X",
    authors="A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano (1989); data of Robert Detrano, "
    "V.A. Medical Center, Long Beach and Cleveland Clinic Foundation.",
    taken="KEEL's copy, whose rows are in another order than UCI's",
)

_LETTERS = """Letter recognition
==================

20000 distorted images of capital letters in 20 fonts, 16 whole numbers from 0 to 15 that describe
each (position, size, moments, edges); target 0..25 for A..Z. Rows are in UCI's order, so the first
16000 and the last 4000 are the usual split. Every feature costs 1.
ADAPT (Nan and Saligrama, 2017) uses ``target >= 13`` (N to Z), rows 12000 / 4000 / 4000.
""" + _UCI.format(
    doi="doi:10.24432/C5ZP40",
    authors="D. J. Slate (1991).",
    taken="the R package mlbench",
)

_IONOSPHERE = """Ionosphere
==========

351 radar returns, 34 continuous values (17 pulses, a complex number each), target 1 where the
return is good, that is, shows structure in the ionosphere (225), 0 where not (126). The second
column (V2) is always 0. Rows are in UCI's order. Every feature costs 1.
""" + _UCI.format(
    doi="doi:10.24432/C5W01B",
    authors="V. Sigillito, S. Wing, L. Hutton, K. Baker (1989).",
    taken="the R package mlbench",
)

_SEGMENTATION = """Image segmentation
==================

2310 regions of 3 x 3 pixels from outdoor images, 19 values that describe each, 7 classes of 330
(brickface, sky, foliage, cement, window, path, grass). region-pixel-count is always 9.
UCI's training (210) and test (2100) files together. Every feature costs 1.
""" + _UCI.format(
    doi="doi:10.24432/C5GP4N",
    authors="Vision Group, University of Massachusetts (1990).",
    taken="KEEL's copy, whose rows are in another order than UCI's",
)


def _read(name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    file = resources.files("worthwhile.datasets") / "data" / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"].astype(np.int64)


def _bunch(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    costs: Costs,
    names: tuple[str, ...],
    classes: tuple[str, ...],
    text: str,
) -> Bunch:
    # Rows one after the other, as every estimator wants them; the files hold columns.
    frame = pd.DataFrame(np.ascontiguousarray(X), columns=list(names))
    return Bunch(
        data=frame,
        target=y,
        costs=costs,
        feature_names=list(names),
        target_names=list(classes),
        DESCR=text,
    )


def heart_costs() -> Costs:
    """Turney's prices of the thirteen heart tests, in Canadian dollars."""
    return Costs(HEART_PRICES, groups=HEART_GROUPS, unit="CAD")


def unit_costs(names: tuple[str, ...]) -> Costs:
    """Price 1 for every feature."""
    return Costs(dict.fromkeys(names, 1))


def load_heart() -> Bunch:
    """Heart disease of 297 patients, 13 medical tests with their published prices.

    Returns
    -------
    Bunch
        ``data`` (frame, 297 x 13), ``target`` (1 = disease), ``costs`` (:class:`worthwhile.Costs`
        in Canadian dollars, with three groups that share a fee), ``feature_names``,
        ``target_names``, ``DESCR`` (source, licence, meaning of the columns).

    Examples
    --------
    >>> from worthwhile.datasets import load_heart
    >>> heart = load_heart()
    >>> heart.data.shape, int(heart.target.sum())
    ((297, 13), 137)
    >>> heart.data.loc[0, ["age", "chol", "oldpeak"]].tolist()
    [63.0, 233.0, 2.3]
    """
    X, num = _read("heart")
    target = (num > 0).astype(np.int64)
    classes = ("no disease", "disease")
    return _bunch(X / 10, target, heart_costs(), tuple(HEART_PRICES), classes, _HEART)


def load_letters() -> Bunch:
    """Capital letters in images, 20000 rows of 16 whole numbers, in UCI's row order.

    Returns
    -------
    Bunch
        ``data`` (frame, 20000 x 16), ``target`` (0..25 for A..Z), ``costs`` (1 each),
        ``feature_names``, ``target_names``, ``DESCR`` (source, licence).

    Examples
    --------
    >>> from worthwhile.datasets import load_letters
    >>> letters = load_letters()
    >>> letters.data.shape, "".join(letters.target_names[k] for k in letters.target[:5])
    ((20000, 16), 'TIDNG')
    """
    X, y = _read("letters")
    classes = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    costs = unit_costs(LETTER_NAMES)
    return _bunch(X.astype(np.float64), y, costs, LETTER_NAMES, classes, _LETTERS)


def load_ionosphere() -> Bunch:
    """Radar returns from the ionosphere, 351 rows of 34 values, good or bad.

    Returns
    -------
    Bunch
        ``data`` (frame, 351 x 34; column ``V2`` is constant), ``target`` (1 = good), ``costs``
        (1 each), ``feature_names``, ``target_names``, ``DESCR`` (source, licence).

    Examples
    --------
    >>> from worthwhile.datasets import load_ionosphere
    >>> radar = load_ionosphere()
    >>> radar.data.shape, int(radar.target.sum()), radar.data["V2"].nunique()
    ((351, 34), 225, 1)
    """
    X, y = _read("ionosphere")
    names = tuple(f"V{k}" for k in range(1, X.shape[1] + 1))
    return _bunch(X / 1e5, y, unit_costs(names), names, ("bad", "good"), _IONOSPHERE)


def load_segmentation() -> Bunch:
    """Regions of outdoor images, 2310 rows of 19 values, 7 classes of equal size.

    Returns
    -------
    Bunch
        ``data`` (frame, 2310 x 19), ``target`` (0..6), ``costs`` (1 each), ``feature_names``,
        ``target_names``, ``DESCR`` (source, licence).

    Examples
    --------
    >>> from worthwhile.datasets import load_segmentation
    >>> regions = load_segmentation()
    >>> regions.data.shape, regions.target_names[regions.target[0]]
    ((2310, 19), 'path')
    """
    X, y = _read("segmentation")
    names = SEGMENTATION_NAMES
    costs = unit_costs(names)
    return _bunch(X.astype(np.float64), y, costs, names, SEGMENTATION_CLASSES, _SEGMENTATION)
