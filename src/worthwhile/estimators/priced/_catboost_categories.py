"""Splits of CatBoost by categories: what they do is asked of the model itself.

CatBoost keeps of a category the hash of its text, and splits by numbers that it makes of one or several
categories (target statistics). What comes out is a function of the values of a few columns. So the
model is given every combination of their values, and tells by the leaves that it comes to on which side of
which split each of them lies: exact, whatever the statistics are.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Column, Columns, is_frame
from worthwhile.costs import Costs
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Policy
from worthwhile.policy.front import UNSEEN, Front, fed_costs
from worthwhile.policy.pipeline import PipelinePolicy

MOST_CELLS = 200_000
"""Combinations of values that are tried for a split."""

EMPTY = "nan"
"""What CatBoost's users write for an empty category: it takes text alone."""


FREE = str(2**64 - 1)
"""Stands in CatBoost's tables where no category does."""


class Test(NamedTuple):
    """What a node asks: whether a value is at most a threshold, or a code in a set."""

    feature: int
    threshold: float
    missing_left: bool
    category: bool = False


def category_columns(model: Any, costs: Costs, sample: Any) -> Columns | None:
    """What the columns of a model with categories are, by some rows; None where it has no categories."""
    places = [int(place) for place in model.get_cat_feature_indices()]
    if not places:
        return None
    name = costs.name(places[0])
    if sample is None:
        raise ValueError(
            f"model reads feature {name!r} as a category, and CatBoost keeps hashes of categories, not their text: "
            "give PricedModel rows that have all of them, background=X."
        )
    names = costs.feature_names
    if is_frame(sample) and names is not None:
        sample = sample[list(names)]
    labels = places if names is None else [names[place] for place in places]
    found = Columns.learn(sample, categorical=labels)
    assert found is not None
    columns = [found[c] for c in range(len(found))]
    for place in places:
        levels = columns[place].levels
        if columns[place].other:
            raise ValueError(
                f"column {costs.name(place)!r} has more than {len(levels)} categories: at most that many can be "
                "priced. Put rare ones together."
            )
        columns[place] = Column("category", levels, other=True)
    return Columns(columns)


class CategorySplits:
    """The splits of one model that read categories.

    Parameters
    ----------
    model : CatBoost
        The model.
    info : dict
        ``features_info`` of its JSON.
    columns : Columns
        What its columns are.
    costs : Costs
        Their prices.
    """

    def __init__(self, model: Any, info: dict[str, Any], columns: Columns, costs: Costs) -> None:
        self._model, self._columns, self._costs = model, columns, costs
        place = [int(feature["flat_feature_index"]) for feature in info["categorical_features"]]
        counts = [len(feature["borders"] or ()) for feature in info.get("float_features", ())]
        counts += [len(feature.get("values") or ()) for feature in info["categorical_features"]]
        self._place = place
        # Splits are numbered in this order: borders of numbers, values of categories, borders of statistics.
        self._first = sum(counts)
        self._statistics: list[dict[str, Any]] = info.get("ctrs") or []
        self._statistic = [k for k, ctr in enumerate(self._statistics) for _ in ctr["borders"]]
        self._sources = [self._sources_of(ctr) for ctr in self._statistics]
        self._leaves: dict[tuple[int, ...], npt.NDArray[Any]] = {}
        self.sets: list[list[int]] = []
        self._tables: list[tuple[tuple[int, ...], npt.NDArray[np.float64]]] = []

    def check(self, data: dict[str, Any]) -> None:
        """Refuse a sample that lacks values which the statistics (``ctr_data`` of the JSON) know."""
        for statistic, sources in zip(self._statistics, self._sources, strict=True):
            stored = data.get(statistic["identifier"])
            if sources is None or len(sources) > 1 or stored is None:
                continue
            known = [k for k in stored["hash_map"][:: stored["hash_stride"]] if str(k) != FREE]
            if len(known) > len(levels := self._columns[sources[0]].levels):
                raise ValueError(
                    f"background has {len(levels)} of the {len(known)} categories of {self._costs.name(sources[0])!r} "
                    "that the model knows: give rows that have all of them."
                )

    def _sources_of(self, statistic: dict[str, Any]) -> tuple[int, ...] | None:
        """Columns that a statistic is made of; None where numbers are among them."""
        elements = statistic["elements"]
        if any("cat_feature_index" not in element for element in elements):
            return None
        return tuple(sorted({self._place[element["cat_feature_index"]] for element in elements}))

    def _of(self, split: dict[str, Any]) -> tuple[int, ...] | None:
        """The columns of categories that a split reads."""
        if split["split_type"] == "OneHotFeature":
            return (self._place[split["cat_feature_index"]],)
        return self._sources[self._statistic[split["split_index"] - self._first]]

    def are_readable(self, dump: dict[str, Any]) -> bool:
        """Whether all splits can be tried out; says so once where not."""
        reason = None
        if "oblivious_trees" not in dump:
            reason = "its trees are not symmetric"
        else:
            found = {
                self._of(split)
                for tree in dump["oblivious_trees"]
                for split in tree["splits"] or ()
                if split["split_type"] != "FloatFeature"
            }
            if None in found:
                reason = "it combines categories with numbers (max_ctr_complexity=1 does not)"
            elif any(self._cells(sources) > MOST_CELLS for sources in found if sources):
                reason = f"it combines categories in more than {MOST_CELLS:,} ways"
        if reason is not None:
            warnings.warn(
                f"the categories of this CatBoost model cannot be followed, since {reason}: it is billed whole.",
                WorthwhileWarning,
                stacklevel=2,
            )
        return reason is None

    def _cells(self, sources: tuple[int, ...]) -> int:
        return math.prod(len(self._words(source)) for source in sources)

    def _words(self, source: int) -> list[Any]:
        """Values of a column by code: the levels, something new, and nothing."""
        return [*self._columns[source].levels, UNSEEN, EMPTY]

    def _tried(self, sources: tuple[int, ...]) -> npt.NDArray[Any]:
        """Leaves (cells, trees) that the model comes to with all values of some columns."""
        if sources not in self._leaves:
            import catboost
            import pandas as pd

            cells = list(itertools.product(*(self._words(source) for source in sources)))
            words: dict[Any, Any] = {}
            for place, name in enumerate(self._model.feature_names_):
                if place in sources:
                    words[name] = [cell[sources.index(place)] for cell in cells]
                else:
                    words[name] = [UNSEEN if place in self._place else 0.0] * len(cells)
            pool = catboost.Pool(pd.DataFrame(words), cat_features=self._place)
            self._leaves[sources] = np.asarray(self._model.calc_leaf_indexes(pool))
        return self._leaves[sources]

    def tests(
        self, trees: list[dict[str, Any]], of_float: Callable[[dict[str, Any]], Test]
    ) -> Callable[[dict[str, Any]], Test]:
        """From splits to tests of inputs: the columns, and one more for each split of several of them."""
        found: dict[int, Test] = {}
        for number, tree in enumerate(trees):
            for bit, split in enumerate(tree["splits"] or ()):
                if split["split_type"] != "FloatFeature" and split["split_index"] not in found:
                    sources = self._of(split)
                    assert sources is not None
                    right = (self._tried(sources)[:, number] >> bit) & 1
                    found[split["split_index"]] = self._test(sources, right.astype(bool))

        def read(split: dict[str, Any]) -> Test:
            if split["split_type"] == "FloatFeature":
                return of_float(split)
            return found[split["split_index"]]

        return read

    def _test(self, sources: tuple[int, ...], right: npt.NDArray[np.bool_]) -> Test:
        if len(sources) == 1:
            self.sets.append(np.flatnonzero(~right[:-1]).tolist())
            return Test(sources[0], float(len(self.sets) - 1), not right[-1], category=True)
        shape = [len(self._words(source)) for source in sources]
        self._tables.append((sources, right.astype(np.float64).reshape(shape)))
        return Test(len(self._columns) + len(self._tables) - 1, 0.5, False)

    @cached_property
    def _front(self) -> Front:
        """The columns as they are, and tables of several categories."""
        n = len(self._columns)
        sources: list[tuple[int, ...]] = [(c,) for c in range(n)]
        sources += [of for of, _ in self._tables]
        tables = {n + k: table for k, (_, table) in enumerate(self._tables)}
        return Front(self._columns, sources, dict.fromkeys(range(n), ()), tables, {})

    @property
    def input_costs(self) -> Costs:
        """Prices of the inputs of the trees."""
        return fed_costs(self._costs, self._front) if self._tables else self._costs

    def dress(self, inner: Policy) -> Policy:
        """The policy of the trees for the user's table."""
        if self._tables:
            inner = PipelinePolicy(self._costs, inner.output, self._front, inner)
        return inner.with_columns(self._columns)
