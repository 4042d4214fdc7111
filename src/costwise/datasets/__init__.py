"""Small real data with real prices, generators with a known best policy, the papers' public sets.

Loaders (``load_*``) read files that come with the package. Generators (``make_*``) give the same
rows for the same seed. Fetchers (``fetch_*``) read a local folder and download only when told to.
Nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from costwise.datasets._papers import fetch_forest, fetch_miniboone, fetch_paper_set
    from costwise.datasets._priced import make_priced_classification, make_priced_regression
    from costwise.datasets._ranking import make_yahoo_like
    from costwise.datasets._scene import make_scene_like
    from costwise.datasets._shipped import (
        load_heart,
        load_ionosphere,
        load_letters,
        load_segmentation,
    )
    from costwise.datasets._svmlight import read_svmlight, write_svmlight
    from costwise.datasets._synthetic import make_quarter_bits, make_synthetic_1, make_synthetic_2

_HOME = {
    "fetch_forest": "_papers",
    "fetch_miniboone": "_papers",
    "fetch_paper_set": "_papers",
    "load_heart": "_shipped",
    "load_ionosphere": "_shipped",
    "load_letters": "_shipped",
    "load_segmentation": "_shipped",
    "make_priced_classification": "_priced",
    "make_priced_regression": "_priced",
    "make_quarter_bits": "_synthetic",
    "make_scene_like": "_scene",
    "make_synthetic_1": "_synthetic",
    "make_synthetic_2": "_synthetic",
    "make_yahoo_like": "_ranking",
    "read_svmlight": "_svmlight",
    "write_svmlight": "_svmlight",
}

__all__ = [
    "fetch_forest",
    "fetch_miniboone",
    "fetch_paper_set",
    "load_heart",
    "load_ionosphere",
    "load_letters",
    "load_segmentation",
    "make_priced_classification",
    "make_priced_regression",
    "make_quarter_bits",
    "make_scene_like",
    "make_synthetic_1",
    "make_synthetic_2",
    "make_yahoo_like",
    "read_svmlight",
    "write_svmlight",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"costwise.datasets.{_HOME[name]}"), name)
    raise AttributeError(f"module 'costwise.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
