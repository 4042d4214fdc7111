"""Which source columns feed which outputs of a fitted transformer, and how, where that is simple.

Transformers are known by their exact class: one that overrides something may do anything. What is
not known is taken to mix all its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn import compose, feature_selection, impute, pipeline, preprocessing
from sklearn.feature_selection import SelectorMixin

from worthwhile.policy.front import Op


@dataclass(frozen=True)
class Feed:
    """What one column, on its way through transformers, is made of."""

    sources: frozenset[int]
    ops: tuple[Op, ...] | None = ()
    """How it is made of its one source; None if that is not known."""
    raw: bool = True
    """Whether its values are those of the source, but for what was empty."""

    def then(self, *ops: Op) -> Feed:
        """After some operations more."""
        known = self.ops is not None and len(self.sources) == 1
        return Feed(self.sources, (*(self.ops or ()), *ops) if known else None, raw=False)

    def changed(self) -> Feed:
        """After something that is not known."""
        return Feed(self.sources, None, raw=False)


Feeds = list[Feed]


@dataclass
class Findings:
    """What is met on the way."""

    levels: dict[int, set[Any]] = field(default_factory=dict)
    """Values of source columns that an encoder knows."""
    numeric: set[int] = field(default_factory=set)
    """Source columns that go into something that reads numbers."""
    none: set[int] = field(default_factory=set)
    """Source columns in which an empty cell was None to an encoder, not NaN."""
    opaque: list[str] = field(default_factory=list)
    """Steps that mix their columns, in words."""
    dates: set[int] = field(default_factory=set)
    """Source columns that are read as dates."""
    words: set[int] = field(default_factory=set)
    """Source columns of text whose values no encoder lists."""

    def encoded(self, feed: Feed, categories: Any) -> None:
        """An encoder knows these values of a column."""
        if feed.raw:
            (source,) = feed.sources
            plain = [c.item() if isinstance(c, np.generic) else c for c in categories]
            self.levels.setdefault(source, set()).update(
                c for c in plain if c is not None and c == c
            )
            if any(c is None for c in plain):
                self.none.add(source)

    def counted(self, feeds: Feeds) -> None:
        """Something reads these as numbers."""
        for feed in feeds:
            if feed.raw:
                self.numeric |= feed.sources


class Unseen(Exception):
    """The number of outputs of a transformer is not known."""


def feeds_of(transformer: Any, feeds: Feeds, found: Findings, name: str = "") -> Feeds:
    """What the outputs of a fitted transformer are made of.

    Parameters
    ----------
    transformer : object
        A fitted transformer, "passthrough" or "drop".
    feeds : list of Feed
        What its inputs are made of.
    found : Findings
        Takes down what is met.
    name : str
        What the step is called.
    """
    if transformer is None or isinstance(transformer, str):
        return [] if transformer == "drop" else feeds
    kind = type(transformer)
    if kind.__name__ == "TableVectorizer" and kind.__module__.partition(".")[0] == "skrub":
        return _table_vectorizer(transformer, feeds, found)
    if kind in HANDLERS:
        return HANDLERS[kind](transformer, feeds, found)
    if isinstance(transformer, SelectorMixin):
        return [feeds[i] for i in transformer.get_support(indices=True)]
    return _mixed(transformer, feeds, found, name)


def _mixed(transformer: Any, feeds: Feeds, found: Findings, name: str) -> Feeds:
    """All outputs are fed by all inputs."""
    found.counted(feeds)
    sources = frozenset().union(*(feed.sources for feed in feeds))
    if len(sources) > 1:
        kind = type(transformer).__name__
        found.opaque.append(kind if name.lower() in ("", kind.lower()) else f"{name!r} ({kind})")
    return [Feed(sources, None, raw=False)] * _n_outputs(transformer)


def _n_outputs(transformer: Any) -> int:
    count = getattr(transformer, "_n_features_out", None)
    if count is None:
        try:
            count = len(transformer.get_feature_names_out())
        except Exception:
            raise Unseen from None
    return int(count)


# Transformers of transformers ---------------------------------------------------------------------


def _pipeline(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    for name, step in transformer.steps:
        feeds = feeds_of(step, feeds, found, name)
    return feeds


def _column_transformer(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    made: dict[int, Feed] = {}
    for name, step, _ in transformer.transformers_:
        place = transformer.output_indices_.get(name, slice(0, 0))
        indices = transformer._transformer_to_input_indices.get(name, [])
        width = place.stop - place.start
        if not width:
            continue
        inside = [feeds[i] for i in indices]
        try:
            parts = feeds_of(step, inside, found, name)
        except Unseen:
            parts = []
        if len(parts) != width:
            parts = [_union(inside)] * width
        made.update(zip(range(place.start, place.stop), parts, strict=True))
    return [made[i] for i in range(len(made))]


def _union(feeds: Feeds) -> Feed:
    return Feed(frozenset().union(*(feed.sources for feed in feeds)), None, raw=False)


def _feature_union(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    parts = [feeds_of(step, feeds, found, name) for name, step in transformer.transformer_list]
    return [feed for part in parts for feed in part]


def _table_vectorizer(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    """Skrub's, which says itself which output comes from which column."""
    place = {str(name): i for i, name in enumerate(transformer.feature_names_in_)}
    for name, step in transformer.transformers_.items():
        encoder = getattr(step, "categories_", None)
        if encoder is not None and len(encoder) == 1:
            found.encoded(feeds[place[str(name)]], encoder[0])
    for name, kind in transformer.column_to_kind_.items():
        feed = feeds[place[str(name)]]
        if kind == "numeric":
            found.counted([feed])
        elif feed.raw and kind == "datetime":
            found.dates |= feed.sources
        elif feed.raw and not feed.sources & found.levels.keys():
            found.words |= feed.sources
    names = transformer.get_feature_names_out()
    return [feeds[place[str(transformer.output_to_input_[name])]].changed() for name in names]


# Transformers of columns --------------------------------------------------------------------------


def _alone(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    """Each column by itself, in a way that is not known here."""
    found.counted(feeds)
    return [feed.changed() for feed in feeds]


def _repeated(count: Callable[[Any, int], int]) -> Callable[[Any, Feeds, Findings], Feeds]:
    """Each column by itself, as several."""

    def handle(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
        found.counted(feeds)
        return [
            feed.changed() for i, feed in enumerate(feeds) for _ in range(count(transformer, i))
        ]

    return handle


def _scaler(
    steps: Callable[[Any], Sequence[tuple[str, Any]]],
) -> Callable[[Any, Feeds, Findings], Feeds]:
    """Operations with one number for each column; None leaves one out."""

    def handle(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
        found.counted(feeds)
        done = [(what, numbers) for what, numbers in steps(transformer) if numbers is not None]
        return [
            feed.then(*((what, float(numbers[i])) for what, numbers in done))
            for i, feed in enumerate(feeds)
        ]

    return handle


def _min_max(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    if transformer.clip:
        return _alone(transformer, feeds, found)
    return _scaler(lambda t: [("times", t.scale_), ("plus", t.min_)])(transformer, feeds, found)


def _imputer(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    marks_nan = isinstance(transformer.missing_values, float) and np.isnan(
        transformer.missing_values
    )
    made = []
    for feed, value in zip(feeds, transformer.statistics_, strict=True):
        if isinstance(value, str):
            if feed.raw and feed.ops is not None:
                found.encoded(feed, [value])
            made.append(replace(feed, ops=None))
        elif value is None or value != value:
            if transformer.keep_empty_features:
                made.append(feed.changed())
        elif marks_nan:
            found.counted([feed]) if transformer.strategy in ("mean", "median") else None
            made.append(replace(feed.then(("fill", float(value))), raw=feed.raw))
        else:
            made.append(feed.changed())
    if transformer.add_indicator:
        made += _indicator(transformer.indicator_, feeds, found)
    return made


def _indicator(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    return [feeds[i].then(("empty", 0.0)) for i in transformer.features_]


def _one_hot(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    for feed, categories in zip(feeds, transformer.categories_, strict=True):
        found.encoded(feed, categories)
    counts = transformer._n_features_outs
    return [feed.changed() for feed, n in zip(feeds, counts, strict=True) for _ in range(n)]


def _ordinal(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    for feed, categories in zip(feeds, transformer.categories_, strict=True):
        found.encoded(feed, categories)
    return [feed.changed() for feed in feeds]


def _target(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    made = _ordinal(transformer, feeds, found)
    classes = len(transformer.classes_) if transformer.target_type_ == "multiclass" else 1
    return [feed for feed in made for _ in range(classes)]


def _function(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    if transformer.func is None:
        return feeds
    if isinstance(transformer.func, np.ufunc) and transformer.func.nin == 1:
        return _alone(transformer, feeds, found)
    name = getattr(transformer.func, "__name__", "")
    return _mixed(transformer, feeds, found, name)


def _powers(transformer: Any, feeds: Feeds, found: Findings) -> Feeds:
    found.counted(feeds)
    return [_union([feeds[i] for i in np.flatnonzero(row)]) for row in transformer.powers_]


HANDLERS: dict[type, Callable[[Any, Feeds, Findings], Feeds]] = {
    pipeline.Pipeline: _pipeline,
    pipeline.FeatureUnion: _feature_union,
    compose.ColumnTransformer: _column_transformer,
    preprocessing.StandardScaler: _scaler(
        lambda t: [("minus", t.mean_ if t.with_mean else None), ("over", t.scale_)]
    ),
    preprocessing.RobustScaler: _scaler(lambda t: [("minus", t.center_), ("over", t.scale_)]),
    preprocessing.MaxAbsScaler: _scaler(lambda t: [("over", t.scale_)]),
    preprocessing.MinMaxScaler: _min_max,
    preprocessing.PowerTransformer: _alone,
    preprocessing.QuantileTransformer: _alone,
    preprocessing.Binarizer: _alone,
    preprocessing.KBinsDiscretizer: _repeated(
        lambda t, i: 1 if t.encode == "ordinal" else int(t.n_bins_[i])
    ),
    preprocessing.SplineTransformer: _repeated(lambda t, i: t.n_features_out_ // t.n_features_in_),
    preprocessing.PolynomialFeatures: _powers,
    preprocessing.FunctionTransformer: _function,
    preprocessing.OneHotEncoder: _one_hot,
    preprocessing.OrdinalEncoder: _ordinal,
    preprocessing.TargetEncoder: _target,
    impute.SimpleImputer: _imputer,
    impute.MissingIndicator: _indicator,
    feature_selection.VarianceThreshold: lambda t, feeds, found: [
        feeds[i] for i in t.get_support(indices=True)
    ],
}
