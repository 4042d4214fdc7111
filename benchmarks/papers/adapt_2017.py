"""Adaptive Classification for Prediction Under a Budget (NIPS 2017): what a gate saves in front of an accurate model.

``synthetic-1`` and ``synthetic-2`` are Figures 2 and 3. ``MODEL SET, METHOD`` are Figures 4 and 5 and the savings of
section 5: gates, Greedy Miser and BudgetPrune around a random forest or an RBF-SVM; precision@5 on documents of Yahoo's
shape, accuracy elsewhere. ``oracle gate`` is the characterisation of section 3, ``stages`` Remark 2. How methods are
swept, chosen and measured stands in ``adapt_2017_parts.py``. Run by ``benchmarks.papers.all``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from benchmarks.papers import adapt_2017_page as page
from benchmarks.papers.adapt_2017_parts import Existing, compare, forest, svm
from benchmarks.papers.adapt_2017_small import oracle_gate, stages, synthetic_1, synthetic_2
from benchmarks.papers.frame import Experiment, Paper
from benchmarks.papers.sets import Problem, problem

FRESH = 100
"""Seed of the rows: no rule, depth or rate was chosen on this division."""
RIVALS = ("Greedy Miser", "BudgetPrune", "BudgetPrune, refitted")
LINEAR = ("ADAPT-LIN", "ADAPT-LIN, no refits", "L1 gate")


class Front(NamedTuple):
    """A set, the model that is there, and what is put in front of it."""

    name: str
    share: float
    """Of the paper's rows."""
    model: str
    make: Callable[[Problem], Existing]
    methods: tuple[str, ...]
    trees: dict[str, Any]
    """Of ADAPT-GBRT, beside its defaults."""


FRONTS = (
    Front("letters", 0.25, "RBF-SVM", partial(svm, C=1, gamma=1),
          ("ADAPT-GBRT", *LINEAR, "ADAPT-LSTSQ", *RIVALS[:2]), {}),
    Front("miniboone", 1.0, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *RIVALS), {}),
    Front("yahoo", 0.014, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *RIVALS[:2]), {}),
    Front("forest", 0.05, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *RIVALS[:2]), {"max_depth": 8}),
    Front("letters", 0.25, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *LINEAR, RIVALS[0]), {}),
    Front("cifar", 0.08, "RBF-SVM", partial(svm, C=3, gamma="scale"), ("ADAPT-GBRT", *RIVALS[:2]), {}),
)  # fmt: skip


class Asked:
    """Rows and existing model of a front, made once for neighbouring experiments."""

    kept: ClassVar[tuple[Any, tuple[Problem, Existing]] | None] = None

    @classmethod
    def of(cls, front: Front, given: argparse.Namespace) -> tuple[Problem, Existing]:
        """Both of them."""
        key = (front.name, front.model, given.quick)
        if cls.kept is None or cls.kept[0] != key:
            share = front.share * (1 if front.name == "miniboone" else 0.2 if given.quick else 1)
            p = problem(front.name, given, FRESH, share)
            cls.kept = key, (p, front.make(p))
        return cls.kept[1]


def experiments(given: argparse.Namespace) -> Iterator[Experiment]:
    """All of them."""
    rounds = 20 if given.quick else 40
    yield Experiment("synthetic-1", synthetic_1)
    yield Experiment("synthetic-2", synthetic_2)

    def one(front: Front, method: str) -> dict[str, Any]:
        trees = {"n_rounds": rounds if method == "ADAPT-GBRT" else 2 * rounds}
        trees |= front.trees if method == "ADAPT-GBRT" else {}
        return compare(front.name, *Asked.of(front, given), method, trees)

    def beside(work: Any, front: Front) -> dict[str, Any]:
        return work(*Asked.of(front, given))

    for number, front in enumerate(FRONTS):
        needs = () if front.name in ("letters", "yahoo") else ("data",)
        settings = {"share of the rows": front.share, "rounds": rounds, **front.trees}
        for method in front.methods:
            label = f"{front.model} {front.name}, {method}"
            yield Experiment(label, partial(one, front, method), settings, FRESH, needs)
        if number == 0:
            for name, work in (("oracle gate", oracle_gate), ("stages", stages)):
                yield Experiment(name, partial(beside, work, front), {}, FRESH)


PAPER = Paper(
    "adapt_2017",
    "Adaptive Classification for Prediction Under a Budget (NIPS 2017)",
    "Letters, MiniBooNE (sample), Forest, CIFAR features, generated in Yahoo's shape",
    experiments,
    page.claims,
    page.text,
    page.draw,
)
