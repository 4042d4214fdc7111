"""Writing and reading model files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from worthwhile.costs import Costs
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import _format_1
from worthwhile.persist._archive import FORMAT, read_archive, read_json, write_archive, write_json
from worthwhile.persist._codec import Decoder, Encoder, check_keys, check_references
from worthwhile.persist._foreign import loader, refuse
from worthwhile.policy.base import Policy
from worthwhile.policy.foreign import UNBUILT
from worthwhile.promise import Promise

MAX_BYTES = 2**30


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator of ours as a file without code in it.

    Parameters
    ----------
    model : estimator
        Any estimator of worthwhile, :class:`~worthwhile.PricedModel` included. Models of other
        libraries inside it are stored with skops (extra ``files``).
    path : path
        Where to write. The file appears whole or not at all, and is the same to the byte for the
        same model.

    Examples
    --------
    >>> import tempfile, worthwhile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = worthwhile.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(heart.data, heart.target)
    >>> model = worthwhile.PricedModel(tree, heart.costs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     worthwhile.save(model, f"{folder}/tree.worthwhile")
    ...     again = worthwhile.load(f"{folder}/tree.worthwhile")
    >>> bool((again.cost(heart.data) == model.cost(heart.data)).all())
    True
    """
    if not hasattr(model, "policy_"):
        raise TypeError(
            f"model is a {type(model).__name__} that is not fitted: fit it, or wrap it in PricedModel."
        )
    encoder = Encoder()
    document = {"format": FORMAT, "model": encoder.estimator(model)}
    if (promise := model._promised()) is not None:
        document["promise"] = promise.to_dict()
    write_archive(path, {"model.json": write_json(document), **encoder.members})


def load(
    path: str | os.PathLike[str], trusted: Sequence[str] = (), *, max_bytes: int = MAX_BYTES
) -> Any:
    """Read a model file back as the estimator it was.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Names of types of other libraries that may be built, such as "mypackage.MyModel". What
        skops knows to be safe (scikit-learn, numpy) need not be named.
    max_bytes : int
        Refuse files that unpack to more than this.

    Raises
    ------
    BadModelFile
        If the file is damaged, hostile, from a newer version, or holds types that are not trusted.
    """

    def build(decoder: Decoder, document: Any) -> Any:
        estimator = decoder.estimator(document["model"])
        estimator.__sklearn_tags__()  # a part that is no model would be noticed by predict only
        if (promise := _promise(document, estimator.policy_)) is not None:
            estimator.promise_ = promise
        return estimator

    return _read(path, max_bytes, loader(trusted), build)


def load_policy(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Policy:
    """Read only what is needed to predict: sessions, prices, names. Imports no compiler.

    Examples
    --------
    >>> import tempfile, worthwhile
    >>> X, y = [[0, 5], [1, 5]] * 20, [0, 1] * 20
    >>> model = worthwhile.BudgetedForestClassifier(n_trees=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/forest.worthwhile")
    ...     policy = worthwhile.load_policy(f"{folder}/forest.worthwhile")
    >>> worthwhile.Session(policy).ask()
    [0]
    """
    policy: Policy = _read(
        path, max_bytes, refuse, lambda decoder, document: _policy(decoder, document)
    )
    return policy


def load_promise(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Promise | None:
    """Read what a model promised when it was trained; None if it promised nothing.

    Files of before there were promises have none.
    """

    def build(decoder: Decoder, document: Any) -> Promise | None:
        policy = _policy(decoder, document)
        promise = _promise(document, policy)
        other = promise is not None and promise.fingerprint != policy.fingerprint()
        return None if other else promise

    return cast("Promise | None", _read(path, max_bytes, refuse, build))


def describe(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Say what a model file holds, without building any model of another library.

    Examples
    --------
    >>> import tempfile
    >>> from worthwhile import CostWeightedL1Classifier, datasets
    >>> X, y, costs = datasets.make_priced_classification(200, seed=0)
    >>> model = CostWeightedL1Classifier(lam=0.04, costs=costs).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.worthwhile")
    ...     summary = describe(f"{folder}/model.worthwhile")
    >>> summary["class"], summary["parameters"]["lam"], summary["may_read"]
    ('CostWeightedL1Classifier', 0.04, ['cheap_0', 'cheap_1', 'cheap_3'])
    """

    def summarise(decoder: Decoder, document: Any) -> dict[str, Any]:
        model = document["model"]
        content = model["policy"]["$policy"]
        costs = Costs.from_dict(content["costs"])
        policy = decoder.policy(content)
        promise = _promise(document, policy)
        classes = decoder.decode(content["classes"])
        return {
            "class": str(model["class"]),
            "bytes": os.path.getsize(path),
            "kind": content["kind"],
            "output": content["output"],
            "classes": None if classes is None else classes.tolist(),
            "features": list(costs.features),
            "may_read": [costs.name(column) for column in policy.reads.tolist()],
            "total": costs.total,
            "unit": costs.unit,
            "evaluation": str(costs.evaluation),
            "promised": None
            if promise is None
            else {name: figure.mean for name, figure in promise.figures.items()},
            "parameters": {
                k: v for k, v in model["params"].items() if not isinstance(v, (dict, list))
            },
        }

    return cast("dict[str, Any]", _read(path, max_bytes, lambda content: UNBUILT, summarise))


def _policy(decoder: Decoder, document: Any) -> Policy:
    return decoder.policy(document["model"]["policy"]["$policy"])


def _promise(document: Any, policy: Policy) -> Promise | None:
    """The promise of a file, checked against its policy."""
    if "promise" not in document:
        return None
    promise = Promise.from_dict(document["promise"])
    classes = policy.output.classes
    promise.check_fit(policy.n_features, None if classes is None else len(classes))
    return promise


def _read(
    path: str | os.PathLike[str],
    max_bytes: int,
    load_foreign: Callable[[bytes], Any],
    build: Callable[[Decoder, Any], Any],
) -> Any:
    """Open, check and build; whatever a bad file makes go wrong on the way is its fault."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no model file at {os.fspath(path)!r}.")
    try:
        members = read_archive(path, max_bytes)
        document = read_json(members["model.json"])
        if document["format"] == 1:
            document = _format_1.upgraded(document)
        if document["format"] != FORMAT:
            raise BadModelFile(
                f"the file has format {str(document['format'])[:20]}, this version of worthwhile reads 1 to {FORMAT}: "
                "update worthwhile."
            )
        optional = {"promise"} & set(document)
        check_keys(document, {"format", "model"} | optional, "model.json")
        check_references(document, members)
        return build(Decoder(members, load_foreign), document)
    except BadModelFile as error:
        raise BadModelFile(f"{os.fspath(path)}: {error}") from None
    except ImportError:
        raise
    except Exception as error:  # a file can break any assumption; nothing of it was run
        raise BadModelFile(
            f"{os.fspath(path)}: {type(error).__name__}: {str(error)[:200]}"
        ) from None
