"""Writing and reading model files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

from costwise.costs import Costs
from costwise.exceptions import BadModelFile
from costwise.persist._archive import FORMAT, read_archive, read_json, write_archive, write_json
from costwise.persist._codec import Decoder, Encoder
from costwise.persist._foreign import loader, refuse
from costwise.policy.base import Policy

MAX_BYTES = 2**30


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator of ours as a file without code in it.

    Parameters
    ----------
    model : estimator
        Any estimator of costwise, :class:`~costwise.PricedModel` included. Models of other
        libraries inside it are stored with skops (extra ``files``).
    path : path
        Where to write. The file appears whole or not at all, and is the same to the byte for the
        same model.

    Examples
    --------
    >>> import tempfile, costwise
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = costwise.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(heart.data, heart.target)
    >>> model = costwise.PricedModel(tree, heart.costs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     costwise.save(model, f"{folder}/tree.costwise")
    ...     again = costwise.load(f"{folder}/tree.costwise")
    >>> bool((again.cost(heart.data) == model.cost(heart.data)).all())
    True
    """
    if not hasattr(model, "policy_"):
        raise TypeError(
            f"model is a {type(model).__name__} that is not fitted: fit it, or wrap it in PricedModel."
        )
    encoder = Encoder()
    document = {"format": FORMAT, "model": encoder.estimator(model)}
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
    return _read(path, max_bytes, loader(trusted), lambda decoder, model: decoder.estimator(model))


def load_policy(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Policy:
    """Read only what is needed to predict: sessions, prices, names. Imports no compiler.

    Examples
    --------
    >>> import tempfile, costwise
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = costwise.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(heart.data, heart.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     costwise.PricedModel(tree, heart.costs).save(f"{folder}/tree.costwise")
    ...     policy = costwise.load_policy(f"{folder}/tree.costwise")
    >>> session = costwise.Session(policy)
    >>> session.ask()
    ['thal']
    """
    policy: Policy = _read(
        path, max_bytes, refuse, lambda decoder, model: decoder.policy(model["policy"]["$policy"])
    )
    return policy


def describe(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Say what a model file holds, without building any model of another library.

    Examples
    --------
    >>> import tempfile, costwise
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = costwise.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(heart.data, heart.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     costwise.PricedModel(tree, heart.costs).save(f"{folder}/tree.costwise")
    ...     summary = describe(f"{folder}/tree.costwise")
    >>> summary["class"], summary["may_read"], summary["unit"]
    ('PricedModel', ['thal'], 'CAD')
    """

    def summarise(decoder: Decoder, model: Any) -> dict[str, Any]:
        content = model["policy"]["$policy"]
        costs = Costs.from_dict(content["costs"])
        policy = None if content["kind"] == "whole" else decoder.policy(content)
        reads = range(costs.n_features) if policy is None else policy.reads.tolist()
        classes = decoder.decode(content["classes"])
        return {
            "class": str(model["class"]),
            "bytes": os.path.getsize(path),
            "kind": content["kind"],
            "output": content["output"],
            "classes": None if classes is None else classes.tolist(),
            "features": list(costs.features),
            "may_read": [costs.name(column) for column in reads],
            "total": costs.total,
            "unit": costs.unit,
            "evaluation": str(costs.evaluation),
            "parameters": {
                k: v for k, v in model["params"].items() if not isinstance(v, (dict, list))
            },
        }

    # Models of other libraries inside are not needed to describe the file, and not built.
    return cast("dict[str, Any]", _read(path, max_bytes, lambda content: None, summarise))


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
        if document["format"] != FORMAT:
            raise BadModelFile(
                f"the file has format {str(document['format'])[:20]}, this version of costwise reads {FORMAT}: "
                "update costwise."
            )
        return build(Decoder(members, load_foreign), document["model"])
    except BadModelFile as error:
        raise BadModelFile(f"{os.fspath(path)}: {error}") from None
    except ImportError:
        raise
    except Exception as error:  # a file can break any assumption; nothing of it was run
        raise BadModelFile(
            f"{os.fspath(path)}: {type(error).__name__}: {str(error)[:200]}"
        ) from None
