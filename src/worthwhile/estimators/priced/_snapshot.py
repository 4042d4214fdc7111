"""Whether a model is still the one that was looked at: cheap enough to ask at every prediction."""

from __future__ import annotations

from operator import is_
from typing import Any

from sklearn.base import BaseEstimator

from worthwhile.estimators.priced._columns import comes_from, is_booster


class Snapshot:
    """A model at one moment.

    A model that is fitted again gets new attributes, so it is enough to compare which objects they
    are. The old ones are kept here: their addresses cannot be taken by others.

    Parameters
    ----------
    model : object
        A fitted model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._attributes: list[tuple[dict[str, Any], list[Any]]] = []
        self._lists: list[tuple[list[Any], int, Any]] = []
        self._look_into(model)
        self._rounds = _rounds(model)

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, (self._model,)  # elsewhere all objects are new ones

    def is_of(self, model: Any) -> bool:
        """Whether this is that model, and nothing of it has been exchanged since."""
        if model is not self._model:
            return False
        for now, then in self._attributes:
            if len(now) != len(then) or not all(map(is_, now.values(), then)):
                return False
        for items, n, last in self._lists:
            if len(items) != n or (n and items[-1] is not last):
                return False
        return self._rounds is None or self._rounds == _rounds(model)

    def _look_into(self, model: Any) -> None:
        """Note the attributes of a model and of the models it is made of."""
        if not isinstance(model, BaseEstimator):
            return
        self._attributes.append((vars(model), list(vars(model).values())))
        for part in vars(model).values():
            if isinstance(part, BaseEstimator):
                self._look_into(part)
            elif type(part) is list:
                # A forest that grows on has another last tree; the steps of a pipeline are tuples.
                self._lists.append((part, len(part), part[-1] if part else None))
                for item in part:
                    for member in item if type(item) is tuple else ():
                        self._look_into(member)


def _rounds(model: Any) -> int | None:
    """How far a bare ``Booster`` has come: it is boosted on without a new attribute."""
    if not is_booster(model):
        return None
    lightgbm = comes_from(model, "lightgbm")
    return int(model.current_iteration() if lightgbm else model.num_boosted_rounds())
