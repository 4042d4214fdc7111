"""Print a digest of every model that the small settings of the tests give.

For changes that must not change a model: run it before and after, and compare the two outputs.

    python -m tools.fingerprint_models > before.txt
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_regression

from tests.estimators.small import make, public_estimators


def pieces(value: Any) -> Iterator[bytes]:
    """The bytes of a policy's state, whatever it nests."""
    if hasattr(value, "state"):
        yield value.kind.encode()
        yield from pieces(value.costs.to_dict())
        yield from pieces(value.state())
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield str(key).encode()
            yield from pieces(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from pieces(item)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, np.ndarray):
        yield from pieces(value.tolist())
    elif hasattr(value, "value"):
        yield type(value.value).__name__.encode()  # a model of another library
    else:
        yield repr(value).encode()


def digest(value: Any) -> str:
    """A short digest of a state, an array, or a nest of them."""
    hashed = hashlib.sha256()
    for piece in pieces(value):
        hashed.update(piece)
    return hashed.hexdigest()[:16]


def problems(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Small problems that an estimator of this name takes."""
    if name.endswith("Regressor") or name == "FeatureSubsets":
        yield "numbers", *make_regression(240, 6, n_informative=4, noise=5, random_state=3)
    if not name.endswith("Regressor"):
        for classes in (2, 3):
            X, y = make_classification(
                240, 6, n_informative=4, n_redundant=0, n_classes=classes, random_state=3
            )
            X[::17, 1] = np.nan
            yield f"{classes} classes", X, y


def seeded(name: str) -> Any:
    """A small estimator without chance."""
    model = make(name)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model


def main() -> None:
    """Fit, predict and print."""
    warnings.simplefilter("ignore")
    for name in public_estimators():
        for problem, X, y in problems(name):
            try:
                model = seeded(name).fit(X, y)
            except ValueError as error:
                print(name, problem, "refused:", type(error).__name__)
                continue
            answers = (model.predict(X), model.cost(X), model.acquired(X), model.evaluated(X))
            print(name, problem, digest(model.policy_), digest(answers))


if __name__ == "__main__":
    main()
