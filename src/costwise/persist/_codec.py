"""Values to JSON with arrays beside it, and back."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from costwise.costs import Costs
from costwise.exceptions import BadModelFile
from costwise.persist._archive import read_array, write_array
from costwise.policy.base import Policy
from costwise.policy.output import Output
from costwise.policy.whole import Foreign

POLICIES = {
    "cascade": ("costwise.policy.cascade", "CascadePolicy"),
    "exits": ("costwise.policy.exit", "ExitPolicy"),
    "gate": ("costwise.policy.gate", "GatePolicy"),
    "linear tree": ("costwise.policy.linear_tree", "LinearTreePolicy"),
    "linear tree on trees": ("costwise.policy.tree_inputs", "TreeInputsPolicy"),
    "selection": ("costwise.policy.selection", "SelectionPolicy"),
    "static-order": ("costwise.policy.static_order", "StaticOrderPolicy"),
    "trees": ("costwise.policy.tree", "TreePolicy"),
    "whole": ("costwise.policy.whole", "WholePolicy"),
}
"""Where the policy of each kind lives; a file cannot name anything else."""

FITTED = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]_")
"""Names of fitted attributes that may be stored and set."""

DERIVED = ("policy_", "costs_", "n_features_in_", "feature_names_in_", "classes_")
"""Fitted attributes that the policy knows, so that a file cannot contradict it."""


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
        if kind.__module__.startswith("costwise.") and hasattr(value, "get_params"):
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
        return {
            "kind": policy.kind,
            "costs": policy.costs.to_dict(),
            "output": policy.output.kind,
            "classes": self.encode(policy.output.classes),
            "settings": self.encode(settings),
            "arrays": self.encode(arrays),
        }

    def _foreign(self, model: Any) -> str:
        from costwise.persist._foreign import dump

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
        self._foreign: dict[str, Any] = {}

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
        if content not in self._foreign:  # one object, however often the file refers to it
            self._foreign[content] = self._load_foreign(self.members[content])
        return Foreign(self._foreign[content])

    def _read_policy(self, content: Any) -> Policy:
        return self.policy(content)

    def policy(self, content: Any) -> Policy:
        """Build a policy; it checks its own arrays."""
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
        return built

    def _read_estimator(self, content: Any) -> Any:
        return self.estimator(content)

    def estimator(self, content: Any) -> Any:
        """Build one of our estimators: parameters first, then what was fitted, then its policy."""
        kind = _estimator_class(content["class"])
        params = {name: _bare(self.decode(value)) for name, value in content["params"].items()}
        if unknown := set(params) - set(kind._get_param_names()):
            raise BadModelFile(f"{content['class']} has no parameter {sorted(unknown)[0][:40]!r}.")
        estimator = kind(**params)
        for name, value in content["fitted"].items():
            if (
                not FITTED.fullmatch(name)
                or name in DERIVED
                or isinstance(getattr(kind, name, None), property)
            ):
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
        "float", "tuple", "dict", "array", "objects", "costs", "random", "frame", "foreign", "policy", "estimator",
    )
)  # fmt: skip


def _estimator_class(name: Any) -> Any:
    """The class of a public name; a file cannot reach anything else."""
    import costwise

    home = costwise._HOME.get(name) if isinstance(name, str) else None
    if home is None or not home.startswith("costwise.estimators."):
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
