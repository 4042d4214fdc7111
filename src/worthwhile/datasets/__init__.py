"""Small real data with real prices, generators with a known best policy, the papers' public sets.

Loaders (``load_*``) read files that come with the package. Generators (``make_*``) give the same
rows for the same seed. Fetchers (``fetch_*``) read a local folder and download only when told to.
Nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worthwhile._lazy import lazy

if TYPE_CHECKING:
    from worthwhile.datasets._contexts import make_contexts
    from worthwhile.datasets._lender import make_lender
    from worthwhile.datasets._papers import fetch_forest, fetch_miniboone, fetch_paper_set
    from worthwhile.datasets._priced import make_priced_classification, make_priced_regression
    from worthwhile.datasets._ranking import make_yahoo_like
    from worthwhile.datasets._scene import make_scene_like
    from worthwhile.datasets._shipped import (
        load_heart,
        load_ionosphere,
        load_letters,
        load_segmentation,
    )
    from worthwhile.datasets._svmlight import read_svmlight, write_svmlight
    from worthwhile.datasets._synthetic import make_quarter_bits, make_synthetic_1, make_synthetic_2

_HOME = {
    "fetch_forest": "._papers",
    "fetch_miniboone": "._papers",
    "fetch_paper_set": "._papers",
    "load_heart": "._shipped",
    "load_ionosphere": "._shipped",
    "load_letters": "._shipped",
    "load_segmentation": "._shipped",
    "make_contexts": "._contexts",
    "make_lender": "._lender",
    "make_priced_classification": "._priced",
    "make_priced_regression": "._priced",
    "make_quarter_bits": "._synthetic",
    "make_scene_like": "._scene",
    "make_synthetic_1": "._synthetic",
    "make_synthetic_2": "._synthetic",
    "make_yahoo_like": "._ranking",
    "read_svmlight": "._svmlight",
    "write_svmlight": "._svmlight",
}

__all__ = [
    "fetch_forest",
    "fetch_miniboone",
    "fetch_paper_set",
    "load_heart",
    "load_ionosphere",
    "load_letters",
    "load_segmentation",
    "make_contexts",
    "make_lender",
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, _HOME)
