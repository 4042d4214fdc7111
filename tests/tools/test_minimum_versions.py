from __future__ import annotations

import pytest

from tools.minimum_versions import minimums

PROJECT = {
    "name": "shop",
    "dependencies": ["numpy>=1.26", "pyyaml>=6.0"],
    "optional-dependencies": {
        "plot": ["matplotlib>=3.8"],
        "dev": ["shop[plot]", "pytest>=8"],
        "any": ["ruff"],
        "below": ["ruff>=0.9,<1"],
    },
}


def test_extras_bring_the_extras_that_they_name():
    assert minimums(PROJECT, []) == {"numpy": "1.26", "pyyaml": "6.0"}
    assert minimums(PROJECT, ["dev"]) == {
        "matplotlib": "3.8", "numpy": "1.26", "pytest": "8", "pyyaml": "6.0",
    }  # fmt: skip


@pytest.mark.parametrize("extra", ["any", "below", "nope"])
def test_what_has_no_minimum_is_refused(extra):
    with pytest.raises(SystemExit, match=r"not in pyproject|name>=version"):
        minimums(PROJECT, [extra])
