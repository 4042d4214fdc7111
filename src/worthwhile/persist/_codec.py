"""Values to JSON with arrays beside it, and back."""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from worthwhile.columns import Columns
from worthwhile.costs import MOST_QUANTA, Costs, Errors
from worthwhile.exceptions import BadModelFile
from worthwhile.persist._archive import read_array, write_array
from worthwhile.policy.base import Policy
from worthwhile.policy.calibration import Calibration
from worthwhile.policy.foreign import Foreign
from worthwhile.policy.output import Output

POLICIES = {
    "cascade": ("worthwhile.policy.cascade", "CascadePolicy"),
    "encoded": ("worthwhile.policy.encoded", "EncodedPolicy"),
    "library": ("worthwhile.policy.library", "LibraryPolicy"),
    "exits": ("worthwhile.policy.exits.policy", "ExitPolicy"),
    "gate": ("worthwhile.policy.gate", "GatePolicy"),
    "pipeline": ("worthwhile.policy.pipeline", "PipelinePolicy"),
    "mixture": ("worthwhile.policy.mixture", "MixturePolicy"),
    "linear tree": ("worthwhile.policy.linear_tree", "LinearTreePolicy"),
    "linear tree on trees": ("worthwhile.policy.linear_tree_inputs", "TreeInputsPolicy"),
    "selection": ("worthwhile.policy.selection.learned", "SelectionPolicy"),
    "static-order": ("worthwhile.policy.selection.static_order", "StaticOrderPolicy"),
    "trees": ("worthwhile.policy.trees", "TreePolicy"),
    "whole": ("worthwhile.policy.whole", "WholePolicy"),
}
"""Where the policy of each kind lives; a file cannot name anything else."""

POLICY_KEYS = frozenset({"kind", "costs", "output", "classes", "settings", "arrays"})
ESTIMATOR_KEYS = frozenset({"class", "params", "fitted", "policy"})

FITTED = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]_")
"""Names of fitted attributes that may be stored and set."""

DERIVED = ("policy_", "costs_", "n_features_in_", "feature_names_in_", "classes_", "promise_")
"""Fitted attributes that the policy knows, so that a file cannot contradict it; a promise stands apart."""


class Encoder:
    """Turns values into JSON; arrays and foreign models go into ``members``."""

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}

    def encode(self, value: Any) -> Any:
        """JSON for a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            return {"$tuple": [self.encode(item) for item in value]}
        if isinstance(value, Mapping):
            return {"$dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Costs):
            return {"$costs": value.to_dict()}
        if isinstance(value, Errors):
            return {"$errors": {name: self.encode(part) for name, part in value.to_dict().items()}}
        if isinstance(value, Policy):
            return {"$policy": self._policy(value)}
        if isinstance(value, Foreign):
            return {"$foreign": self._foreign(value.value)}
        return self._other(value)

    def _other(self, value: Any) -> Any:
        kind = type(value)
        if kind.__name__ == "DataFrame" and kind.__module__.startswith("pandas"):
            columns = [[str(name), self._array(value[name].to_numpy())] for name in value.columns]
            return {"$frame": columns}
        if kind.__module__.startswith("worthwhile.") and hasattr(value, "get_params"):
            return {"$estimator": self.estimator(value)}
        if kind.__name__ in ("RandomState", "Generator"):
            return {"$random": kind.__name__}  # where it stood is not part of a model
        if hasattr(value, "get_params"):
            return {"$foreign": self._foreign(value)}
        raise TypeError(
            f"a {kind.__module__}.{kind.__name__} cannot be stored in a model file: files hold numbers, text, arrays, "
            "frames, costs and estimators."
        )

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype == object:
            return {"$objects": [self.encode(item) for item in array.ravel().tolist()]}
        name = f"arrays/{len(self.members):04d}.npy"
        self.members[name] = write_array(array)
        return {"$array": name}

    def _policy(self, policy: Policy) -> dict[str, Any]:
        if policy.kind not in POLICIES:
            raise TypeError(f"a policy of kind {policy.kind!r} cannot be stored in a model file.")
        settings, arrays = policy.state()
        more: dict[str, Any] = {}
        if policy.columns is not None:
            more["columns"] = policy.columns.to_dict()
        if policy.output.calibration is not None:
            more["calibration"] = self.encode(policy.output.calibration.to_dict())
        if policy.output.errors is not None:
            more["errors"] = self.encode(policy.output.errors)
        if policy.limit is not None:
            more["limit"] = policy.limit
        return {
            **more,
            "kind": policy.kind,
            "costs": policy.costs.to_dict(),
            "output": policy.output.kind,
            "classes": self.encode(policy.output.classes),
            "settings": self.encode(settings),
            "arrays": self.encode(arrays),
        }

    def _foreign(self, model: Any) -> str:
        from worthwhile.persist._foreign import dump

        name = f"foreign/{len(self.members):04d}.skops"
        self.members[name] = dump(model)
        return name

    def estimator(self, estimator: Any) -> dict[str, Any]:
        """An estimator of ours: parameters, what was fitted, and its policy."""
        params = estimator._stored_params()
        fitted = {
            name: value
            for name, value in sorted(vars(estimator).items())
            if FITTED.fullmatch(name) and name not in DERIVED
        }
        return {
            "class": type(estimator).__name__,
            "params": {name: self.encode(value) for name, value in sorted(params.items())},
            "fitted": {name: self.encode(value) for name, value in fitted.items()},
            "policy": self.encode(estimator.policy_),
        }


class Decoder:
    """Builds values from JSON, and nothing that the tags below do not name."""

    def __init__(self, members: Mapping[str, bytes], load_foreign: Callable[[bytes], Any]) -> None:
        self.members = members
        self._load_foreign = load_foreign

    def decode(self, node: Any) -> Any:
        """The value that JSON stands for."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise BadModelFile(f"model.json has an object with the keys {sorted(node)[:5]}.")
        tag, content = next(iter(node.items()))
        reader = getattr(self, f"_read_{tag[1:]}", None) if tag in TAGS else None
        if reader is None:
            raise BadModelFile(f"model.json has an unknown tag {tag[:40]!r}.")
        return reader(content)

    def _read_float(self, content: Any) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise BadModelFile(f"model.json has a number {content!r}.")
        return float(content)

    def _read_tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in _list(content))

    def _read_dict(self, content: Any) -> dict[Any, Any]:
        return {self.decode(key): self.decode(value) for key, value in map(_list, _list(content))}

    def _read_array(self, content: Any) -> np.ndarray[Any, Any]:
        if (
            not isinstance(content, str)
            or content not in self.members
            or not content.startswith("arrays/")
        ):
            raise BadModelFile(
                f"model.json names an array {str(content)[:80]!r} that the file does not have."
            )
        return read_array(self.members[content], content)

    def _read_objects(self, content: Any) -> np.ndarray[Any, Any]:
        items = [self.decode(item) for item in _list(content)]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _read_costs(self, content: Any) -> Costs:
        return Costs.from_dict(content)

    def _read_errors(self, content: Any) -> Errors:
        if not isinstance(content, dict):
            raise BadModelFile("prices of errors are not an object.")
        return Errors.from_dict({name: self.decode(part) for name, part in content.items()})

    def _read_random(self, content: Any) -> None:
        return None

    def _read_frame(self, content: Any) -> Any:
        import pandas as pd

        return pd.DataFrame(
            {name: self.decode(column) for name, column in map(_list, _list(content))}
        )

    def _read_foreign(self, content: Any) -> Any:
        if (
            not isinstance(content, str)
            or content not in self.members
            or not content.startswith("foreign/")
        ):
            raise BadModelFile(
                f"model.json names a model {str(content)[:80]!r} that the file does not have."
            )
        return Foreign(self._load_foreign(self.members[content]))

    def _read_policy(self, content: Any) -> Policy:
        return self.policy(content)

    def policy(self, content: Any) -> Policy:
        """Build a policy; it checks its own arrays."""
        has = set(content if isinstance(content, dict) else ())
        optional = {"columns", "calibration", "errors", "limit"} & has
        check_keys(content, POLICY_KEYS | optional, "a policy")
        if content["kind"] not in POLICIES:
            raise BadModelFile(
                f"the policy is of kind {str(content['kind'])[:40]!r}, which this version does not know."
            )
        module, name = POLICIES[content["kind"]]
        costs = Costs.from_dict(content["costs"])
        classes = self.decode(content["classes"])
        if classes is not None and (
            not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2
        ):
            raise BadModelFile("the classes are not a list of at least two labels.")
        if classes is not None and len(set(classes.tolist())) < len(classes):
            raise BadModelFile("the classes have a label twice.")
        output = Output(content["output"], classes)
        settings, arrays = self.decode(content["settings"]), self.decode(content["arrays"])
        if not isinstance(settings, dict) or not isinstance(arrays, dict):
            raise BadModelFile("settings and arrays of a policy are objects.")
        built = getattr(importlib.import_module(module), name).from_state(
            costs, output, (settings, arrays)
        )
        assert isinstance(built, Policy)
        for given, known, what in zip(
            (settings, arrays), built.state(), ("setting", "array"), strict=True
        ):
            if unknown := set(given) - set(known):
                raise BadModelFile(
                    f"a policy of kind {content['kind']!r} has no {what} {str(min(unknown, key=str))[:40]!r}."
                )
        if "columns" in optional:
            built = built.with_columns(self._columns(content["columns"], costs))
        if "calibration" in optional:
            if classes is None:
                raise BadModelFile("numbers are not calibrated, and this policy predicts numbers.")
            map_ = Calibration.from_dict(self.decode(content["calibration"]), len(classes))
            built = built.calibrated(map_)
        if "errors" in optional:
            errors = self.decode(content["errors"])
            if not isinstance(errors, Errors):
                raise BadModelFile("the errors of a policy are no prices of errors.")
            built = built.deciding(errors)
        return built.limited(self._limit(content["limit"])) if "limit" in optional else built

    def _limit(self, content: Any) -> int:
        if type(content) is not int or not 0 <= content <= MOST_QUANTA:
            raise BadModelFile(f"the limit of a policy is {str(content)[:40]}, not an amount.")
        return content

    def _columns(self, content: Any, costs: Costs) -> Columns:
        columns = Columns.from_dict(content)
        if len(columns) != costs.n_features:
            raise BadModelFile(
                f"{len(columns)} columns are described, the prices have {costs.n_features}."
            )
        return columns

    def _read_estimator(self, content: Any) -> Any:
        return self.estimator(content)

    def estimator(self, content: Any) -> Any:
        """Build one of our estimators: parameters first, then what was fitted, then its policy."""
        check_keys(content, ESTIMATOR_KEYS, "an estimator")
        kind = _estimator_class(content["class"])
        params = {name: _bare(self.decode(value)) for name, value in content["params"].items()}
        if unknown := set(params) - set(kind._get_param_names()):
            raise BadModelFile(f"{content['class']} has no parameter {sorted(unknown)[0][:40]!r}.")
        estimator = kind(**params)
        for name, value in content["fitted"].items():
            if not FITTED.fullmatch(name) or name in DERIVED or name not in _declared(kind):
                raise BadModelFile(f"{content['class']} has no fitted attribute {name[:40]!r}.")
            setattr(estimator, name, _bare(self.decode(value)))
        policy = self.decode(content["policy"])
        if not isinstance(policy, Policy):
            raise BadModelFile(f"the policy of {content['class']} is missing.")
        estimator._restore(policy)
        return estimator


TAGS = frozenset(
    f"${name}"
    for name in (
        "float", "tuple", "dict", "array", "objects", "costs", "errors", "random", "frame", "foreign", "policy",
        "estimator",
    )
)  # fmt: skip


def check_keys(content: Any, keys: frozenset[str] | set[str], what: str) -> None:
    """Refuse an object of the document that has not just these keys."""
    if not isinstance(content, dict) or set(content) != keys:
        found = (
            sorted(map(str, content))[:8] if isinstance(content, dict) else type(content).__name__
        )
        raise BadModelFile(f"{what} has the keys {sorted(keys)}, here {found}.")


def check_references(document: Any, members: Mapping[str, bytes]) -> None:
    """Refuse a file that names a member twice, so that it unpacks to more than it holds, or never."""
    named = Counter(_references(document))
    if twice := [name for name, count in named.items() if count > 1]:
        raise BadModelFile(f"model.json names {twice[0][:80]!r} twice: a model file names it once.")
    if unused := sorted(set(members) - set(named) - {"model.json"}):
        raise BadModelFile(f"the file has a member {unused[0]!r} that model.json does not name.")


def _references(node: Any) -> Iterator[str]:
    """Members that a document names, wherever it does."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            for key, value in node.items():
                if key in ("$array", "$foreign"):
                    yield str(value)
                elif key == "$policy" and isinstance(value, dict):
                    waiting += [
                        part for name, part in value.items() if name not in ("costs", "columns")
                    ]
                elif key != "$costs":  # groups may have any name, a tag's too
                    waiting.append(value)


def _declared(kind: type) -> set[str]:
    """Names of the fitted attributes that a class and its bases declare."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}


def _estimator_class(name: Any) -> Any:
    """The class of a public name; a file cannot reach anything else."""
    import worthwhile

    home = worthwhile._HOME.get(name) if isinstance(name, str) else None
    if home is None or not home.startswith("worthwhile.estimators."):
        raise BadModelFile(
            f"the file holds a {str(name)[:40]!r}, which this version does not know."
        )
    return getattr(importlib.import_module(home), name)


def _bare(value: Any) -> Any:
    """Parameters hold foreign models themselves, not their wrapper."""
    return value.value if isinstance(value, Foreign) else value


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise BadModelFile(f"model.json has a {type(content).__name__} where a list should be.")
    return content
