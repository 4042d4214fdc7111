"""Adaptive Classification for Prediction Under a Budget (NIPS 2017): what a gate saves in front of an accurate model.

``synthetic-1`` and ``synthetic-2`` are Figures 2 and 3, ``fresh`` the same on other draws. ``MODEL SET, METHOD`` are
Figures 4 and 5 and the savings of section 5: gates, Greedy Miser and BudgetPrune around a random forest or an RBF-SVM;
precision@5 on documents of Yahoo's shape, accuracy elsewhere. ``oracle gate`` is the characterisation of section 3,
``stages`` Remark 2; ``authors`` is what the authors' program was compared on. How methods are swept, chosen and
measured stands in ``adapt_2017_parts.py``. Run by ``benchmarks.papers.all``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from benchmarks.papers import adapt_2017_figures as figures
from benchmarks.papers import adapt_2017_page as page
from benchmarks.papers import authors
from benchmarks.papers.adapt_2017_parts import Existing, budget_forest, compare, forest, svm
from benchmarks.papers.adapt_2017_small import UNEVEN, oracle_gate, stages, synthetic_1, synthetic_2
from benchmarks.papers.frame import Experiment, Paper
from benchmarks.papers.sets import Problem, Shares, needs, problem

FRESH, ROWS = 100, 300
"""Seeds of the examples' fresh draws, and of the rows: nothing was chosen on this division."""
AGAIN = 301
"""Of the rows on which the oracle's gate was tried again, when its number of rounds was settled."""
FORTY = 100
"""Of the division on which gates of 40 rounds were looked at before all rounds were allowed."""
ROUNDS = 300
"""Of a gate at most, as many as its sweep was made for; validation rows prefer fewer or more."""
RIVALS = ("Greedy Miser", "BudgetPrune", "BudgetPrune, refitted")
LINEAR = ("ADAPT-LIN", "ADAPT-LIN, no refits", "L1 gate")


class Front(NamedTuple):
    """A set, the model that is there, and what is put in front of it."""

    name: str
    share: Shares
    model: str
    make: Callable[[Problem], Existing]
    methods: tuple[str, ...]
    trees: dict[str, dict[str, Any]]
    """Settings of a method's trees, beside those in ``adapt_2017_parts``."""


DOCUMENTS = (0.05, 0.1, 0.14)
"""Of Yahoo's documents; its queries for validation and test are to be many."""
SHALLOW = {method: {"max_depth": 3} for method in ("ADAPT-GBRT", "Greedy Miser")}
"""The depth of the authors' program, where hundreds of features make deeper trees slow."""
FRONTS = (
    Front("letters", 0.25, "RBF-SVM", partial(svm, C=1, gamma=1),
          ("ADAPT-GBRT", *LINEAR, "ADAPT-LSTSQ", *RIVALS[:2]), {}),
    Front("miniboone", 1.0, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *RIVALS), {}),
    Front("yahoo", DOCUMENTS, "BudgetRF", partial(budget_forest, n_trees=40), ("ADAPT-GBRT", *RIVALS[:2]), SHALLOW),
    Front("yahoo", DOCUMENTS, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", RIVALS[1]), SHALLOW),
    Front("forest", 0.05, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *RIVALS[:2]),
          {"ADAPT-GBRT": {"max_depth": 8}}),
    Front("letters", 0.25, "forest", partial(forest, n_trees=40), ("ADAPT-GBRT", *LINEAR, RIVALS[0]), {}),
    Front("cifar", (0.1, 0.3, 0.8), "RBF-SVM", partial(svm, C=3, gamma="scale"), ("ADAPT-GBRT", *RIVALS[:2]), SHALLOW),
)  # fmt: skip


def smaller(share: Shares, factor: float) -> Shares:
    """A part of a share."""
    if isinstance(share, float):
        return share * factor
    train, held, test = share
    return train * factor, held * factor, test * factor


class Asked:
    """Rows and existing model of a front, made once for neighbouring experiments."""

    kept: ClassVar[tuple[Any, tuple[Problem, Existing]] | None] = None

    @classmethod
    def of(
        cls, front: Front, given: argparse.Namespace, seed: int = ROWS
    ) -> tuple[Problem, Existing]:
        """Both of them."""
        key = (front.name, front.model, given.quick, seed)
        if cls.kept is None or cls.kept[0] != key:
            factor = 0.2 if given.quick and front.name != "miniboone" else 1.0
            p = problem(front.name, given, seed, smaller(front.share, factor))
            cls.kept = key, (p, front.make(p))
        return cls.kept[1]


def experiments(given: argparse.Namespace) -> Iterator[Experiment]:
    """All of them."""
    most = 20 if given.quick else ROUNDS
    yield Experiment("synthetic-1", synthetic_1)
    yield Experiment("synthetic-2", synthetic_2)
    yield Experiment("fresh synthetic-1", partial(synthetic_1, FRESH), {}, FRESH)
    yield Experiment("fresh synthetic-2", partial(synthetic_2, (UNEVEN,), FRESH), {}, FRESH)

    def one(front: Front, method: str, rounds: int = most, seed: int = ROWS) -> dict[str, Any]:
        trees = {"n_rounds": rounds if method == "ADAPT-GBRT" else 2 * rounds}
        trees |= front.trees.get(method, {})
        return compare(front.name, *Asked.of(front, given, seed), method, trees)

    def beside(work: Any, front: Front, rounds: int, seed: int) -> dict[str, Any]:
        return work(*Asked.of(front, given, seed), rounds)

    def settings(front: Front, method: str, rounds: int = most) -> dict[str, Any]:
        return {"share of the rows": front.share, "rounds": rounds, **front.trees.get(method, {})}

    for number, front in enumerate(FRONTS):
        wanted = needs(front.name, given)
        label = f"{front.model} {front.name}, "
        for method in front.methods:
            run = partial(one, front, method)
            yield Experiment(label + method, run, settings(front, method), ROWS, wanted)
        if number == 0:
            for name, work, rounds, seed in (
                ("oracle gate", oracle_gate, min(40, most), ROWS),
                ("stages", stages, most, ROWS),
                ("fresh oracle gate", oracle_gate, min(40, most), AGAIN),
            ):
                run = partial(beside, work, front, rounds, seed)
                yield Experiment(name, run, {"rounds": rounds}, seed)
    for front in FRONTS:
        gate, rounds = "ADAPT-GBRT", min(40, most)
        label = f"forty {front.model} {front.name}, {gate}"
        run = partial(one, front, gate, rounds, FORTY)
        yield Experiment(label, run, settings(front, gate, rounds), FORTY, needs(front.name, given))
    for name, method in (("letters", LINEAR[1]), ("letters", LINEAR[0]), ("sample", "ADAPT-GBRT")):
        run = partial(authors.gate, given, name, method)
        about, wanted = {"budget": authors.SPENT[name]}, () if name == "letters" else ("data",)
        yield Experiment(f"authors {name}, {method}", run, about, 0, wanted)


PAPER = Paper(
    "adapt_2017",
    "Adaptive Classification for Prediction Under a Budget (NIPS 2017)",
    "Letters, MiniBooNE (sample), Forest, CIFAR features, generated in Yahoo's shape",
    experiments,
    page.claims,
    page.text,
    figures.draw,
    "What is saved: reached where the model taken loses a point at most on test rows, a rule made after test figures "
    "of other divisions had been seen. Curves: mean over costs, running best for all alike, reached where no panel is "
    "below 0. Gates as trained are the paper's; **thresholds moved** and **support refits** are not.",
    {
        "Figure 1": "A drawing of the [method](../methods/adapt.md); its lower part is the oracle's gate, above.",
        "Figure 2": "Synthetic-1, above: pictures and accuracy.",
        "Figure 3": "Synthetic-2, above: clusters and curves.",
        "Figure 4": "Four panels; 4c with BudgetRF, whose costs are near the figure's axis, and with a plain forest.",
        "Figure 5": "Two panels, RBF-SVM and forest, with ADAPT-LSTSQ beside the SVM.",
        "Table 1": "Sizes and features of the sets: above each table, with the rows used here.",
    },
)
